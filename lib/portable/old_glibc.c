// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>

#include "portable/old.h"

#if defined(__x86_64__) || defined(__aarch64__)

OLD(dlclose, 2.2.5);
OLD(dlerror, 2.2.5);
OLD(dlopen, 2.2.5);
OLD(dlsym, 2.2.5);
OLD(pthread_condattr_setclock, 2.3.3);
OLD(pthread_create, 2.2.5);
OLD(pthread_detach, 2.2.5);
OLD(pthread_join, 2.2.5);
OLD(pthread_mutex_trylock, 2.2.5);
OLD(pthread_mutexattr_destroy, 2.2.5);
OLD(pthread_mutexattr_init, 2.2.5);
OLD(pthread_mutexattr_settype, 2.2.5);
OLD(pthread_rwlock_destroy, 2.2.5);
OLD(pthread_rwlock_init, 2.2.5);
OLD(pthread_rwlock_rdlock, 2.2.5);
OLD(pthread_rwlock_tryrdlock, 2.2.5);
OLD(pthread_rwlock_unlock, 2.2.5);
OLD(pthread_rwlock_wrlock, 2.2.5);
OLD(pthread_sigmask, 2.2.5);
OLD(pthread_timedjoin_np, 2.3.3);

/*
 * The headers of glibc 2.38 and later rename these functions. The new functions also accept binary
 * numbers such as 0b101.
 */
OLD_NAMED(__isoc23_fscanf, fscanf, 2.2.5);
OLD_NAMED(__isoc23_sscanf, sscanf, 2.2.5);
OLD_NAMED(__isoc23_strtol, strtol, 2.2.5);
OLD_NAMED(__isoc23_strtoll, strtoll, 2.2.5);
OLD_NAMED(__isoc23_strtoul, strtoul, 2.2.5);
OLD_NAMED(__isoc23_strtoull, strtoull, 2.2.5);

#define HIDDEN	__attribute__((visibility("hidden")))

/*
 * Before glibc 2.33, stat() and its relatives were inline functions that called the functions
 * below.
 */
#ifdef __x86_64__
# define STAT_VERSION	1
#else
# define STAT_VERSION	0
#endif

extern int __xstat(int version, const char *path, struct stat *s);
extern int __lxstat(int version, const char *path, struct stat *s);
extern int __fxstat(int version, int fd, struct stat *s);
extern int __fxstatat(int version, int dir, const char *path, struct stat *s, int flags);

HIDDEN int stat(const char *path, struct stat *s)
{
	return __xstat(STAT_VERSION, path, s);
}

HIDDEN int lstat(const char *path, struct stat *s)
{
	return __lxstat(STAT_VERSION, path, s);
}

HIDDEN int fstat(int fd, struct stat *s)
{
	return __fxstat(STAT_VERSION, fd, s);
}

HIDDEN int fstatat(int dir, const char *path, struct stat *s, int flags)
{
	return __fxstatat(STAT_VERSION, dir, path, s, flags);
}

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "one layout");

HIDDEN int stat64(const char *path, struct stat64 *s)
{
	return __xstat(STAT_VERSION, path, (struct stat *)s);
}

HIDDEN int lstat64(const char *path, struct stat64 *s)
{
	return __lxstat(STAT_VERSION, path, (struct stat *)s);
}

HIDDEN int fstat64(int fd, struct stat64 *s)
{
	return __fxstat(STAT_VERSION, fd, (struct stat *)s);
}

/*
 * Since glibc 2.34, the C library itself calls the program's constructors, and _start passes NULL
 * instead of a function that calls them. An older library calls only the function that it is
 * passed.
 */
typedef int main_fn(int argc, char **argv, char **envp);
typedef void init_fn(int argc, char **argv, char **envp);

extern int xpu_old_start(main_fn *main, int argc, char **argv, init_fn *init, void (*fini)(void),
			 void (*rtld_fini)(void), void *stack_end);
__asm__(".symver xpu_old_start, __libc_start_main@GLIBC_" STR(FIRST_VERSION));

extern init_fn *__preinit_array_start[] HIDDEN, *__preinit_array_end[] HIDDEN;
extern init_fn *__init_array_start[] HIDDEN, *__init_array_end[] HIDDEN;
extern void _init(void) HIDDEN;

static void run_constructors(int argc, char **argv, char **envp)
{
	init_fn **f;

	for (f = __preinit_array_start; f < __preinit_array_end; f++)
		(*f)(argc, argv, envp);
	_init();
	for (f = __init_array_start; f < __init_array_end; f++)
		(*f)(argc, argv, envp);
}

extern int __libc_start_main(main_fn *main, int argc, char **argv, init_fn *init,
			     void (*fini)(void), void (*rtld_fini)(void), void *stack_end) HIDDEN;

int __libc_start_main(main_fn *main, int argc, char **argv, init_fn *init, void (*fini)(void),
		      void (*rtld_fini)(void), void *stack_end)
{
	return xpu_old_start(main, argc, argv, init ? init : run_constructors, fini, rtld_fini,
			     stack_end);
}

#endif
