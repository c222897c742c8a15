// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A thread of the process is borrowed for one system call, clone(). This makes a bare thread, which
 * has thread-local data of its own, so that it can call pthread_create(). pthread_create() makes
 * the loading thread, which is known to the C library and loads the shim.
 *
 * The order of the steps makes it harmless if this process is killed at any moment: Linux then
 * resumes the threads with the registers that they have at that time. The borrowed thread has its
 * own registers, or runs a function that returns to a signal frame, from which it restores them.
 * The bare thread runs a function that returns to the end of clone(), or code that ends without our
 * help.
 */
#include "inject/borrow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/host_clock.h"
#include "base/mapped.h"
#include "inject/inject_arch.h"
#include "inject/foreign.h"
#include "inject/inject_libc.h"
#include "inject/inject_process.h"
#include "inject/inject_steps.h"
#include "inject/seccomp.h"

#define SEARCH_NS	3000000000ull	/* how long to look for a thread */
#define NO_LIMIT_NS	500000000ull	/* how long to skip threads that wait with a timeout */
#define PAUSE_US	5000		/* pause between two searches of all threads */
#define MAX_REASONS	16
#define MAX_STOPS	100
#define STOP_NS		1000000000ull	/* how long a thread may take to stop */
#define STARTER_NS	10000000000ull	/* how long a system call of the bare thread may take */
#define PATIENCE_NS	999999999	/* how long the bare thread waits for us */
#define LOAD_NS		20000000000ull	/* how long loading may take */
/*
 * Signals of faults stay unblocked: if a fault raises a blocked signal, Linux resets the signal's
 * handler for the whole process. In the new threads, SIGSETXID is not blocked either: the C
 * library's setuid() waits for each thread to handle it.
 */
#define BIT_OF(sig)	(1ull << ((sig) - 1))
#define FAULTS		(BIT_OF(SIGSEGV) | BIT_OF(SIGBUS) | BIT_OF(SIGILL) | BIT_OF(SIGFPE) | \
			 BIT_OF(SIGTRAP) | BIT_OF(SIGSYS))
#define SETXID		33

/* The new memory holds code, data, and the bare thread's stack, thread-local data and TCB. */
#define DATA_AT		4096
#define STACK_AT	(DATA_AT + 8192)
#define TLS_AT		(STACK_AT + 65536)
#define TLS_BYTES	(512 << 10)
#define TCB_AT		(TLS_AT + TLS_BYTES)
#define ALL_BYTES	(TCB_AT + TCB_BYTES)

_Static_assert(sizeof(struct inject_data) <= STACK_AT - DATA_AT, "room for the data");

struct borrow {
	pid_t pid, tid;
	int mem;
	struct modules modules;
	struct libc_places places;
	const char *shim;
	bool wants_fd;			/* the process does not see the shim's file */
	struct inject_result *result;
	uint64_t any_ns;		/* threads that wait with a timeout are skipped until this
					 * time */
	uint64_t end_ns;		/* end of the search */
	struct {
		char why[INJECT_WHY];
		uint32_t nr;
	} reasons[MAX_REASONS];		/* why threads were not borrowed */

	/* The borrowed thread's state before it was borrowed: */
	struct arch_state state;
	uint64_t mask;
	uint8_t tcb[TCB_HEAD];
	uint32_t inner_tid;		/* the thread's number in its pid namespace */
	bool is_out;			/* the thread's registers could not be restored: the thread
					 * restores them itself when this process ends, and needs
					 * the spare memory for that */

	pid_t starter;			/* the bare thread; 0: it has ended */
	struct user_regs_struct starter_regs;
	uint64_t start;			/* the new memory in the process; 0: none */
	uint64_t data;			/* address of struct inject_data in the new memory */
};

#define REFUSE(b, err, ...)	\
	(snprintf((b)->result->why, INJECT_WHY, __VA_ARGS__), (err))

/* ---- the process's memory -------------------------------------------------------------------- */

static bool get(const struct borrow *b, uint64_t at, void *to, size_t bytes)
{
	return pread(b->mem, to, bytes, at) == (ssize_t)bytes;
}

static bool put(const struct borrow *b, uint64_t at, const void *from, size_t bytes)
{
	return pwrite(b->mem, from, bytes, at) == (ssize_t)bytes;
}

