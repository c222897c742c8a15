// SPDX-License-Identifier: MIT
/*
 * crash.c - a preloaded library that prints the stack of a thread that a signal kills
 *
 * GPU machines may have no debugger and no space for core files.
 */
#define _GNU_SOURCE
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void on_signal(int sig, siginfo_t *info, void *context)
{
	char text[256];
	void *frames[64];
	int nr;

	(void)context;
	nr = snprintf(text, sizeof(text), "crash: signal %d at address %p, thread %d of %d\n", sig,
		      info->si_addr, gettid(), getpid());
	if (write(STDERR_FILENO, text, nr) < 0)
		_exit(128 + sig);
	nr = backtrace(frames, 64);
	backtrace_symbols_fd(frames, nr, STDERR_FILENO);
	signal(sig, SIG_DFL);
	raise(sig);
}

__attribute__((constructor)) static void catch_signals(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	void *frame;
	size_t i;

	backtrace(&frame, 1);		/* loads the libraries that backtrace() needs */
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &sa, NULL);
}
