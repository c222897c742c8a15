/* SPDX-License-Identifier: MIT */
/*
 * xpu_arch.h - everything in the BPF programs that depends on the processor
 *
 * Another processor needs a part like the two below, with the same definitions. Register parameters
 * are user-space registers, from user_regs().
 */
#ifndef XPU_ARCH_H
#define XPU_ARCH_H

/* XPU_OFF_* plus 1. 0 means that the system call does not determine the kind. */
#define LOCK	(1 + XPU_OFF_LOCK)
#define SLEEP	(1 + XPU_OFF_SLEEP)
#define POLL	(1 + XPU_OFF_POLL)
#define IO	(1 + XPU_OFF_IO)
#define CHILD	(1 + XPU_OFF_CHILD)

#if defined(__TARGET_ARCH_x86)

/* User space ends at the address with only this bit set. */
#define USER_BITS	47

/* Return: @ra unchanged. On other processors, @ra may have a signature that must be removed. */
static __always_inline __u64 arch_strip(__u64 ra)
{
	return ra;
}

/* Whether user-space registers are from a 64-bit program. */
#define arch_is_64bit(regs)	(BPF_CORE_READ(regs, cs) != 0x23)

/*
 * Whether a perf event interrupted user space. A BPF context must be read in whole words, but cs
 * has 8 bytes in some kernels and 2 bytes in others, and libbpf would adapt the load to the size.
 * Therefore, this reads cs by its number in struct pt_regs, with which the context begins. This
 * number is the same in all kernels.
 */
#define arch_in_user(ctx)	(((volatile const __u64 *)(ctx))[17] & 3)

#define arch_syscall(regs)	BPF_CORE_READ(regs, orig_ax)
#define arch_sp(regs)		BPF_CORE_READ(regs, sp)
#define arch_ip(regs)		BPF_CORE_READ(regs, ip)

/* The address of the data that the C library keeps for a thread, above its stack. */
#define arch_tls(task)		BPF_CORE_READ(task, thread.fsbase)

/* Whether pthread_self() is @self in the thread with @tls. */
static __always_inline bool arch_is_self(__u64 tls, __u64 self)
{
	return tls == self;
}

/*
 * Copies registers, in the order of enum xpu_reg. Return: 0, or -1 if this is not a 64-bit program.
 */
static __always_inline int arch_copy_regs(const struct pt_regs *from, __u64 *r)
{
	struct pt_regs regs = {};

	if (bpf_probe_read_kernel(&regs, sizeof(regs), from) || regs.cs == 0x23)
		return -1;
	r[XPU_REG_AX] = regs.ax;
	r[XPU_REG_DX] = regs.dx;
	r[XPU_REG_CX] = regs.cx;
	r[XPU_REG_BX] = regs.bx;
	r[XPU_REG_SI] = regs.si;
	r[XPU_REG_DI] = regs.di;
	r[XPU_REG_BP] = regs.bp;
	r[XPU_REG_SP] = regs.sp;
	r[XPU_REG_R8] = regs.r8;
	r[XPU_REG_R9] = regs.r9;
	r[XPU_REG_R10] = regs.r10;
	r[XPU_REG_R11] = regs.r11;
	r[XPU_REG_R12] = regs.r12;
	r[XPU_REG_R13] = regs.r13;
	r[XPU_REG_R14] = regs.r14;
	r[XPU_REG_R15] = regs.r15;
	r[XPU_REG_IP] = regs.ip;
	return 0;
}

/* Whether the instruction before @ret is a call. */
static __always_inline bool follows_call(__u64 ret)
{
	__u8 b[8];

	if (bpf_probe_read_user(b, sizeof(b), (void *)ret - sizeof(b)))
		return false;
	/* call rel32, or one of the encodings of call *r/m, 2 to 7 bytes long */
	return b[3] == 0xe8 ||
	       (b[6] == 0xff && (b[7] & 0x38) == 0x10) || (b[5] == 0xff && (b[6] & 0x38) == 0x10) ||
	       (b[4] == 0xff && (b[5] & 0x38) == 0x10) || (b[2] == 0xff && (b[3] & 0x38) == 0x10) ||
	       (b[1] == 0xff && (b[2] & 0x38) == 0x10);
}