static uint64_t get_data(const struct borrow *b, size_t member)
{
	uint64_t value = 0;

	return get(b, b->data + member, &value, sizeof(value)) ? value : 0;
}

static void put_data(const struct borrow *b, size_t member, uint64_t value)
{
	put(b, b->data + member, &value, sizeof(value));
}

#define GET(b, member)		get_data(b, offsetof(struct inject_data, member))
#define PUT(b, member, value)	put_data(b, offsetof(struct inject_data, member), value)

/* ---- stopping -------------------------------------------------------------------------------- */

enum stop {
	STOP_TRAP,		/* by PTRACE_INTERRUPT */
	STOP_CALL,		/* at a system call */
	STOP_SIGNAL,		/* a signal is about to be delivered */
	STOP_GROUP,		/* SIGSTOP and the like */
	STOP_GONE,
	STOP_NONE,		/* no stop in time */
};

static enum stop wait_stop(pid_t tid, uint64_t limit_ns, int *sig)
{
	uint64_t begin = clock__now();
	int status, n = 0;
	pid_t ret;

	*sig = 0;
	for (;;) {
		ret = waitpid(tid, &status, __WALL | WNOHANG);
		if (ret < 0 || (ret && !WIFSTOPPED(status)))
			return STOP_GONE;
		if (ret)
			break;
		if (clock__now() - begin > limit_ns)
			return STOP_NONE;
		if (n++ < 50)
			sched_yield();
		else
			usleep(20);
	}
	if (status >> 16 == PTRACE_EVENT_STOP)
		return WSTOPSIG(status) == SIGTRAP ? STOP_TRAP : STOP_GROUP;
	if (status >> 16)
		return STOP_GONE;	/* it runs another program, which must not be changed */
	if (WSTOPSIG(status) == (SIGTRAP | 0x80))
		return STOP_CALL;
	*sig = WSTOPSIG(status);
	return STOP_SIGNAL;
}

static void let_go(const struct borrow *b, int sig)
{
	ptrace(PTRACE_DETACH, b->tid, 0, sig);
}

/* Stops the thread. Return: 0, -EAGAIN if a later attempt may succeed, or a negative errno. */
static int stop(struct borrow *b)
{
	int sig;

	/* Linux checks here whether this process may trace the thread. */
	if (ptrace(PTRACE_SEIZE, b->tid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC)) {
		if (errno == ESRCH)
			return REFUSE(b, -EAGAIN, "has ended");
		return REFUSE(b, -EPERM, "Linux does not let xpuload trace it, or somebody else "
			      "traces it");
	}
	if (ptrace(PTRACE_INTERRUPT, b->tid, 0, 0))
		return REFUSE(b, -EAGAIN, "has ended");
	b->result->nr_stops++;
	switch (wait_stop(b->tid, STOP_NS, &sig)) {
	case STOP_TRAP:
		return 0;
	case STOP_SIGNAL:
		let_go(b, sig);
		return REFUSE(b, -EAGAIN, "got a signal");
	case STOP_GROUP:
		let_go(b, 0);
		return REFUSE(b, -EBUSY, "it is stopped by a signal: continue it (kill -CONT)");
	case STOP_NONE:
		/* A thread can be detached only while it is stopped, or when we end. */
		return REFUSE(b, -ETIMEDOUT, "a thread does not stop");
	default:
		let_go(b, 0);
		return REFUSE(b, -EAGAIN, "has ended");
	}
}

/* Return: how long a thread has waited for a CPU so far. */
static uint64_t cpu_wait(pid_t pid, pid_t tid)
{
	uint64_t run, wait = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", pid, tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%" SCNu64 " %" SCNu64, &run, &wait) != 2)
		wait = 0;
	fclose(f);
	return wait;
}

/* State of the clocks just before a thread is stopped. */
struct stopwatch {
	uint64_t begin, its_wait, our_wait;
};

static struct stopwatch start_watch(const struct borrow *b)
{
	return (struct stopwatch){ .its_wait = cpu_wait(b->pid, b->tid),
				   .our_wait = cpu_wait(getpid(), getpid()),
				   .begin = clock__now() };
}

static void count_stop(struct borrow *b, const struct stopwatch *w)
{
	uint64_t ns = clock__now() - w->begin, wait;

	if (ns <= b->result->stopped_ns)
		return;
	wait = cpu_wait(b->pid, b->tid) - w->its_wait + cpu_wait(getpid(), getpid()) - w->our_wait;
	b->result->stopped_ns = ns;
	b->result->cpu_wait_ns = wait < ns ? wait : ns;
}

