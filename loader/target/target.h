/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * target.h - the program being profiled, as if xpuload were not there
 */
#ifndef XPU_LOADER_TARGET_H
#define XPU_LOADER_TARGET_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct probes;

struct target {
	pid_t pid;
	int go_fd;			/* the child starts when it reads from here */
	int error_fd;			/* and says here why it could not */
	bool exited;
	int wait_status;		/* once exited, as wait(2) encodes it */
	struct {			/* signals that came to us, to be passed on or not */
		bool pending;
		pid_t sender_pid;
		uint64_t time_ns;
	} relays[NSIG];
};

/* Remembers what it is to be given; first of all, before xpuload changes any of it. */
void target__init(void);

/* For a child of xpuload's: signals and limits as target__init() has found them. */
void target__restore(void);

/* Whether there is something to run, so that a slip of the finger costs no old recording. Return: 0
 * or a negative errno. */
int target__find(const char *name);

/**
 * target__fork - make the child, stopped before its exec
 * @argv: the command, NULL-terminated
 * @shim: goes first into its LD_PRELOAD; NULL: nothing does
 *
 * Return: 0 or a negative errno.
 */
int target__fork(struct target *t, char *const argv[], const char *shim);

/**
 * target__exec - let it go
 *
 * Return: 0 once it runs, or the negative errno of its exec.
 */
int target__exec(struct target *t);

/* Collects its exit without waiting; sets @exited. */
void target__reap(struct target *t);

/* Signal @sig came to xpuload, with si_code @code; target__relay() decides a moment later. */
void target__signal(struct target *t, int sig, int code, pid_t sender_pid);

/**
 * target__relay - pass on signals that the target did not get by itself
 *
 * One from the terminal or to the whole group reached it already, one sent to xpuload alone did
 * not. @p tells, from what the kernel saw.
 *
 * Return: whether any is still undecided: call again within some milliseconds.
 */
bool target__relay(struct target *t, const struct probes *p);

/* Ends xpuload as the target ended: exits with its status, or dies of its signal. */
_Noreturn void target__exit_like(int wait_status);

#endif /* XPU_LOADER_TARGET_H */
