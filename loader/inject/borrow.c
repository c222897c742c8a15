// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The order of the steps here makes it harmless if this process is killed at any moment: Linux then
 * lets the thread go on with the registers that it has at that time. It always has its own
 * registers, or runs a function that returns to a frame from which it restores them.
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
#include "inject/inject_chain.h"
#include "inject/foreign.h"
#include "inject/inject_process.h"
#include "inject/seccomp.h"

#define SEARCH_NS	1500000000ull	/* how long to look for a thread */
#define PAUSE_US	5000		/* between two looks at all threads */
#define MAX_REASONS	16
#define MAX_LOOKS	100		/* most stops to look at threads */
#define STOP_NS		1000000000ull	/* how long a thread may take to stop */
#define CREATE_NS	10000000000ull	/* how long pthread_create() may take */
#define PATIENCE_NS	999999999	/* how long the borrowed thread waits for us */
#define LOAD_NS		10000000000ull	/* how long the new thread may take */
#define RED_ZONE	128
#define SCRATCH		256		/* bytes of stack for a function that makes a system call */
/*
 * Faults stay unblocked: if a blocked signal is the result of a fault, Linux resets its handler for
 * the whole process. While a thread is started, SIGSETXID is not blocked either: the C library's
 * setuid() waits for each thread to handle it, and holds the lock that starting a thread takes.
 */
#define BIT_OF(sig)	(1ull << ((sig) - 1))
#define FAULTS		(BIT_OF(SIGSEGV) | BIT_OF(SIGBUS) | BIT_OF(SIGILL) | BIT_OF(SIGFPE) | \
			 BIT_OF(SIGTRAP) | BIT_OF(SIGSYS))
#define SETXID		33
#define ROOM		(FRAME_BYTES + SCRATCH + 4096)
#define CODE_BYTES	4096
#define STACK_BYTES	65536		/* the borrowed thread's stack in the new memory */
#define ALL_BYTES	(CODE_BYTES + STACK_BYTES + FRAME_BYTES + 12288)

struct borrow {
	pid_t pid, tid;
	int mem;
	struct modules modules;
	struct chain *chain;
	uint64_t fn[NR_FUNCTIONS], restorer;
	const char *shim;
	bool wants_fd;			/* the process does not see the shim's file */
	struct inject_result *result;
	uint64_t any_ns;		/* until then, threads with a time limit are left out */
	uint64_t end_ns;		/* of the search */
	struct {
		char why[INJECT_WHY];
		uint32_t nr;
	} reasons[MAX_REASONS];		/* why threads were not borrowed */

	/* The thread, as it was: */
	struct arch_state state;
	uint64_t mask;
	uint64_t frame_at;		/* of the frame on its own stack */
	uint64_t saved_at;
	uint8_t saved[FRAME_BYTES + SCRATCH + RED_ZONE];
	size_t saved_bytes;

	uint64_t start;			/* the new memory in the process; 0: none */
	uint64_t data;			/* of struct inject_data there */
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
	STOP_TRAP,		/* as we asked */
	STOP_CALL,		/* at a system call */
	STOP_SIGNAL,		/* a signal is about to be delivered */
	STOP_GROUP,		/* SIGSTOP and the like */
	STOP_GONE,
	STOP_NONE,		/* not in time */
};

static enum stop wait_stop(const struct borrow *b, uint64_t limit_ns, int *sig)
{
	uint64_t begin = clock__now();
	int status, n = 0;
	pid_t ret;

