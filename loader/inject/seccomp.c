// SPDX-License-Identifier: GPL-3.0-or-later
#include "inject/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "base/arch.h"
#include "inject/result.h"

#define MAX_FILTERS	64

/* Not in the headers of the supported distributions. */
#ifndef SECCOMP_RET_USER_NOTIF
#define SECCOMP_RET_USER_NOTIF	0x7fc00000U
#endif

#define THREAD_FLAGS	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |	\
			 CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |		\
			 CLONE_CHILD_CLEARTID)

#define BARE_FLAGS	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |	\
			 CLONE_SYSVSEM | CLONE_PTRACE)

/* System calls that loading the shim makes, with the arguments that filters check. */
static const struct {
	const char *name;
	int nr;
	uint64_t args[6];
} calls[] = {
#define CALL(name, ...)	{ #name, SYS_##name, { __VA_ARGS__ } }
	CALL(mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1ull, 0),
	CALL(mmap, 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_DENYWRITE, 3, 0),
	CALL(mprotect, 4096, 4096, PROT_READ | PROT_EXEC),
	CALL(mprotect, 4096, 4096, PROT_READ), CALL(munmap, 4096, 4096),
	CALL(clone, BARE_FLAGS), CALL(set_tid_address), CALL(clone, THREAD_FLAGS),
	CALL(clone3, 0, 88), CALL(ppoll), CALL(futex),
	CALL(rt_sigprocmask), CALL(rt_sigreturn), CALL(set_robust_list), CALL(madvise),
	CALL(openat, (uint32_t)AT_FDCWD, 0, O_RDONLY | O_CLOEXEC), CALL(read), CALL(pread64),
	CALL(fstat), CALL(newfstatat), CALL(close), CALL(clock_nanosleep), CALL(memfd_create),
	CALL(exit), CALL(brk), CALL(getrandom), CALL(sched_getaffinity), CALL(mremap),
	CALL(sched_yield), CALL(rt_sigaction), CALL(getpid), CALL(gettid), CALL(prctl),
	CALL(readlinkat),
#ifdef SYS_readlink
	CALL(readlink),
#endif
#ifdef SYS_rseq
	CALL(rseq),
#endif
};

static uint32_t operate(uint32_t a, uint32_t b, uint16_t op)
{
	switch (op) {
	case BPF_ADD: return a + b;
	case BPF_SUB: return a - b;
	case BPF_MUL: return a * b;
	case BPF_DIV: return b ? a / b : 0;
	case BPF_OR: return a | b;
	case BPF_AND: return a & b;
	case BPF_LSH: return b < 32 ? a << b : 0;
	case BPF_RSH: return b < 32 ? a >> b : 0;
	case BPF_NEG: return -a;
	case BPF_XOR: return a ^ b;
	}
	return 0;
}

static bool jumps(uint32_t a, uint32_t b, uint16_t op)
{
	switch (op) {
	case BPF_JEQ: return a == b;
	case BPF_JGT: return a > b;
	case BPF_JGE: return a >= b;
	case BPF_JSET: return a & b;
	}
	return true;				/* BPF_JA */
}

uint32_t seccomp__run(const struct sock_filter *filter, size_t nr, const struct seccomp_data *d)
{
	uint32_t a = 0, x = 0, mem[BPF_MEMWORDS] = { 0 }, value;
	const struct sock_filter *f;
	size_t i;

	for (i = 0; i < nr; i++) {
		f = &filter[i];
		value = BPF_SRC(f->code) == BPF_X ? x : f->k;
		switch (BPF_CLASS(f->code)) {
		case BPF_LD:
		case BPF_LDX:
			if (BPF_MODE(f->code) == BPF_ABS && f->k <= sizeof(*d) - sizeof(value))
				memcpy(&value, (const char *)d + f->k, sizeof(value));
			else if (BPF_MODE(f->code) == BPF_MEM && f->k < BPF_MEMWORDS)
				value = mem[f->k];
			else if (BPF_MODE(f->code) == BPF_LEN)
				value = sizeof(*d);
			else if (BPF_MODE(f->code) != BPF_IMM)
				return SECCOMP_RET_KILL_PROCESS;
			else
				value = f->k;
			*(BPF_CLASS(f->code) == BPF_LD ? &a : &x) = value;
			break;
		case BPF_ST:
		case BPF_STX:
			if (f->k >= BPF_MEMWORDS)
				return SECCOMP_RET_KILL_PROCESS;
			mem[f->k] = BPF_CLASS(f->code) == BPF_ST ? a : x;
			break;
		case BPF_ALU:
			a = operate(a, value, BPF_OP(f->code));
			break;
		case BPF_JMP:
			if (BPF_OP(f->code) == BPF_JA)
				i += f->k;
			else
				i += jumps(a, value, BPF_OP(f->code)) ? f->jt : f->jf;
			break;
		case BPF_RET:
			return BPF_RVAL(f->code) == BPF_A ? a : f->k;
		case BPF_MISC:
			if (BPF_MISCOP(f->code) == BPF_TAX)
				x = a;
			else
				a = x;
			break;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

static bool is_harmless(uint32_t action)
{
	switch (action & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
	case SECCOMP_RET_LOG:
	case SECCOMP_RET_ERRNO:
		return true;
	}
	return false;
}

int seccomp__check(pid_t tid, char *why)
{
	static struct sock_filter filter[BPF_MAXINSNS];
	struct seccomp_data d = { .arch = ARCH_AUDIT };
	size_t i, k;
	long nr;

	for (i = 0; i < MAX_FILTERS; i++) {
		nr = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, i, filter);
		if (nr < 0 && errno == ENOENT && i)
			return 0;
		if (nr < 0) {
			snprintf(why, INJECT_WHY, "seccomp filters its system calls, and Linux "
				 "does not show the filters: %s", strerror(errno));
			return -EPERM;
		}
		for (k = 0; k < sizeof(calls) / sizeof(calls[0]); k++) {
			d.nr = calls[k].nr;
			memcpy(d.args, calls[k].args, sizeof(d.args));
			if (is_harmless(seccomp__run(filter, nr, &d)))
				continue;
			snprintf(why, INJECT_WHY, "its seccomp filter forbids the system call %s, "
				 "and might end it", calls[k].name);
			return -EPERM;
		}
	}
	snprintf(why, INJECT_WHY, "it has more than %d seccomp filters", MAX_FILTERS);
	return -EPERM;
}
