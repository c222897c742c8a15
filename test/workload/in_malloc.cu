// SPDX-License-Identifier: MIT
/*
 * in_malloc.cu - a process that exits in a signal handler that interrupted malloc()
 *
 *	in_malloc [-n LAUNCHES]
 *
 * Launches LAUNCHES kernels from site_work, waits for them, prints how many it has launched, and
 * calls exit() in a handler while the thread is in malloc(). In a real allocator, the thread would
 * then hold a lock that its next allocation waits for. Here, the thread's next allocation prints a
 * message and ends the process with status 9. Other threads may allocate: they have their own
 * arenas.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernels.h"

#define SIGNAL_BYTES	12345		/* an allocation that the signal interrupts */

extern "C" {
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t nr, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *old);
}

static __thread bool inside __attribute__((tls_model("initial-exec")));

static void enter(void)
{
	static const char text[] = "in_malloc: an allocation while the thread is in malloc()\n";

	if (!inside)
		return;
	syscall(SYS_write, STDERR_FILENO, text, sizeof(text) - 1);
	syscall(SYS_exit_group, 9);
}

extern "C" void *malloc(size_t bytes)
{
	void *p;

	enter();
	inside = bytes == SIGNAL_BYTES;
	if (inside)
		syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1);
	p = __libc_malloc(bytes);
	inside = false;
	return p;
}

extern "C" void *calloc(size_t nr, size_t bytes)
{
	enter();
	return __libc_calloc(nr, bytes);
}

extern "C" void *realloc(void *old, size_t bytes)
{
	enter();
	return __libc_realloc(old, bytes);
}

extern "C" void *memalign(size_t alignment, size_t bytes)
{
	enter();
	return __libc_memalign(alignment, bytes);
}

extern "C" void *aligned_alloc(size_t alignment, size_t bytes)
{
	return memalign(alignment, bytes);
}

extern "C" int posix_memalign(void **p, size_t alignment, size_t bytes)
{
	*p = memalign(alignment, bytes);
	return *p ? 0 : ENOMEM;
}

extern "C" void free(void *old)
{
	if (old)
		enter();
	__libc_free(old);
}

KERNEL(kernel_work)
extern "C" NOINLINE void site_work(void)
{
	LAUNCH(kernel_work, NULL, 3000);
	NO_TAIL_CALL();
}

static void end(int sig)
{
	(void)sig;
	exit(0);
}

/*
 * The last exit handler. It ends the process, because kernels.h and the runtime may free memory
 * later.
 */
static void over(void)
{
	syscall(SYS_exit_group, 0);
}

int main(int argc, char **argv)
{
	struct sigaction action;
	long nr = argc > 2 && !strcmp(argv[1], "-n") ? atol(argv[2]) : 1000;

	memset(&action, 0, sizeof(action));
	action.sa_handler = end;
	sigaction(SIGUSR1, &action, NULL);
	atexit(over);			/* registered before the shim's handler, so it runs later */
	for (long i = 0; i < nr; i++)
		site_work();
	CHECK(cudaDeviceSynchronize());
	printf("ends: launches %ld\n", nr);
	fflush(stdout);
	return !malloc(SIGNAL_BYTES);
}
