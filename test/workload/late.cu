// SPDX-License-Identifier: MIT
/*
 * late.cu - a launch that is delayed after it has its number and before it is recorded, for tests
 * of xpuload --capture launch:N-M
 *
 *	late LAUNCHES
 *
 * The program makes LAUNCHES launches from site_in, and then as many from site_out. A separate
 * thread makes the first launch. The shim maps memory at a thread's first launch. This program's
 * mmap() then returns only after all other launches were made.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kernels.h"

#define LIMIT_S		20

#define SITE(name)								\
	KERNEL(kernel_##name)							\
	static NOINLINE void site_##name(void)					\
	{									\
		LAUNCH(kernel_##name, 0, 3000ull);				\
		NO_TAIL_CALL();							\
	}

SITE(in)
SITE(out)

static __thread bool is_held __attribute__((tls_model("initial-exec")));
static bool is_there, is_over;

/* Return: whether *@what became true within the time limit. */
static bool wait_until(const bool *what)
{
	const struct timespec ms = { 0, 1000000 };

	for (int i = 0; i < LIMIT_S * 1000 && !__atomic_load_n(what, __ATOMIC_ACQUIRE); i++)
		nanosleep(&ms, NULL);
	return __atomic_load_n(what, __ATOMIC_ACQUIRE);
}

void *mmap(void *addr, size_t bytes, int prot, int flags, int fd, off_t offset) noexcept
{
	int saved_errno = errno;

	if (is_held) {
		is_held = false;
		__atomic_store_n(&is_there, true, __ATOMIC_RELEASE);
		wait_until(&is_over);
		errno = saved_errno;
	}
	return (void *)syscall(SYS_mmap, addr, bytes, prot, flags, fd, offset);
}

static void *first(void *arg)
{
	is_held = true;
	site_in();
	return arg;
}

int main(int argc, char **argv)
{
	int nr = argc == 2 ? atoi(argv[1]) : 0;
	pthread_t thread;

	if (nr < 1)
		return 2;
	CHECK(cudaFree(NULL));
	if (pthread_create(&thread, NULL, first, NULL))
		return 1;
	if (!wait_until(&is_there)) {
		fprintf(stderr, "late: the first launch of a thread maps no memory\n");
		return 1;
	}
	for (int i = 1; i < nr; i++)
		site_in();
	for (int i = 0; i < nr; i++)
		site_out();
	__atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	CHECK(cudaDeviceSynchronize());
	return 0;
}
