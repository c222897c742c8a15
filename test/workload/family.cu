// SPDX-License-Identifier: MIT
/*
 * family.cu - a parent that launches nothing, and children that launch, as in gunicorn and vLLM
 *
 *	family [-w WORKERS] [-x NAME=VALUE]
 *
 * The parent forks WORKERS children, never uses CUDA, says "ready" and reads commands:
 *
 *	burst N		each child launches N times; the answer is "burst SUM"
 *	churn N MS	for MS ms, repeatedly ends the oldest child while a new child
 *			launches N times; the answer is "churn SUM"
 *	quit		the children end, then the parent, with "family: launches SUM"
 *
 *	-x	children exec this program again, with this variable in their environment;
 *		without it they are only forked
 *
 * Only work() launches k_work.
 */
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernels.h"

#define MAX_WORKERS	64

KERNEL(k_work)

struct child {
	pid_t pid;
	int fd;				/* the child reads numbers of launches from this pipe, and
					 * ends when the pipe is closed */
};

static struct child children[MAX_WORKERS];
static int nr_children;
static int done[2];			/* gets a byte for each command that a child has finished */
static const char *variable;
static long sum;

extern "C" NOINLINE void work(cudaStream_t s)
{
	LAUNCH(k_work, s, 1000);
	NO_TAIL_CALL();
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void serve(int from, int to)
{
	cudaStream_t s = NULL;
	long nr;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(from, &nr, sizeof(nr)) == sizeof(nr)) {
		if (!s)
			CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
		while (nr--)
			work(s);
		CHECK(cudaGetLastError());
		CHECK(cudaDeviceSynchronize());
		if (write(to, "", 1) != 1)
			fail("family: write");
	}
	exit(0);
}

static void execute(int from, int to)
{
	char numbers[2][16];

	snprintf(numbers[0], sizeof(numbers[0]), "%d", from);
	snprintf(numbers[1], sizeof(numbers[1]), "%d", to);
	putenv((char *)variable);
	execl("/proc/self/exe", "family", "-f", numbers[0], "-t", numbers[1], (char *)NULL);
	fail("family: exec");
}

static void start_child(void)
{
	struct child *c = &children[nr_children];
	int fds[2], i;

	if (pipe(fds))
		fail("family: pipe");
	c->fd = fds[1];
	c->pid = fork();
	if (c->pid < 0)
		fail("family: fork");
	if (c->pid) {
		close(fds[0]);
		nr_children++;
		return;
	}
	for (i = 0; i <= nr_children; i++)
		close(children[i].fd);
	close(done[0]);
	if (variable)
		execute(fds[0], done[1]);
	serve(fds[0], done[1]);
}

static void end_oldest(void)
{
	int status;

	close(children[0].fd);
	if (waitpid(children[0].pid, &status, 0) < 0 || status) {
		fprintf(stderr, "family: a child ended with %#x\n", (unsigned int)status);
		exit(1);
	}
	memmove(&children[0], &children[1], --nr_children * sizeof(children[0]));
}

/* Makes child number @i launch. */
static void tell(int i, long nr)
{
	if (write(children[i].fd, &nr, sizeof(nr)) != sizeof(nr))
		fail("family: write");
	sum += nr;
}

static void wait_for(int nr)
{
	char byte;

	while (nr--)
		if (read(done[0], &byte, 1) != 1)
			fail("family: read");
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Return: how many launches were made. */
static long churn(long nr, long ms)
{
	double end = now() + ms / 1e3;
	long before = sum;

	do {
		end_oldest();
		start_child();
		tell(nr_children - 1, nr);
		wait_for(1);
	} while (now() < end);
	return sum - before;
}

int main(int argc, char **argv)
{
	int nr_workers = 8, from = -1, to = -1, opt, i;
	char line[64];
	long nr, ms;

	while ((opt = getopt(argc, argv, "w:x:f:t:")) != -1) {
		switch (opt) {
		case 'w':
			nr_workers = atoi(optarg);
			break;
		case 'x':
			variable = optarg;
			break;
		case 'f':	/* internal: this process is a child */
			from = atoi(optarg);
			break;
		case 't':
			to = atoi(optarg);
			break;
		default:
			return 2;
		}
	}
	if (from >= 0)
		serve(from, to);
	if (nr_workers < 1 || nr_workers > MAX_WORKERS || pipe(done)) {
		fputs("usage: family [-w WORKERS] [-x NAME=VALUE]\n", stderr);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < nr_workers; i++)
		start_child();
	puts("ready");
	while (fgets(line, sizeof(line), stdin) && strcmp(line, "quit\n")) {
		if (sscanf(line, "burst %ld", &nr) == 1) {
			for (i = 0; i < nr_children; i++)
				tell(i, nr);
			wait_for(nr_children);
			printf("burst %ld\n", nr * nr_children);
		} else if (sscanf(line, "churn %ld %ld", &nr, &ms) == 2) {
			printf("churn %ld\n", churn(nr, ms));
		}
	}
	while (nr_children)
		end_oldest();
	printf("family: launches %ld\n", sum);
	return 0;
}