/* ---- looking --------------------------------------------------------------------------------- */

/* The system call that a thread is in. It is read from /proc, without stopping the thread. */
struct system_call {
	long nr;
	uint64_t args[6], sp, pc;
};

static bool system_call__read(struct system_call *c, pid_t pid, pid_t tid)
{
	char path[64];
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fscanf(f, "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
		   " %" SCNx64 " %" SCNx64, &c->nr, &c->args[0], &c->args[1], &c->args[2],
		   &c->args[3], &c->args[4], &c->args[5], &c->sp, &c->pc);
	fclose(f);
	return n == 9 && c->nr >= 0;
}

/*
 * Whether the thread waits in a system call of the C library, and may be borrowed during this call.
 */
static bool waits(struct borrow *b)
{
	const struct module *m;
	struct system_call c;

	if (!system_call__read(&c, b->pid, b->tid) || !arch__may_borrow(c.nr, c.args))
		return false;
	m = modules__find(&b->modules, c.pc);
	return m && m->kind == MODULE_LIBC;
}

/* Checks the seccomp filters of the stopped thread. */
static int check_seccomp(struct borrow *b)
{
	int mode = process__seccomp(b->pid, b->tid);

	if (!mode)
		return 0;
	if (mode != 2)
		return REFUSE(b, -EAGAIN, "may make nearly no system calls (seccomp)");
	if (geteuid())
		return REFUSE(b, -EAGAIN, "has seccomp filters, which Linux shows only to root");
	return seccomp__check(b->tid, b->result->why);
}

/*
 * Reads the registers of the stopped thread. Detaches the thread unless it waits in a call that
 * Linux restarts. Return: 0, or -EAGAIN if the thread was detached.
 */
static int read_stopped(struct borrow *b, struct arch_state *state, uint64_t *mask)
{
	struct user_regs_struct as_it_was;

	if (arch__get_all(b->tid, state) ||
	    ptrace(PTRACE_GETSIGMASK, b->tid, sizeof(*mask), mask)) {
		let_go(b, 0);
		return REFUSE(b, -EAGAIN, "has ended");
	}
	as_it_was = state->regs;
	if (!arch__waits(&state->regs)) {
		let_go(b, 0);
		return REFUSE(b, -EAGAIN, "has just left its system call");
	}
	if (memcmp(&as_it_was, &state->regs, sizeof(as_it_was)))
		arch__set(b->tid, &state->regs);
	return 0;
}

/*
 * Stops the thread for a moment to read its state, and resumes it. Then writes the signal frame
 * that the thread would need if this process ended while the thread is borrowed. Nothing is written
 * while the thread is stopped, because other threads of the process may delay the write for long.
 */
static int look(struct borrow *b, struct arch_state *state)
{
	const uint64_t at = b->places.spare + SPARE_FRAME;
	uint8_t frame[FRAME_BYTES], unused[TCB_HEAD];
	struct stopwatch watch = start_watch(b);
	uint64_t mask;
	int err = stop(b);

	err = err ?: read_stopped(b, state, &mask);
	if (err)
		return err;
	if (arch__has_limit(&state->regs) && clock__now() < b->any_ns)
		err = REFUSE(b, -EAGAIN, "waits with a time limit");
	err = err ?: check_seccomp(b);
	let_go(b, 0);
	count_stop(b, &watch);
	if (err)
		return err;
	b->inner_tid = process__inner_tid(b->pid, b->tid);
	if (!get(b, arch__tcb_at(&state->regs), b->tcb, sizeof(b->tcb)) ||
	    !arch__tcb(unused, b->tcb, arch__tcb_at(&state->regs), b->inner_tid, 0, 0))
		return REFUSE(b, -EAGAIN, "has thread-local data that the C library does not know");
	arch__frame(frame, state, mask, at, b->places.restorer);
	return put(b, at, frame, sizeof(frame)) ? 0 :
	       REFUSE(b, -ENOTSUP, "its memory cannot be written");
}

/* ---- borrowing ------------------------------------------------------------------------------- */

