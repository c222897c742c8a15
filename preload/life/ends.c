// SPDX-License-Identifier: MIT
/*
 * Handles the ways in which a process ends without exit handlers: _exit(), exec, and signals that
 * the process sends itself, as Python does after an uncaught Ctrl-C. The device work that CUPTI
 * still holds would be lost, so the shim's thread is asked to send it first, within a time limit.
 *
 * Programs call _exit() in signal handlers, and exec in vforked children. The functions here
 * therefore take no lock, and act only in the process that loaded the shim.
 */
#include "life/ends.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/libc.h"
#include "life/life.h"

#define EXPORT __attribute__((visibility("default")))

extern char **environ;

static struct {
	void (*_exit)(int);
	int (*execve)(const char *, char *const[], char *const[]);
	int (*execvpe)(const char *, char *const[], char *const[]);
	int (*fexecve)(int, char *const[], char *const[]);
	int (*kill)(pid_t, int);
	int (*raise)(int);
	void (*abort)(void);
} libc;

/* Called when the shim is loaded, because a signal handler must not call dlsym(). */
void ends__init(void)
{
	*(void **)&libc._exit = dlsym(RTLD_NEXT, "_exit");
	*(void **)&libc.execve = dlsym(RTLD_NEXT, "execve");
	*(void **)&libc.execvpe = dlsym(RTLD_NEXT, "execvpe");
	*(void **)&libc.fexecve = dlsym(RTLD_NEXT, "fexecve");
	*(void **)&libc.kill = dlsym(RTLD_NEXT, "kill");
	*(void **)&libc.raise = dlsym(RTLD_NEXT, "raise");
	*(void **)&libc.abort = dlsym(RTLD_NEXT, "abort");
}

EXPORT void _exit(int status)
{
	shim__before_end();
	if (libc._exit)
		libc._exit(status);
	for (;;)
		syscall(SYS_exit_group, status);
}

EXPORT void _Exit(int status)
{
	_exit(status);
}

/*
 * Ends the recording if @sig, which the process is about to send to itself, will end the process.
 */
static void before_signal(int sig)
{
	struct sigaction action;

	switch (sig) {
	case 0:
	case SIGCHLD:
	case SIGCONT:
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
	case SIGURG:
	case SIGWINCH:
		return;			/* these signals do not end a process */
	}
	if (!sigaction(sig, NULL, &action) && action.sa_handler == SIG_DFL)
		shim__before_end();
}

EXPORT int kill(pid_t pid, int sig)
{
	if (!pid || pid == getpid())
		before_signal(sig);
	return libc.kill ? libc.kill(pid, sig) : (int)syscall(SYS_kill, pid, sig);
}

EXPORT int raise(int sig)
{
	before_signal(sig);
	return libc.raise ? libc.raise(sig) :
		(int)syscall(SYS_tgkill, getpid(), libc__tid(), sig);
}

EXPORT void abort(void)
{
	shim__before_end();
	if (libc.abort)
		libc.abort();
	for (;;)
		syscall(SYS_tgkill, getpid(), libc__tid(), SIGKILL);
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	shim__before_end();
	return libc.execve ? libc.execve(path, argv, envp) :
		(int)syscall(SYS_execve, path, argv, envp);
}

EXPORT int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	shim__before_end();
	return libc.execvpe(file, argv, envp);
}

EXPORT int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	shim__before_end();
	return libc.fexecve(fd, argv, envp);
}

/*
 * Count the arguments up to NULL, including @first, and copy them to an array on the caller's
 * stack.
 */
#define COUNT_ARGS(nr, first)				\
do {							\
	va_list args;					\
							\
	va_start(args, first);				\
	for (nr = 1; va_arg(args, char *); nr++)	\
		;					\
	va_end(args);					\
} while (0)

/* @envp: set to the environment that follows the arguments, or NULL. */
#define COPY_ARGS(argv, nr, first, envp)		\
do {							\
	char ***envp_ = (envp);				\
	va_list args;					\
	size_t i_;					\
							\
	va_start(args, first);				\
	(argv)[0] = (char *)(first);			\
	for (i_ = 1; i_ <= (nr); i_++)			\
		(argv)[i_] = va_arg(args, char *);	\
	if (envp_)					\
		*envp_ = va_arg(args, char **);		\
	va_end(args);					\
} while (0)

EXPORT int execl(const char *path, const char *arg, ...)
{
	char **argv;
	size_t nr;

	COUNT_ARGS(nr, arg);
	argv = __builtin_alloca((nr + 1) * sizeof(*argv));
	COPY_ARGS(argv, nr, arg, NULL);
	return execve(path, argv, environ);
}

EXPORT int execlp(const char *file, const char *arg, ...)
{
	char **argv;
	size_t nr;

	COUNT_ARGS(nr, arg);
	argv = __builtin_alloca((nr + 1) * sizeof(*argv));
	COPY_ARGS(argv, nr, arg, NULL);
	return execvpe(file, argv, environ);
}

EXPORT int execle(const char *path, const char *arg, ...)
{
	char **argv, **envp;
	size_t nr;

	COUNT_ARGS(nr, arg);
	argv = __builtin_alloca((nr + 1) * sizeof(*argv));
	COPY_ARGS(argv, nr, arg, &envp);
	return execve(path, argv, envp);
}