	*sig = 0;
	for (;;) {
		ret = waitpid(b->tid, &status, __WALL | WNOHANG);
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
	if (WSTOPSIG(status) == (SIGTRAP | 0x80))
		return STOP_CALL;
	*sig = WSTOPSIG(status);
	return STOP_SIGNAL;
}

static void let_go(const struct borrow *b, int sig)
{
	ptrace(PTRACE_DETACH, b->tid, 0, sig);
}

/* Stops the thread. Return: 0, -EAGAIN if another moment may be better, or a negative errno. */
static int stop(struct borrow *b)
{
	int sig;

	/* Linux checks here whether this process may trace the thread. */
	if (ptrace(PTRACE_SEIZE, b->tid, 0, PTRACE_O_TRACESYSGOOD)) {
		if (errno == ESRCH)
			return REFUSE(b, -EAGAIN, "has ended");
		return REFUSE(b, -EPERM, "Linux does not let xpuload trace it, or somebody else "
			      "traces it");
	}
	if (ptrace(PTRACE_INTERRUPT, b->tid, 0, 0))
		return REFUSE(b, -EAGAIN, "has ended");
	b->result->nr_stops++;
	switch (wait_stop(b, STOP_NS, &sig)) {
	case STOP_TRAP:
		return 0;
	case STOP_SIGNAL:
		let_go(b, sig);
		return REFUSE(b, -EAGAIN, "got a signal");
	case STOP_GROUP:
		let_go(b, 0);
		return REFUSE(b, -EBUSY, "it is stopped by a signal: continue it (kill -CONT)");
	case STOP_NONE:
		/* A thread can only be let go when it is stopped, or by our end. */
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

/* Times when a thread was about to be stopped. */
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

struct look {
	struct user_regs_struct regs;
	uint64_t stack_start, stack_end;
	uint32_t bytes;			/* of the stack that decide */
};

/* A system call that a thread is in, as Linux shows it without stopping the thread. */
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

/* Whether the thread waits in a call of the C library in which it may be borrowed. */
static bool waits(struct borrow *b)
{
	const struct module *m;
	struct system_call c;

	if (!system_call__read(&c, b->pid, b->tid) || !arch__may_borrow(c.nr, c.args))
		return false;
	m = modules__find(&b->modules, c.pc);
	return m && m->kind == MODULE_LIBC;
}

/*
 * Whether threads wait for locks of the C library or of the loader. The borrowed thread would wait
 * with them, when it starts a thread.
 */
static bool is_contended(const struct borrow *b)
{
	struct system_call c;
	struct dirent *e;
	char path[64];
	bool found = false;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", b->pid);
	d = opendir(path);
	while (d && !found && (e = readdir(d)))
		found = system_call__read(&c, b->pid, atoi(e->d_name)) && c.nr == SYS_futex &&
			modules__is_data(&b->modules, c.args[0]);
	if (d)
		closedir(d);
	return found;
}

/* Stops the thread for a moment to copy its registers and its stack. */
static int look(struct borrow *b, struct look *l)
{
	struct chain_shared *s = chain__shared(b->chain);
	struct user_regs_struct as_it_was;
	struct stopwatch watch = start_watch(b);
	int err = stop(b), seccomp;
	ssize_t n;

	if (err)
		return err;
	err = arch__get(b->tid, &l->regs);
	as_it_was = l->regs;
	if (!err && !arch__waits(&l->regs))
		err = REFUSE(b, -EAGAIN, "has just left its system call");
	if (!err && arch__has_limit(&l->regs) && clock__now() < b->any_ns)
		err = REFUSE(b, -EAGAIN, "waits with a time limit");
	seccomp = err ? 0 : process__seccomp(b->pid, b->tid);
	if (seccomp == 2)
		err = geteuid() ? REFUSE(b, -EAGAIN, "has seccomp filters, which Linux shows only "
					 "to root") : seccomp__check(b->tid, b->result->why);
	else if (seccomp)
		err = REFUSE(b, -EAGAIN, "may make nearly no system calls (seccomp)");
	if (!err) {
		s->stack_at = arch__sp(&l->regs);
		n = pread(b->mem, s->stack, CHAIN_STACK, s->stack_at);
		s->stack_bytes = n > 0 ? n : 0;
	}
	if (memcmp(&as_it_was, &l->regs, sizeof(as_it_was)))
		arch__set(b->tid, &l->regs);
	let_go(b, 0);
	count_stop(b, &watch);
	if (err)
		return err;
	l->stack_start = process__stack(b->pid, s->stack_at, &l->stack_end);
	if (!l->stack_start || s->stack_at - l->stack_start < ROOM + RED_ZONE)
		return REFUSE(b, -EAGAIN, "has too little stack left");
	arch__unwind_regs(&l->regs, s->regs);
	return chain__check(b->chain, &l->bytes, b->result->why);
}

/* ---- borrowing ------------------------------------------------------------------------------- */

/* Whether the stopped thread is where it was when it was looked at. */
static bool is_where_it_was(struct borrow *b, const struct look *l)
{
	const struct chain_shared *s = chain__shared(b->chain);
	static uint8_t now[CHAIN_STACK];

	return arch__waits(&b->state.regs) && arch__same_call(&l->regs, &b->state.regs) &&
	       get(b, arch__sp(&b->state.regs), now, l->bytes) && !memcmp(now, s->stack, l->bytes);
}

/*
 * Gives the thread, which is stopped, its registers and its stack back, and lets it go. @at_call:
 * it is stopped at a system call, where Linux would not begin the interrupted call again.
 */
static void give_back(struct borrow *b, bool at_call, int sig)
{
	if (at_call && (ptrace(PTRACE_INTERRUPT, b->tid, 0, 0) ||
			ptrace(PTRACE_CONT, b->tid, 0, 0) ||
			wait_stop(b, STOP_NS, &sig) >= STOP_GONE))
		return;
	ptrace(PTRACE_SETSIGMASK, b->tid, sizeof(b->mask), &b->mask);
	arch__set_all(b->tid, &b->state);
	put(b, b->saved_at, b->saved, b->saved_bytes);
	let_go(b, sig);
}

/* Whether the signal is the result of a fault of the code that the thread runs for us. */
static bool is_fault(const struct borrow *b, int sig)
{
	siginfo_t info;

	return sig > 0 && sig < SETXID && FAULTS & BIT_OF(sig) &&
	       !ptrace(PTRACE_GETSIGINFO, b->tid, 0, &info) && info.si_code > 0;
}

/*
 * Makes the stopped thread call a function of the C library that makes one system call, and stops
 * it again when the call is done. Return: 0 and *@value, or a negative errno after the thread was
 * let go.
 */
static int call(struct borrow *b, enum inject_function fn, const uint64_t *args, size_t nr,
		uint64_t *value)
{
	const uint64_t all = ~FAULTS;
	struct user_regs_struct regs = b->state.regs;
	enum stop stop = STOP_CALL;
	bool fault;
	int sig, i;

	arch__call(&regs, b->fn[fn], args, nr, b->frame_at);
	if (arch__set(b->tid, &regs) ||
	    ptrace(PTRACE_SETSIGMASK, b->tid, sizeof(all), &all)) {
		give_back(b, false, 0);
		return REFUSE(b, -EAGAIN, "cannot be given registers");
	}
	for (i = 0; i < 2 && stop == STOP_CALL; i++) {
		ptrace(PTRACE_SYSCALL, b->tid, 0, 0);
		stop = wait_stop(b, STOP_NS, &sig);
	}
	if (stop == STOP_CALL && !arch__get(b->tid, &regs)) {
		*value = arch__result(&regs);
		return 0;
	}
	if (stop == STOP_SIGNAL) {
		fault = is_fault(b, sig);
		give_back(b, false, fault ? 0 : sig);
		return fault ? REFUSE(b, -EFAULT, "calling its C library causes a fault") :
			       REFUSE(b, -EAGAIN, "got a signal");
	}
	if (stop == STOP_TRAP || stop == STOP_GROUP) {
		give_back(b, false, 0);
		return REFUSE(b, -EAGAIN, "got a signal");
	}
	return REFUSE(b, -EIO, stop == STOP_NONE ? "a thread does not stop" :
		      "a thread has ended while it was borrowed");
}

static bool is_error(uint64_t value)
{
	return value > -4096ull;
}

/* Makes memory in the process for the code and its data. Return: like call(). */
static int make_memory(struct borrow *b)
{
	const uint64_t map[6] = { 0, ALL_BYTES, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1ull, 0 };
	uint64_t value;
	int err = call(b, FN_mmap, map, 6, &value);

	if (err)
		return err;
	if (is_error(value) || modules__find(&b->modules, value)) {
		give_back(b, true, 0);
		return REFUSE(b, -ENOMEM, "it cannot map memory: %s", strerror(-(int64_t)value));
	}
	b->start = value;
	return 0;
}

/* Gives the memory back, and the thread its registers. */
static void undo(struct borrow *b)
{
	const uint64_t args[2] = { b->start, ALL_BYTES };
	uint64_t value;

	if (!call(b, FN_munmap, args, 2, &value))
		give_back(b, true, 0);
	b->start = 0;
}

static int fill_memory(struct borrow *b)
{
	const uint64_t protect[3] = { b->start, CODE_BYTES, PROT_READ | PROT_EXEC };
	uint64_t value, frame_at;
	static struct inject_data d;
	static uint8_t frame[FRAME_BYTES];
	size_t bytes;
	int err;

	b->data = b->start + CODE_BYTES;
	frame_at = (b->data + sizeof(d) + STACK_BYTES + 63) & ~63ull;
	d = (struct inject_data){
		.frame = frame_at, .fd = -1, .wants_fd = b->wants_fd, .start = b->start,
		.bytes = ALL_BYTES, .patience = { 0, PATIENCE_NS },
		.init = "InitializeInjection", .file = "/libxpushim.so",
	};
	memcpy(d.fn, b->fn, sizeof(d.fn));
	snprintf(d.path, sizeof(d.path), "%s", b->shim);
	bytes = arch__frame(frame, &b->state, b->mask, frame_at, b->restorer);
	if (!put(b, b->start, arch__code, arch__code_end - arch__code) ||
	    !put(b, b->data, &d, sizeof(d)) || !put(b, frame_at, frame, bytes)) {
		undo(b);
		return REFUSE(b, -EFAULT, "its new memory cannot be written");
	}
	err = call(b, FN_mprotect, protect, 3, &value);
	if (err)
		return err;
	if (is_error(value)) {
		undo(b);
		return REFUSE(b, -EACCES, "it may not make memory executable: %s",
			      strerror(-(int64_t)value));
	}
	return 0;
}

/*
 * Lets the thread start the new thread, and gives it its registers back. Return: 0, or a negative
 * errno with the process as it was.
 */
static int start_thread(struct borrow *b)
{
	struct user_regs_struct regs = b->state.regs;
	uint64_t begin = clock__now(), error;
	enum stop stop = STOP_NONE;
	const uint64_t mask = ~(FAULTS | BIT_OF(SETXID));
	int sig = 0, later = 0;

	ptrace(PTRACE_SETSIGMASK, b->tid, sizeof(mask), &mask);
	arch__enter(&regs, b->start, b->data, b->data + ((sizeof(struct inject_data) +
							  STACK_BYTES) & ~63ull));
	if (arch__set(b->tid, &regs)) {
		undo(b);
		return REFUSE(b, -EAGAIN, "cannot be given registers");
	}
	ptrace(PTRACE_CONT, b->tid, 0, 0);
	while (!GET(b, is_done)) {
		stop = wait_stop(b, 20000, &sig);
		if (stop == STOP_GONE)
			return REFUSE(b, -ESRCH, "it has ended");
		if (stop == STOP_SIGNAL && is_fault(b, sig)) {
			give_back(b, false, 0);
			return REFUSE(b, -EIO, "starting a thread failed with signal %d",
				      sig);
		}
		/* SIGSTOP cannot be blocked. */
		later = stop == STOP_SIGNAL && sig != SETXID ? sig : later;
		if (stop != STOP_NONE)
			ptrace(PTRACE_CONT, b->tid, 0, sig == SETXID ? sig : 0);
		if (clock__now() - begin > CREATE_NS)
			return REFUSE(b, -EIO, "starting a thread in it takes too long");
	}
	ptrace(PTRACE_INTERRUPT, b->tid, 0, 0);
	stop = wait_stop(b, STOP_NS, &sig);
	if (stop >= STOP_GONE)
		return REFUSE(b, -EIO, "the borrowed thread does not come back");
	if (stop == STOP_SIGNAL && !is_fault(b, sig))
		later = sig;
	arch__get(b->tid, &regs);
	error = GET(b, error);
	/* In the restorer, it still needs the frame in the new memory. */
	if (arch__ip(&regs) - b->start >= CODE_BYTES &&
	    arch__ip(&regs) - b->restorer >= arch__restorer_bytes) {
		let_go(b, later);	/* we were late: it has its registers already */
		return error ? REFUSE(b, -EIO, "it cannot start a thread: %s", strerror(error)) : 0;
	}
	if (error) {
		undo(b);
		return REFUSE(b, -EAGAIN, "cannot start another thread: %s", strerror(error));
	}
	give_back(b, false, later);
	return 0;
}

/* Borrows the thread if it is still where it was. Return: 0 with the new thread started. */
static int borrow(struct borrow *b, const struct look *l)
{
	static uint8_t frame[FRAME_BYTES];
	struct stopwatch watch = start_watch(b);
	uint64_t sp;
	size_t bytes;
	int err = stop(b);

	if (err)
		return err;
	if (arch__get_all(b->tid, &b->state) ||
	    ptrace(PTRACE_GETSIGMASK, b->tid, sizeof(b->mask), &b->mask) ||
	    !is_where_it_was(b, l)) {
		if (arch__waits(&b->state.regs))
			arch__set(b->tid, &b->state.regs);
		let_go(b, 0);
		count_stop(b, &watch);
		return REFUSE(b, -EAGAIN, "has just left its system call");
	}
	sp = arch__sp(&b->state.regs);
	/* Take no more of the stack than a signal would: it may be small, with other data below. */
	bytes = arch__frame(frame, &b->state, b->mask, 0, b->restorer);
	b->frame_at = (sp - RED_ZONE - bytes) & ~63ull;
	b->saved_at = b->frame_at - SCRATCH;
	b->saved_bytes = sp - RED_ZONE - b->saved_at;
	bytes = arch__frame(frame, &b->state, b->mask, b->frame_at, b->restorer);
	if (!get(b, b->saved_at, b->saved, b->saved_bytes) ||
	    !put(b, b->frame_at, frame, bytes)) {
		let_go(b, 0);
		return REFUSE(b, -EAGAIN, "has too little stack left");
	}
	err = make_memory(b) ?: fill_memory(b) ?: start_thread(b);
	count_stop(b, &watch);
	return err;
}

/* ---- the new thread -------------------------------------------------------------------------- */

static void write_file(struct borrow *b)
{
	char path[64], bytes[65536];
	int number = GET(b, fd), from, to;
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
	 * Half of a file would make dlopen() fault. "." makes a name that the program does not use
	 * for another file: the loader knows files by their names.
	 */
	snprintf(path, sizeof(path), "/proc/self/./fd/%d", n ? -1 : number);
	if (put(b, b->data + offsetof(struct inject_data, path), path, strlen(path) + 1))
		PUT(b, state, NEW_FILE_WRITTEN);
}

/* Waits until the new thread has loaded the shim. Return: 0 or a negative errno. */
static int wait_loaded(struct borrow *b)
{
	uint64_t begin = clock__now(), state, why;
	char text[200] = "";
	bool written = false;

	do {
		state = GET(b, state);
		if (state == NEW_HAS_FILE && !written)
			write_file(b);
		written |= state == NEW_HAS_FILE;
		if (state == NEW_LOADED)
			return 0;
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

/* Lets the new thread end, and waits until it has given the memory back. */
static void release(struct borrow *b)
{
	uint64_t begin = clock__now(), start;

	PUT(b, is_released, 1);
	while (get(b, b->start, &start, sizeof(start)) && clock__now() - begin < STOP_NS)
		usleep(200);
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
	struct look l;
	int err;

	if (!waits(b))
		return -EAGAIN;
	if (is_contended(b))
		return REFUSE(b, -EAGAIN, "would wait for locks of the C library, as others do");
	err = look(b, &l);
	if (!err)
		err = borrow(b, &l);
	return err;
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

/* Tries all threads, the first thread last, since it is likely to do the most important work. */
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
	while (err == -EAGAIN && b->result->nr_stops < MAX_LOOKS && clock__now() < b->end_ns &&
	       (e = readdir(d))) {
		tid = atoi(e->d_name);
		if (tid > 0 && tid != b->pid)
			err = try_thread(b, tid);
	}
	closedir(d);
	return err == -EAGAIN && b->result->nr_stops < MAX_LOOKS ? try_thread(b, b->pid) : err;
}

/* Whether the process sees, at the shim's path, the file that we see there. */
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

	b->any_ns = begin + SEARCH_NS / 3;
	b->end_ns = begin + SEARCH_NS;

	do {
		err = try_threads(b);
		if (err != -EAGAIN)
			return err;
		usleep(PAUSE_US);
	} while (clock__now() - begin < SEARCH_NS && b->result->nr_stops < MAX_LOOKS);
	for (i = 1; i < MAX_REASONS; i++)
		if (b->reasons[i].nr > b->reasons[most].nr)
			most = i;
	return REFUSE(b, -EAGAIN, "none of its threads could be borrowed (%u stops); the usual "
		      "reason: a thread %.200s", b->result->nr_stops, b->reasons[most].nr ?
		      b->reasons[most].why : "runs, or waits elsewhere than in the C library");
}

int borrow__run(pid_t pid, const char *shim, struct inject_result *result)
{
	static struct borrow b;
	uint8_t code[16];
	int err;

	b = (struct borrow){ .pid = pid, .shim = shim, .result = result };
	b.mem = foreign__open_memory(pid, result->why);
	if (b.mem < 0)
		return b.mem;
	/* Whoever may open this file may inject. Two at a time could load two copies. */
	if (flock(b.mem, LOCK_EX | LOCK_NB))
		return REFUSE(&b, -EBUSY, "another xpuload puts the shim into it");
	err = process__look(pid, &b.modules, result->why);
	if (err)
		return err;
	b.chain = chain__new(pid, &b.modules);
	if (!b.chain)
		return REFUSE(&b, -ENOMEM, "cannot start a process that reads its files");
	b.wants_fd = !sees_shim(&b);
	err = chain__find(b.chain, b.fn, &b.restorer, result->why);
	if (!err && (!get(&b, b.restorer, code, arch__restorer_bytes) ||
		     memcmp(code, arch__restorer, arch__restorer_bytes)))
		err = REFUSE(&b, -ENOTSUP, "its C library is not the file that is there now");
	if (!err)
		err = search(&b);
	if (!err) {
		err = wait_loaded(&b);
		release(&b);
	}
	chain__free(b.chain);
	return err;
}