/*
 * Restores the registers of the stopped thread, and detaches the thread. @at_call: the thread is
 * stopped at a system call, where Linux would not restart the interrupted call. Return: whether
 * this succeeded.
 */
static bool give_back(struct borrow *b, bool at_call, int sig)
{
	if (at_call && (ptrace(PTRACE_INTERRUPT, b->tid, 0, 0) ||
			ptrace(PTRACE_CONT, b->tid, 0, 0) ||
			wait_stop(b->tid, STOP_NS, &sig) >= STOP_GONE)) {
		b->is_out = true;
		return false;
	}
	ptrace(PTRACE_SETSIGMASK, b->tid, sizeof(b->mask), &b->mask);
	arch__set_all(b->tid, &b->state);
	let_go(b, sig);
	return true;
}

/* Whether the signal was raised by a fault in the code that the thread runs for us. */
static bool is_fault(pid_t tid, int sig)
{
	siginfo_t info;

	return sig > 0 && sig < SETXID && FAULTS & BIT_OF(sig) &&
	       !ptrace(PTRACE_GETSIGINFO, tid, 0, &info) && info.si_code > 0;
}

/*
 * Makes the stopped thread call a function of the C library that makes one system call, and stops
 * it again when the call is done. Return: 0 and *@value, or a negative errno with the thread
 * detached; -EIO if it could not be detached.
 */
static int call(struct borrow *b, enum inject_function fn, const uint64_t *args, size_t nr,
		uint64_t *value)
{
	const uint64_t all = ~FAULTS;
	struct user_regs_struct regs = b->state.regs;
	enum stop stop = STOP_CALL;
	bool fault;
	int sig, i;

	arch__call(&regs, b->places.fn[fn], args, nr, b->places.spare + SPARE_FRAME);
	if (arch__set(b->tid, &regs) ||
	    ptrace(PTRACE_SETSIGMASK, b->tid, sizeof(all), &all)) {
		give_back(b, false, 0);
		return REFUSE(b, -EAGAIN, "cannot be given registers");
	}
	for (i = 0; i < 2 && stop == STOP_CALL; i++) {
		ptrace(PTRACE_SYSCALL, b->tid, 0, 0);
		stop = wait_stop(b->tid, STOP_NS, &sig);
	}
	if (stop == STOP_CALL && !arch__get(b->tid, &regs)) {
		*value = arch__result(&regs);
		return 0;
	}
	if (stop == STOP_SIGNAL) {
		fault = is_fault(b->tid, sig);
		give_back(b, false, fault ? 0 : sig);
		return fault ? REFUSE(b, -EFAULT, "calling its C library causes a fault") :
			       REFUSE(b, -EAGAIN, "got a signal");
	}
	if (stop == STOP_TRAP || stop == STOP_GROUP) {
		give_back(b, false, 0);
		return REFUSE(b, -EAGAIN, "got a signal");
	}
	b->is_out = true;
	return REFUSE(b, -EIO, stop == STOP_NONE ? "a thread does not stop" :
		      "a thread has ended while it was borrowed");
}

static bool is_error(uint64_t value)
{
	return value > -4096ull;
}

/*
 * Borrows the thread if it is still in the same call, and lets it make the bare thread, which is
 * traced and stops at once. Return: 0, or a negative errno with the process unchanged.
 */
static int borrow(struct borrow *b, const struct arch_state *seen)
{
	const struct libc_places *p = &b->places;
	const uint64_t args[6] = { p->fn[FN___errno_location], p->spare + SPARE_STACK,
				   arch__clone_flags, 0, 0, 0 };
	struct stopwatch watch = start_watch(b);
	uint64_t value = 0;
	int err = stop(b);

	err = err ?: read_stopped(b, &b->state, &b->mask);
	if (err)
		return err;
	if (arch__same_call(&seen->regs, &b->state.regs)) {
		inject_step(STEP_BORROWED);
		err = call(b, FN_clone, args, 6, &value);
		inject_step(STEP_CLONED);
		if (!err && !give_back(b, true, 0))
			err = REFUSE(b, -EIO, "a thread does not stop");
	} else {
		let_go(b, 0);
		err = REFUSE(b, -EAGAIN, "has just left its system call");
	}
	count_stop(b, &watch);
	if (!err && is_error(value))
		return REFUSE(b, -EAGAIN, "cannot start another thread: %s",
			      strerror(-(int64_t)value));
	return err;
}

