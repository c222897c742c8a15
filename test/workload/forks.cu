// SPDX-License-Identifier: MIT
/*
 * forks.cu - one recording, several process images, each with its own correlation IDs
 *
 *	forks [-n LAUNCHES]
 *
 * The process forks before it uses CUDA, and parent and child launch at the same time. Then the
 * parent execs itself: a third image, with the parent's pid, launches again. The IDs of all three
 * images start at the same number, so joining by pid and ID alone would mix them up. Each image
 * launches its own kernel from its own function: k_parent from parent(), k_child from child(), and
 * k_again from again().
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels.h"

KERNEL(k_parent)
KERNEL(k_child)
KERNEL(k_again)

extern "C" NOINLINE void parent(cudaStream_t s)
{
	LAUNCH(k_parent, s, 3000);
	NO_TAIL_CALL();
}

extern "C" NOINLINE void child(cudaStream_t s)
{
	LAUNCH(k_child, s, 5000);
	NO_TAIL_CALL();
}

extern "C" NOINLINE void again(cudaStream_t s)
{
	LAUNCH(k_again, s, 7000);
	NO_TAIL_CALL();
}

static void run(const char *name, void (*site)(cudaStream_t s), long nr)
{
	cudaStream_t s;

	CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	for (long i = 0; i < nr; i++)
		site(s);
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaStreamDestroy(s));
	printf("forks: %s launches %ld\n", name, nr);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *number = "1000";
	bool is_again = false;
	int status = 0;
	long nr;
	pid_t pid;
	int opt;

	while ((opt = getopt(argc, argv, "n:a")) != -1) {
		switch (opt) {
		case 'n':
			number = optarg;
			break;
		case 'a':	/* internal: the first image has called exec */
			is_again = true;
			break;
		default:
			fputs("usage: forks [-n LAUNCHES]\n", stderr);
			return 2;
		}
	}
	nr = strtol(number, NULL, 0);
	if (is_again) {
		run("again", again, nr);
		return 0;
	}
	pid = fork();
	if (pid < 0) {
		perror("forks: fork");
		return 1;
	}
	if (!pid) {
		run("child", child, nr);
		return 0;
	}
	run("parent", parent, nr);
	if (waitpid(pid, &status, 0) < 0 || status) {
		fprintf(stderr, "forks: the child ended with %#x\n", (unsigned int)status);
		return 1;
	}
	execl("/proc/self/exe", argv[0], "-a", "-n", number, (char *)NULL);
	perror("forks: exec");
	return 1;
}