/* The reason for a wait in each system call. */
static const __u8 kind_of_call[512] = {
	[202] = LOCK,	/* futex */
	[449] = LOCK,	/* futex_waitv */
	[454] = LOCK,	/* futex_wake, futex_wait, futex_requeue */
	[455] = LOCK,
	[456] = LOCK,
	[73] = LOCK,	/* flock */
	[64] = LOCK,	/* semget, semop, ... */
	[65] = LOCK,
	[220] = LOCK,	/* semtimedop */
	[35] = SLEEP,	/* nanosleep */
	[230] = SLEEP,	/* clock_nanosleep */
	[34] = SLEEP,	/* pause */
	[24] = SLEEP,	/* sched_yield */
	[7] = POLL,	/* poll */
	[271] = POLL,	/* ppoll */
	[23] = POLL,	/* select */
	[270] = POLL,	/* pselect6 */
	[232] = POLL,	/* epoll_wait */
	[281] = POLL,	/* epoll_pwait */
	[441] = POLL,	/* epoll_pwait2 */
	[128] = POLL,	/* rt_sigtimedwait */
	[0] = IO,	/* read, write */
	[1] = IO,
	[17] = IO,	/* pread64, pwrite64, readv, writev */
	[18] = IO,
	[19] = IO,
	[20] = IO,
	[295] = IO,	/* preadv, pwritev, preadv2, pwritev2 */
	[296] = IO,
	[327] = IO,
	[328] = IO,
	[40] = IO,	/* sendfile */
	[42] = IO,	/* connect, accept, sendto, recvfrom, sendmsg, recvmsg */
	[43] = IO,
	[44] = IO,
	[45] = IO,
	[46] = IO,
	[47] = IO,
	[288] = IO,	/* accept4 */
	[299] = IO,	/* recvmmsg, sendmmsg */
	[307] = IO,
	[74] = IO,	/* fsync, fdatasync */
	[75] = IO,
	[26] = IO,	/* msync */
	[162] = IO,	/* sync, syncfs, sync_file_range */
	[306] = IO,
	[277] = IO,
	[275] = IO,	/* splice, tee */
	[276] = IO,
	[208] = IO,	/* io_getevents */
	[333] = IO,	/* io_pgetevents */
	[426] = IO,	/* io_uring_enter */
	[2] = IO,	/* open, openat */
	[257] = IO,
	[3] = IO,	/* close */
	[61] = CHILD,	/* wait4, waitid */
	[247] = CHILD,
};

#elif defined(__TARGET_ARCH_arm64)

#define USER_BITS	48

static __always_inline __u64 arch_strip(__u64 ra)
{
	return ra & ((1ull << USER_BITS) - 1);
}

#define arch_is_64bit(regs)	(!(BPF_CORE_READ(regs, pstate) & 0x10))
#define arch_in_user(ctx)	(!((ctx)->regs.pstate & 0xf))
#define arch_syscall(regs)	((__s64)BPF_CORE_READ(regs, syscallno))
#define arch_sp(regs)		BPF_CORE_READ(regs, sp)
#define arch_ip(regs)		BPF_CORE_READ(regs, pc)
#define arch_tls(task)		BPF_CORE_READ(task, thread.uw.tp_value)

/*
 * Whether @self is the address of the struct pthread that the C library keeps for the thread. @tls
 * points to the end of this struct, which has about 2000 bytes.
 */
static __always_inline bool arch_is_self(__u64 tls, __u64 self)
{
	return tls - self < 4096;
}