/* ---- the bare thread ------------------------------------------------------------------------- */

/* Waits for the bare thread's first stop. */
static int find_starter(struct borrow *b)
{
	uint64_t begin = clock__now();
	int status;
	pid_t pid;

	do {
		pid = waitpid(-1, &status, __WALL | WNOHANG);
		if (pid > 0 && pid != b->tid && WIFSTOPPED(status)) {
			b->starter = pid;
			return arch__get(pid, &b->starter_regs) ?
			       REFUSE(b, -EIO, "a new thread has ended at once") : 0;
		}
		usleep(20);
	} while (pid >= 0 && clock__now() - begin < STARTER_NS);
	return REFUSE(b, -EIO, "a new thread does not begin");
}

/* Makes the bare thread end, and waits for its end. */
static void end_starter(struct borrow *b)
{
	struct user_regs_struct regs = b->starter_regs;
	int sig;

	if (!b->starter)
		return;
	arch__call(&regs, b->places.end_thread, NULL, 0, b->places.spare + SPARE_STACK);
	arch__set(b->starter, &regs);
	ptrace(PTRACE_CONT, b->starter, 0, 0);
	if (wait_stop(b->starter, STOP_NS, &sig) == STOP_GONE)
		b->starter = 0;
}

/*
 * Makes the bare thread call a function of the C library that makes one system call. If this
 * process ends meanwhile, the function returns to the end of clone(), and the thread ends. Return:
 * 0 and *@value, or a negative errno.
 */
static int starter_call(struct borrow *b, enum inject_function fn, const uint64_t *args, size_t nr,
			uint64_t *value)
{
	struct user_regs_struct regs = b->starter_regs;
	uint64_t begin = clock__now();
	int sig = 0, nr_calls = 0;
	enum stop stop;

	arch__call(&regs, b->places.fn[fn], args, nr, b->places.spare + SPARE_RETURN);
	if (arch__set(b->starter, &regs))
		return REFUSE(b, -EIO, "a new thread has ended");
	while (nr_calls < 2) {
		ptrace(PTRACE_SYSCALL, b->starter, 0, sig);
		stop = wait_stop(b->starter, STARTER_NS, &sig);
		nr_calls += stop == STOP_CALL;
		if (stop == STOP_GONE)
			b->starter = 0;
		if (stop >= STOP_GONE || clock__now() - begin > STARTER_NS)
			return REFUSE(b, -EIO, stop == STOP_GONE ? "a new thread has ended" :
				      "a system call of a new thread takes too long");
		if (is_fault(b->starter, sig))
			return REFUSE(b, -EFAULT, "calling its C library causes a fault");
	}
	if (arch__get(b->starter, &regs))
		return REFUSE(b, -EIO, "a new thread has ended");
	*value = arch__result(&regs);
	return 0;
}

/* Maps memory in the process for the code and its data. */
static int make_memory(struct borrow *b)
{
	const uint64_t map[6] = { 0, ALL_BYTES, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1ull, 0 };
	uint64_t value;
	int err = starter_call(b, FN_mmap, map, 6, &value);

	if (err)
		return err;
	if (is_error(value) || modules__find(&b->modules, value))
		return REFUSE(b, -ENOMEM, "it cannot map memory: %s", strerror(-(int64_t)value));
	b->start = value;
	b->data = value + DATA_AT;
	return 0;
}

