/* SPDX-License-Identifier: GPL-3.0-or-later */
/* inject_arch.h - everything that injecting has to know about the processor */
#ifndef XPU_LOADER_INJECT_ARCH_H
#define XPU_LOADER_INJECT_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#define ARCH_NR_REGS	17		/* registers for unwinding, by DWARF's numbers; the last
					 * one is the instruction pointer */
#define ARCH_SP		7
#define ARCH_IP		16
#define MAX_XSTATE	16384

/* The functions of the C library that are called, in the order of struct inject_data. */
#define INJECT_FUNCTIONS(X)							\
	X(pthread_create) X(dlopen) X(dlsym) X(dlerror) X(pthread_detach)	\
	X(pthread_self) X(usleep) X(munmap) X(memfd_create) X(close)		\
	X(__errno_location) X(mmap) X(mprotect)

#define INJECT_NUMBER(name)	FN_##name,
enum inject_function { INJECT_FUNCTIONS(INJECT_NUMBER) NR_FUNCTIONS };

/* States of the new thread. */
enum { NEW_STARTS, NEW_HAS_FILE, NEW_FILE_WRITTEN, NEW_LOADED, NEW_FAILED };

/*
 * Data of the code in the process. The code of arch_*.c has the offsets of members, as the
 * assertions there check.
 */
struct inject_data {
	uint64_t frame;			/* where the borrowed thread finds its own registers */
	uint64_t is_done;		/* the borrowed thread has called pthread_create() */
	uint64_t error;			/* the result */
	uint64_t state;			/* NEW_*: of the new thread */
	uint64_t is_released;		/* the borrowed thread has left this memory */
	uint64_t thread;
	uint64_t handle;		/* dlopen()'s result */
	uint64_t why;			/* dlerror()'s result */
	int64_t fd;			/* of the shim's file, if the process cannot open it */
	uint64_t wants_fd;
	uint64_t start, bytes;		/* this memory */
	uint64_t patience[2];		/* a timespec: how long to wait for xpuload */
	uint64_t fn[NR_FUNCTIONS];
	char init[24];			/* "InitializeInjection" */
	char file[24];			/* the name of the file in memory */
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

void arch__unwind_regs(const struct user_regs_struct *regs, uint64_t to[ARCH_NR_REGS]);

/*
 * Whether the thread was stopped in a system call that Linux begins again when the thread goes on.
 * If Linux would let the call fail instead, *@regs is changed so that Linux begins it again unless
 * a signal handler runs, as the program expects of the call.
 */
bool arch__waits(struct user_regs_struct *regs);

/*
 * Whether Linux knows how much time the waiting thread has left. It forgets that if the thread has
 * to restore its registers itself: the call then fails with EINTR.
 */
bool arch__has_limit(const struct user_regs_struct *regs);

/* Whether @nr is a call in which a thread may be borrowed. @args: as in /proc/PID/syscall. */
bool arch__may_borrow(long nr, const uint64_t args[6]);

/* Whether both are registers of one unfinished call. */
bool arch__same_call(const struct user_regs_struct *a, const struct user_regs_struct *b);

uint64_t arch__sp(const struct user_regs_struct *regs);
uint64_t arch__ip(const struct user_regs_struct *regs);
uint64_t arch__result(const struct user_regs_struct *regs);

/* Sets registers for a call of @fn. @sp: where its return address is. */
void arch__call(struct user_regs_struct *regs, uint64_t fn, const uint64_t *args, size_t nr,
		uint64_t sp);

/* Sets registers for the code that the borrowed thread runs. @code, @data: addresses there */
void arch__enter(struct user_regs_struct *regs, uint64_t code, uint64_t data, uint64_t sp);

#define FRAME_BYTES	(MAX_XSTATE + 1024)

/**
 * arch__frame - make what a thread finds on its stack when a signal handler returns
 * @at: the address of the frame, a multiple of 64
 * @restorer: code that makes the system call rt_sigreturn
 *
 * A function that is called with the frame's address as its stack pointer returns to the
 * interrupted call, whether or not xpuload still runs. Return: the bytes of the frame.
 */
size_t arch__frame(uint8_t to[FRAME_BYTES], const struct arch_state *s, uint64_t mask, uint64_t at,
		   uint64_t restorer);

/* The code for the process, and the bytes of the system call rt_sigreturn in the C library. */
extern const uint8_t arch__code[], arch__code_end[];
extern const uint8_t arch__restorer[];
extern const size_t arch__restorer_bytes;

#endif /* XPU_LOADER_INJECT_ARCH_H */