static __always_inline int arch_copy_regs(const struct pt_regs *from, __u64 *r)
{
	const struct user_pt_regs *u = (const void *)from;
	__u64 pstate;

	/* Read in pieces: all registers together do not fit on the stack of a BPF program. */
	if (bpf_probe_read_kernel(&pstate, sizeof(pstate), &u->pstate) || pstate & 0x10)
		return -1;
	bpf_probe_read_kernel(r + XPU_REG_X19, 6 * sizeof(*r), &u->regs[19]);
	bpf_probe_read_kernel(r + XPU_REG_X25, 4 * sizeof(*r), &u->regs[25]);
	bpf_probe_read_kernel(r + XPU_REG_X15, 3 * sizeof(*r), &u->regs[15]);
	bpf_probe_read_kernel(r + XPU_REG_BP, sizeof(*r), &u->regs[29]);
	bpf_probe_read_kernel(r + XPU_REG_LR, sizeof(*r), &u->regs[30]);
	bpf_probe_read_kernel(r + XPU_REG_SP, sizeof(*r), &u->sp);
	bpf_probe_read_kernel(r + XPU_REG_IP, sizeof(*r), &u->pc);
	return 0;
}

static __always_inline bool follows_call(__u64 ret)
{
	__u32 insn;

	if (ret & 3 || bpf_probe_read_user(&insn, sizeof(insn), (void *)ret - sizeof(insn)))
		return false;
	/* bl, blr, or a form of blr that checks the address's signature */
	return (insn & 0xfc000000) == 0x94000000 || (insn & 0xfefff000) == 0xd63f0000;
}

static const __u8 kind_of_call[512] = {
	[98] = LOCK,	/* futex */
	[449] = LOCK,	/* futex_waitv */
	[454] = LOCK,	/* futex_wake, futex_wait, futex_requeue */
	[455] = LOCK,
	[456] = LOCK,
	[32] = LOCK,	/* flock */
	[190] = LOCK,	/* semget, semtimedop, semop */
	[192] = LOCK,
	[193] = LOCK,
	[101] = SLEEP,	/* nanosleep */
	[115] = SLEEP,	/* clock_nanosleep */
	[124] = SLEEP,	/* sched_yield */
	[73] = POLL,	/* ppoll */
	[72] = POLL,	/* pselect6 */
	[22] = POLL,	/* epoll_pwait */
	[441] = POLL,	/* epoll_pwait2 */
	[137] = POLL,	/* rt_sigtimedwait */
	[63] = IO,	/* read, write, readv, writev, pread64, pwrite64, preadv, pwritev */
	[64] = IO,
	[65] = IO,
	[66] = IO,
	[67] = IO,
	[68] = IO,
	[69] = IO,
	[70] = IO,
	[286] = IO,	/* preadv2, pwritev2 */
	[287] = IO,
	[71] = IO,	/* sendfile */
	[202] = IO,	/* accept, connect, sendto, recvfrom, sendmsg, recvmsg */
	[203] = IO,
	[206] = IO,
	[207] = IO,
	[211] = IO,
	[212] = IO,
	[242] = IO,	/* accept4 */
	[243] = IO,	/* recvmmsg, sendmmsg */
	[269] = IO,
	[82] = IO,	/* fsync, fdatasync */
	[83] = IO,
	[227] = IO,	/* msync */
	[81] = IO,	/* sync, syncfs, sync_file_range */
	[267] = IO,
	[84] = IO,
	[76] = IO,	/* splice, tee */
	[77] = IO,
	[4] = IO,	/* io_getevents */
	[292] = IO,	/* io_pgetevents */
	[426] = IO,	/* io_uring_enter */
	[56] = IO,	/* openat */
	[57] = IO,	/* close */
	[260] = CHILD,	/* wait4, waitid */
	[95] = CHILD,
};

#else
# error "the BPF programs are for x86-64 and aarch64 only"
#endif

#undef LOCK
#undef SLEEP
#undef POLL
#undef IO
#undef CHILD

#endif /* XPU_ARCH_H */