static int fill_memory(struct borrow *b)
{
	const uint64_t protect[3] = { b->start, DATA_AT, PROT_READ | PROT_EXEC };
	const uint64_t tcb_at = b->start + TCB_AT;
	static struct inject_data d;
	static uint8_t tcb[TCB_HEAD];
	uint64_t value;
	int err;

	d = (struct inject_data){
		.starter = b->starter, .fd = -1, .wants_fd = b->wants_fd, .start = b->start,
		.bytes = ALL_BYTES, .patience = { 0, PATIENCE_NS },
		.tls_low = b->start + TLS_AT, .last_sp = b->places.spare + SPARE_RETURN,
		.errno_at = b->places.errno_at, .image_bytes = b->places.tls_bytes,
		.init = "InitializeInjection", .file = "/libxpushim.so",
	};
	if (d.image_bytes > sizeof(d.image))	/* the child that reads the C library may lie */
		return REFUSE(b, -ENOTSUP, "its C library has too much thread-local data");
	memcpy(d.fn, b->places.fn, sizeof(d.fn));
	snprintf(d.path, sizeof(d.path), "%s", b->shim);
	arch__tcb(tcb, b->tcb, arch__tcb_at(&b->state.regs), b->inner_tid, tcb_at,
		  process__inner_tid(b->pid, b->starter));
	if (!get(b, b->places.tls_image, d.image, d.image_bytes) ||
	    !put(b, b->start, arch__code, arch__code_end - arch__code) ||
	    !put(b, b->data, &d, sizeof(d)) || !put(b, tcb_at, tcb, sizeof(tcb)))
		return REFUSE(b, -EFAULT, "its new memory cannot be written");
	err = starter_call(b, FN_mprotect, protect, 3, &value);
	if (err)
		return err;
	if (is_error(value))
		return REFUSE(b, -EACCES, "it may not make memory executable: %s",
			      strerror(-(int64_t)value));
	return 0;
}

/* Unmaps the memory. */
static void free_memory(struct borrow *b)
{
	const uint64_t args[2] = { b->start, ALL_BYTES };
	uint64_t value;

	if (b->start && b->starter)
		starter_call(b, FN_munmap, args, 2, &value);
	b->start = 0;
}

/* Makes the bare thread continue in the code that was written for it. */
static int run_starter(struct borrow *b)
{
	const uint64_t mask = ~(FAULTS | BIT_OF(SETXID));
	struct user_regs_struct regs = b->starter_regs;

	arch__enter(&regs, b->start, b->data, b->start + TLS_AT, b->start + TCB_AT);
	if (ptrace(PTRACE_SETSIGMASK, b->starter, sizeof(mask), &mask) ||
	    arch__set(b->starter, &regs))
		return REFUSE(b, -EIO, "a new thread cannot be given registers");
	ptrace(PTRACE_CONT, b->starter, 0, 0);
	return 0;
}

/*
 * Handles events of the running bare thread. Return: 0, or -EFAULT if it was ended because of a
 * fault.
 */
static int watch_starter(struct borrow *b)
{
	int status, sig;

	if (!b->starter || !waitpid(b->starter, &status, __WALL | WNOHANG))
		return 0;
	if (!WIFSTOPPED(status)) {
		b->starter = 0;
		return 0;
	}
	sig = status >> 16 ? 0 : WSTOPSIG(status);
	if (is_fault(b->starter, sig)) {
		end_starter(b);
		return REFUSE(b, -EFAULT, "starting a thread failed with signal %d", sig);
	}
	ptrace(PTRACE_CONT, b->starter, 0, sig);
	return 0;
}

/* Writes the code into the process, and makes the bare thread run it. */
static int start(struct borrow *b)
{
	uint8_t zeros[SPARE_BYTES] = { 0 };
	int err = make_memory(b);

	inject_step(STEP_MAPPED);
	err = err ?: fill_memory(b);
	inject_step(STEP_FILLED);
	err = err ?: run_starter(b);
	inject_step(STEP_STARTED);
	if (err) {
		free_memory(b);
		end_starter(b);
		if (!b->starter)
			put(b, b->places.spare, zeros, sizeof(zeros));
	}
	return err;
}

/* ---- the loading thread -------------------------------------------------------------------- */

/* Writes the shim into the process's memfd. Return: whether all of it was written. */
static bool write_file(struct borrow *b)
{
	int number = GET(b, fd), from, to;
	char path[64], bytes[65536];
	ssize_t n = -1;

	from = open(b->shim, O_RDONLY | O_CLOEXEC);
	to = foreign__open_file(b->pid, number);
	while (from >= 0 && to >= 0 && (n = read(from, bytes, sizeof(bytes))) > 0)
		if (write(to, bytes, n) != n) {
			n = -1;
			break;
		}
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	/*
	 * The "." makes this name differ from the name of each file that the dynamic loader knows.
	 */
	snprintf(path, sizeof(path), "/proc/self/./fd/%d", number);
	return !n && put(b, b->data + offsetof(struct inject_data, path), path, strlen(path) + 1);
}

/*
 * Whether the loading thread has the rights of the borrowed thread. setuid() changes all threads
 * that the C library knows. If it ran before the loading thread existed, it missed the bare thread,
 * whose rights the loading thread inherited.
 */
