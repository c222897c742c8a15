/* SPDX-License-Identifier: GPL-3.0-or-later */
/* target.h - runs the profiled program as if xpuload were not there */
#ifndef XPU_LOADER_TARGET_H
#define XPU_LOADER_TARGET_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct probes;
struct witness;

struct target {
	pid_t pid;
	int go_fd;			/* the child waits until it can read from here */
	int error_fd;			/* the child writes the error of its exec here */
	bool waits;			/* not recorded from the start; xpuload may attach later */
	bool exited;
	int wait_status;		/* after the exit, as wait(2) encodes it */
	struct {			/* signals that xpuload got, and may have to pass on */
		bool pending;
		pid_t sender_pid;
		uint64_t time_ns;
	} relays[NSIG];
};

/*
 * Remembers the signals, limits and environment for the target. Must be called first, before
 * xpuload changes any of them.
 */
void target__init(void);

/* Restores, in a child of xpuload, the signals and limits that target__init() found. */
void target__restore(void);

/*
 * Checks that the command exists, so that a mistyped command does not replace an old recording.
 * Return: 0 or a negative errno.
 */
int target__find(const char *name);

/**
 * target__fork - make the child, stopped before its exec
 * @argv: the command, NULL-terminated
 * @shim: put first into the child's LD_PRELOAD; NULL: no shim
 *
 * Return: 0 or a negative errno.
 */
int target__fork(struct target *t, char *const argv[], const char *shim);

/**
 * target__exec - make the child exec
 *
 * Return: 0 once the command runs, or the negative errno of its exec.
 */
int target__exec(struct target *t);

/* Reaps the target if it has ended, without waiting; sets @exited. */
void target__reap(struct target *t);

/*
 * Notes that xpuload got signal @sig with si_code @code. target__relay() decides a moment later
 * whether to pass the signal on.
 */
void target__signal(struct target *t, int sig, int code, pid_t sender_pid);

/**
 * target__relay - pass on the signals that reached xpuload, but not the target
 *
 * A signal from the terminal, or to the whole group, has reached the target already; a signal to
 * xpuload alone has not. @p knows which signals reached the target; without @p, @w knows which
 * signals went to the group. Both may be NULL.
 *
 * Return: whether any signal is still undecided. Then this must be called again within some
 * milliseconds.
 */
bool target__relay(struct target *t, const struct probes *p, struct witness *w);

/* Ends xpuload as the target ended: exits with the target's status, or dies of the same signal. */
_Noreturn void target__exit_like(int wait_status);

#endif /* XPU_LOADER_TARGET_H */
