// SPDX-License-Identifier: MIT
/*
 * jit.cu - launches from generated functions, whose names are in /tmp/perf-PID.map
 *
 *	jit HOW
 *
 * The function "first" calls site_first 100 times. If HOW is "plain", the program then ends.
 * Otherwise the function "second" calls site_second 100 times before the end, and HOW says where
 * "second" is:
 *
 *	moved		second is in another mapping
 *	replaced	second is at the address of first
 *	remapped	as replaced, in a new mapping at the same address
 *	killed		second is in a new mapping, and the program kills itself at once
 *	exec		second is in the image after an exec of "jit moved"
 *
 * Only site_NAME launches kernel_NAME, and only the function NAME calls site_NAME.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "assembly.h"
#include "kernels.h"

#define NR	100
#define BYTES	4096

typedef void (*generated)(void (*site)(void));

KERNEL(kernel_first)
KERNEL(kernel_second)

extern "C" NOINLINE void site_first(void)
{
	LAUNCH(kernel_first, 0, 1000);
	NO_TAIL_CALL();
}

extern "C" NOINLINE void site_second(void)
{
	LAUNCH(kernel_second, 0, 1000);
	NO_TAIL_CALL();
}

static void *map_code(void *at)
{
	void *code = mmap(at, BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	if (code == MAP_FAILED)
		exit(1);
	return code;
}

static generated generate(void *at, const char *name)
{
	char path[64];
	FILE *f;

	memcpy(at, code_framed, sizeof(code_framed));
	__builtin___clear_cache((char *)at, (char *)at + sizeof(code_framed));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	f = fopen(path, "a");
	if (!f)
		exit(1);
	fprintf(f, "%lx %zx %s\n", (unsigned long)at, sizeof(code_framed), name);
	fclose(f);
	return (generated)at;
}

static void launch(generated call, void (*site)(void))
{
	for (int i = 0; i < NR; i++)
		call(site);
}

int main(int argc, char **argv)
{
	const char *how = argc == 2 ? argv[1] : "";
	void *code = map_code(NULL);

	launch(generate(code, "first"), site_first);
	CHECK(cudaDeviceSynchronize());
	if (!strcmp(how, "exec"))
		execl("/proc/self/exe", argv[0], "moved", (char *)NULL);
	if (!strcmp(how, "moved") || !strcmp(how, "killed"))
		code = map_code(NULL);
	if (!strcmp(how, "remapped"))
		code = map_code(code);
	if (strcmp(how, "plain"))
		launch(generate(code, "second"), site_second);
	if (!strcmp(how, "killed"))
		syscall(SYS_kill, getpid(), SIGKILL);
	CHECK(cudaDeviceSynchronize());
	return 0;
}