static bool has_same_rights(struct borrow *b)
{
	uint64_t end = clock__now() + STOP_NS;
	uint32_t inner = 0;
	pid_t tid;

	if (!get(b, GET(b, thread) + TCB_TID, &inner, sizeof(inner)))
		return false;
	tid = process__find_thread(b->pid, inner);
	while (!process__same_rights(b->pid, tid, b->tid) &&
	       !process__same_rights(b->pid, tid, b->pid)) {
		if (!tid || clock__now() > end)
			return false;
		usleep(1000);		/* a setuid() may be in progress */
	}
	return true;
}

/* Lets the loading thread load the shim, if this thread has the correct rights. */
static void let_load(struct borrow *b)
{
	static const char nothing[] = "/proc/self/fd/-1";

	/* An incomplete file would make dlopen() fault. */
	if ((b->wants_fd && !write_file(b)) || !has_same_rights(b))
		if (!put(b, b->data + offsetof(struct inject_data, path), nothing,
			 sizeof(nothing)))
			return;
	PUT(b, state, NEW_MAY_LOAD);
}

/* Waits until the loading thread has loaded the shim. Return: 0 or a negative errno. */
static int wait_loaded(struct borrow *b)
{
	uint64_t begin = clock__now(), state, why, word;
	char text[200] = "";
	bool asked = false;
	int err;

	do {
		err = watch_starter(b);
		if (err)
			return err;
		if (!get(b, b->data, &word, sizeof(word)))
			return REFUSE(b, -ESRCH, "it has ended, or has given the memory back");
		state = GET(b, state);
		if (state == NEW_WAITS && !asked)
			let_load(b);
		asked |= state == NEW_WAITS;
		if (state == NEW_LOADED)
			return 0;
		if (state == NEW_NO_THREAD)
			return REFUSE(b, -EAGAIN, "it cannot start another thread: %s",
				      strerror(GET(b, error)));
		if (state == NEW_FAILED) {
			why = GET(b, why);
			if (why && pread(b->mem, text, sizeof(text) - 1, why) <= 0)
				text[0] = '\0';
			return REFUSE(b, -EIO, "the shim could not be loaded in it: %s",
				      text[0] ? text : "it cannot make a file in memory");
		}
		usleep(100);
	} while (clock__now() - begin < LOAD_NS);
	return REFUSE(b, -EIO, "loading the shim in it takes more than %d s",
		      (int)(LOAD_NS / 1000000000));
}

