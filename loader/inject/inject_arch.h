/* SPDX-License-Identifier: GPL-3.0-or-later */
/* inject_arch.h - everything in the injection that depends on the processor */
#ifndef XPU_LOADER_INJECT_ARCH_H
#define XPU_LOADER_INJECT_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#define MAX_XSTATE	16384

/* The C library's functions that are called, in the order of inject_data.fn. */
#define INJECT_FUNCTIONS(X)							\
	X(pthread_create) X(dlopen) X(dlsym) X(dlerror) X(pthread_attr_init)	\
	X(pthread_attr_setstacksize) X(pthread_attr_setdetachstate) X(usleep)	\
	X(munmap) X(memfd_create) X(close) X(__errno_location) X(mmap)		\
	X(mprotect) X(clone)

#define TLS_IMAGE	128		/* maximum size of inject_data.image; glibc's image has 16
					 * bytes */

#define INJECT_NUMBER(name)	FN_##name,
enum inject_function { INJECT_FUNCTIONS(INJECT_NUMBER) NR_FUNCTIONS };

/* States of the two new threads. */
enum { NEW_STARTS, NEW_WAITS, NEW_MAY_LOAD, NEW_LOADED, NEW_FAILED, NEW_NO_THREAD };

/*
 * The data of the code that is put into the process. That code uses the members' offsets, which
 * assertions in arch_*.c check.
 */
struct inject_data {
	uint64_t state;			/* NEW_* */
	uint64_t error;			/* NEW_NO_THREAD: the result of pthread_create() */
	uint64_t starter;		/* not 0 until the bare thread has ended */
	uint64_t is_released;		/* xpuload has read the result */
	uint64_t thread;
	uint64_t handle;		/* dlopen()'s result */
	uint64_t why;			/* dlerror()'s result */
	int64_t fd;			/* descriptor of a memfd for the shim, if the process cannot
					 * open the shim */
	uint64_t wants_fd;
	uint64_t start, bytes;		/* the new memory */
	uint64_t patience[2];		/* a timespec: how long to wait for xpuload */
	uint64_t tls_low;		/* lowest address for the bare thread's thread-local data */
	uint64_t last_sp;		/* stack for the last call, outside of the new memory */
	uint64_t errno_at;		/* offset of errno in the C library's thread-local data */
	uint64_t image_bytes;
	uint64_t fn[NR_FUNCTIONS];
	uint64_t attr[8];		/* a pthread_attr_t */
	uint8_t image[TLS_IMAGE];	/* initial contents of the C library's thread-local data */
	char init[24];			/* "InitializeInjection" */
	char file[24];			/* the name of the memfd */
	char path[4096];
};

/* Registers of a stopped thread. */
struct arch_state {
	struct user_regs_struct regs;
	size_t xstate_bytes;
	uint8_t xstate[MAX_XSTATE];
};

/* Return: 0 or a negative errno. */
int arch__get(pid_t tid, struct user_regs_struct *regs);
int arch__set(pid_t tid, const struct user_regs_struct *regs);
int arch__get_all(pid_t tid, struct arch_state *s);
int arch__set_all(pid_t tid, const struct arch_state *s);

/*
 * Whether the thread was stopped in a system call that Linux restarts when the thread is resumed.
 * If Linux would let the call fail instead, changes *@regs so that Linux restarts the call. The
 * call still fails if a signal handler runs, as it does without us.
 */
bool arch__waits(struct user_regs_struct *regs);

/*
 * Whether the thread waits with a timeout, and Linux knows the time left. Linux forgets this time
 * if the thread must restore its registers itself: the call then fails with EINTR.
 */
bool arch__has_limit(const struct user_regs_struct *regs);

/* Whether @nr is a call in which a thread may be borrowed. @args: as in /proc/PID/syscall. */
bool arch__may_borrow(long nr, const uint64_t args[6]);

uint64_t arch__sp(const struct user_regs_struct *regs);
uint64_t arch__ip(const struct user_regs_struct *regs);
uint64_t arch__result(const struct user_regs_struct *regs);

/* Sets registers for a call of @fn. @sp: address of the return address */
void arch__call(struct user_regs_struct *regs, uint64_t fn, const uint64_t *args, size_t nr,
		uint64_t sp);

/* Sets registers for the bare thread's code at @code. @tcb: the thread's TCB */
void arch__enter(struct user_regs_struct *regs, uint64_t code, uint64_t data, uint64_t sp,
		 uint64_t tcb);

/*
 * Flags of clone() for a bare thread. The tracer of the thread that calls clone() also traces the
 * bare thread.
 */
extern const uint64_t arch__clone_flags;

#define TCB_BYTES	8192		/* more than a struct pthread of any glibc */
#define TCB_HEAD	1024		/* the part with the members that matter */

#define TCB_TID		0x2d0		/* offset of the thread's number */

/* Return: the address of the thread's TCB. */
uint64_t arch__tcb_at(const struct user_regs_struct *regs);

/**
 * arch__tcb - make a TCB for a bare thread
 * @its: the beginning of another thread's TCB, at the address @its_at; the thread has the number
 *	@its_tid in its pid namespace
 * @at, @tid: address and number for the bare thread
 *
 * Return: false if the C library's TCB has an unknown layout.
 */
bool arch__tcb(uint8_t to[TCB_HEAD], const uint8_t its[TCB_HEAD], uint64_t its_at, uint32_t its_tid,
	       uint64_t at, uint32_t tid);

/* Whether @a and @b are registers of the same unfinished call. */
bool arch__same_call(const struct user_regs_struct *a, const struct user_regs_struct *b);

#define FRAME_BYTES	832

/**
 * arch__frame - make the signal frame that is on a thread's stack when a signal handler returns
 * @at: the address of the frame, a multiple of 64
 * @restorer: code that makes the system call rt_sigreturn
 *
 * A function that is called with the frame's address as its stack pointer returns to the
 * interrupted call, whether or not xpuload still runs. The thread then has its general, x87 and SSE
 * registers again. Registers of later extensions are as in a new thread: no call of the C library
 * preserves them.
 */
void arch__frame(uint8_t to[FRAME_BYTES], const struct arch_state *s, uint64_t mask, uint64_t at,
		 uint64_t restorer);

/*
 * The code that is written into the process, and the bytes of the C library's code that makes the
 * system calls rt_sigreturn and exit.
 */
extern const uint8_t arch__code[], arch__code_end[];
extern const uint8_t arch__restorer[];
extern const size_t arch__restorer_bytes;
extern const uint8_t arch__end_thread[];
extern const size_t arch__end_thread_bytes;

#endif /* XPU_LOADER_INJECT_ARCH_H */