/* Lets the new threads end, and waits until they have unmapped the memory. */
static void release(struct borrow *b)
{
	const uint8_t zeros[SPARE_BYTES] = { 0 };
	uint64_t begin = clock__now(), word;

	inject_step(STEP_LOADED);
	PUT(b, is_released, 1);
	while ((b->starter || get(b, b->start, &word, sizeof(word))) &&
	       clock__now() - begin < 2 * STOP_NS) {
		watch_starter(b);
		usleep(200);
	}
	if (!b->starter)
		put(b, b->places.spare, zeros, sizeof(zeros));
	inject_step(STEP_RELEASED);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Counts the reason of the last refusal. */
static void count_reason(struct borrow *b)
{
	size_t i;

	for (i = 0; i < MAX_REASONS; i++) {
		if (b->reasons[i].nr && strcmp(b->reasons[i].why, b->result->why))
			continue;
		memcpy(b->reasons[i].why, b->result->why, INJECT_WHY);
		b->reasons[i].nr++;
		return;
	}
}

static int try_this_thread(struct borrow *b)
{
	static struct arch_state seen;
	int err;

	if (!waits(b))
		return -EAGAIN;
	err = look(b, &seen);
	return err ?: borrow(b, &seen);
}

static int try_thread(struct borrow *b, pid_t tid)
{
	int err;

	b->tid = tid;
	b->result->why[0] = '\0';
	err = try_this_thread(b);
	if (err == -EAGAIN && b->result->why[0])
		count_reason(b);
	return err;
}

/*
 * Tries all threads. The first thread comes last, since it is likely to do the most important
 * work.
 */
static int try_threads(struct borrow *b)
{
	struct dirent *e;
	char path[64];
	int err = -EAGAIN;
	pid_t tid;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", b->pid);
	d = opendir(path);
	if (!d)
		return REFUSE(b, -ESRCH, "it has ended");
	while (err == -EAGAIN && b->result->nr_stops < MAX_STOPS && clock__now() < b->end_ns &&
	       (e = readdir(d))) {
		tid = atoi(e->d_name);
		if (tid > 0 && tid != b->pid)
			err = try_thread(b, tid);
	}
	closedir(d);
	return err == -EAGAIN && b->result->nr_stops < MAX_STOPS ? try_thread(b, b->pid) : err;
}

/* Whether the process sees the same file at the shim's path as we do. */
static bool sees_shim(const struct borrow *b)
{
	int fd = mapped__open_in_root(b->pid, b->shim, 0, true);
	struct stat ours, its;
	bool same;

	same = fd >= 0 && !mapped__stat(fd, &its) && !stat(b->shim, &ours) &&
	       its.st_dev == ours.st_dev && its.st_ino == ours.st_ino;
	if (fd >= 0)
		close(fd);
	return same;
}

static int search(struct borrow *b)
{
	uint64_t begin = clock__now();
	size_t i, most = 0;
	int err;

	b->any_ns = begin + NO_LIMIT_NS;
	b->end_ns = begin + SEARCH_NS;

	do {
		err = try_threads(b);
		if (err != -EAGAIN)
			return err;
		usleep(PAUSE_US);
	} while (clock__now() - begin < SEARCH_NS && b->result->nr_stops < MAX_STOPS);
	for (i = 1; i < MAX_REASONS; i++)
		if (b->reasons[i].nr > b->reasons[most].nr)
			most = i;
	return REFUSE(b, -EAGAIN, "none of its threads could be borrowed (%u stops); the usual "
		      "reason: a thread %.200s", b->result->nr_stops, b->reasons[most].nr ?
		      b->reasons[most].why : "runs, or waits elsewhere than in the C library");
}

/* Writes the return address that the bare thread needs before it has memory of its own. */
static int prepare_spare(struct borrow *b)
{
	const uint64_t spare = b->places.spare;
	uint8_t code[16], old[SPARE_BYTES], zeros[SPARE_BYTES] = { 0 };
	uint64_t end;

	if (!get(b, b->places.restorer, code, arch__restorer_bytes) ||
	    memcmp(code, arch__restorer, arch__restorer_bytes) ||
	    !get(b, b->places.end_thread, code, arch__end_thread_bytes) ||
	    memcmp(code, arch__end_thread, arch__end_thread_bytes))
		return REFUSE(b, -ENOTSUP, "its C library is not the file that is there now");
	if (!process__stack(b->pid, spare, &end) || end < spare + SPARE_BYTES ||
	    !get(b, spare, old, sizeof(old)) || memcmp(old, zeros, sizeof(old)) ||
	    !put(b, spare + SPARE_RETURN, &b->places.end_thread, sizeof(uint64_t)))
		return REFUSE(b, -ENOTSUP, "the memory behind its libraries' data is in use");
	return 0;
}

static int inject(struct borrow *b)
{
	const uint8_t zeros[SPARE_BYTES] = { 0 };
	int err = prepare_spare(b);

	if (err)
		return err;
	inject_step(STEP_PREPARED);
	err = search(b);
	if (err) {
		if (!b->is_out)
			put(b, b->places.spare, zeros, sizeof(zeros));
		return err;
	}
	err = find_starter(b);
	inject_step(STEP_FOUND);
	err = err ?: start(b);
	if (err)
		return err;
	err = wait_loaded(b);
	release(b);
	return err;
}

int borrow__run(pid_t pid, const char *shim, struct inject_result *result)
{
	static struct borrow b;
	int err;

	b = (struct borrow){ .pid = pid, .shim = shim, .result = result };
	b.mem = foreign__open_memory(pid, result->why);
	if (b.mem < 0)
		return b.mem;
	/*
	 * Whoever may open the process's memory may inject. Two injections at a time could load the
	 * shim twice.
	 */
	if (shim && flock(b.mem, LOCK_EX | LOCK_NB))
		return REFUSE(&b, -EBUSY, "another xpuload puts the shim into it");
	err = process__look(pid, &b.modules, result->why);
	if (err)
		return err;
	b.wants_fd = shim && !sees_shim(&b);
	err = libc__find(pid, &b.modules, &b.places, result->why);
	return err || !shim ? err : inject(&b);
}
