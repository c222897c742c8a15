// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * x86-64. Sources: Linux, arch/x86/include/uapi/asm/sigcontext.h (frames of signals) and
 * Documentation/arch/x86/xstate.rst; System V ABI, 3.2 (calls) and 3.4.1 (system calls).
 */
#ifdef __x86_64__
#include "inject/inject_arch.h"

#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

/* Results of system calls that Linux will restart; not in the headers of the C library. */
#define ERESTARTSYS		512
#define ERESTARTNOINTR		513
#define ERESTARTNOHAND		514
#define ERESTART_RESTARTBLOCK	516

#define SYSCALL_BYTES		2	/* bytes of the syscall instruction */

int arch__get(pid_t tid, struct user_regs_struct *regs)
{
	return ptrace(PTRACE_GETREGS, tid, 0, regs) ? -errno : 0;
}

int arch__set(pid_t tid, const struct user_regs_struct *regs)
{
	return ptrace(PTRACE_SETREGS, tid, 0, regs) ? -errno : 0;
}

int arch__get_all(pid_t tid, struct arch_state *s)
{
	struct iovec iov = { s->xstate, sizeof(s->xstate) };

	if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &iov))
		return -errno;
	s->xstate_bytes = iov.iov_len;
	return arch__get(tid, &s->regs);
}

int arch__set_all(pid_t tid, const struct arch_state *s)
{
	struct iovec iov = { (void *)s->xstate, s->xstate_bytes };

	if (ptrace(PTRACE_SETREGSET, tid, NT_X86_XSTATE, &iov))
		return -errno;
	return arch__set(tid, &s->regs);
}

bool arch__waits(struct user_regs_struct *r)
{
	const uint64_t args[6] = { r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9 };

	/*
	 * The thread was stopped in its own code, or in a call that it has made since we read
	 * /proc.
	 */
	if ((long)r->orig_rax < 0 || !arch__may_borrow(r->orig_rax, args))
		return false;
	switch (-(long)r->rax) {
	case ERESTARTSYS:
	case ERESTARTNOINTR:
	case ERESTARTNOHAND:
	case ERESTART_RESTARTBLOCK:
		return true;
	case EINTR:
		/* epoll_wait(), and calls on sockets that have a timeout */
		if (r->orig_rax == SYS_restart_syscall)
			return false;
		r->rax = -ERESTARTNOHAND;
		return true;
	}
	return false;
}

bool arch__has_limit(const struct user_regs_struct *r)
{
	return -(long)r->rax == ERESTART_RESTARTBLOCK &&
	       !(r->orig_rax == SYS_poll && (int)r->rdx < 0);
}

bool arch__may_borrow(long nr, const uint64_t args[6])
{
	switch (nr) {
	/*
	 * Calls that write or send, or receive with MSG_WAITALL, are not in this list: if they have
	 * done a part of their work, they return early when the thread is stopped.
	 */
	case SYS_recvfrom:
		return !(args[3] & MSG_WAITALL);
	case SYS_recvmsg:
		return !(args[2] & MSG_WAITALL);
	case SYS_read: case SYS_readv: case SYS_accept: case SYS_accept4:
	case SYS_poll: case SYS_select: case SYS_futex: case SYS_nanosleep:
	case SYS_clock_nanosleep: case SYS_wait4: case SYS_waitid: case SYS_pause:
	case SYS_restart_syscall:
		return true;
	/* If the calls below get a signal mask, it replaces the thread's mask until they return. */
	case SYS_ppoll:
		return !args[3];
	case SYS_pselect6:
		return !args[5];
	case SYS_epoll_wait:
		return (int)args[3] == -1;	/* a timeout would start again */
	case SYS_epoll_pwait:
		return (int)args[3] == -1 && !args[4];
	}
	return false;
}

bool arch__same_call(const struct user_regs_struct *a, const struct user_regs_struct *b)
{
	return a->rip == b->rip && a->rsp == b->rsp && a->rbp == b->rbp && a->rbx == b->rbx &&
	       a->r12 == b->r12 && a->r13 == b->r13 && a->r14 == b->r14 && a->r15 == b->r15 &&
	       a->rdi == b->rdi && a->rsi == b->rsi && a->rdx == b->rdx && a->r10 == b->r10 &&
	       a->r8 == b->r8 && a->r9 == b->r9 && a->rcx == b->rcx && a->r11 == b->r11 &&
	       a->eflags == b->eflags && a->fs_base == b->fs_base &&
	       (a->orig_rax == b->orig_rax || b->orig_rax == SYS_restart_syscall);
}

uint64_t arch__sp(const struct user_regs_struct *r)
{
	return r->rsp;
}

uint64_t arch__ip(const struct user_regs_struct *r)
{
	return r->rip;
}

uint64_t arch__result(const struct user_regs_struct *r)
{
	return r->rax;
}

static void go_to(struct user_regs_struct *r, uint64_t ip, uint64_t sp)
{
	r->rip = ip;
	r->rsp = sp;
	r->orig_rax = -1;		/* Linux must not restart a call */
	r->eflags &= ~0x400ull;		/* the ABI wants the direction flag clear */
}

void arch__call(struct user_regs_struct *r, uint64_t fn, const uint64_t *args, size_t nr,
		uint64_t sp)
{
	unsigned long long *const to[6] = { &r->rdi, &r->rsi, &r->rdx, &r->rcx, &r->r8, &r->r9 };
	size_t i;

	for (i = 0; i < nr; i++)
		*to[i] = args[i];
	r->rax = 0;
	go_to(r, fn, sp);
}

void arch__enter(struct user_regs_struct *r, uint64_t code, uint64_t data, uint64_t sp,
		 uint64_t tcb)
{
	r->rbx = data;
	r->fs_base = tcb;
	go_to(r, code, sp);
}

/* ---- a bare thread --------------------------------------------------------------------------- */

const uint64_t arch__clone_flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
				   CLONE_THREAD | CLONE_SYSVSEM | CLONE_PTRACE;

/*
 * These and TCB_TID are the offsets of members of struct pthread. glibc has not changed them since
 * 2.28.
 */
#define TCB_TCB			0x00
#define TCB_DTV			0x08
#define TCB_SELF		0x10
#define TCB_HAS_THREADS		0x18	/* if it is 0, the C library takes no locks */
#define TCB_GUARDS		0x28	/* stack guard and pointer guard */
#define GUARDS_BYTES		16

uint64_t arch__tcb_at(const struct user_regs_struct *r)
{
	return r->fs_base;
}

bool arch__tcb(uint8_t to[TCB_HEAD], const uint8_t its[TCB_HEAD], uint64_t its_at, uint32_t its_tid,
	       uint64_t at, uint32_t tid)
{
	uint64_t dtv = at + TCB_BYTES / 2;	/* all zero */

	if (memcmp(its + TCB_TCB, &its_at, sizeof(its_at)) ||
	    memcmp(its + TCB_SELF, &its_at, sizeof(its_at)) ||
	    memcmp(its + TCB_TID, &its_tid, sizeof(its_tid)))
		return false;
	memset(to, 0, TCB_HEAD);
	memcpy(to + TCB_TCB, &at, sizeof(at));
	memcpy(to + TCB_DTV, &dtv, sizeof(dtv));
	memcpy(to + TCB_SELF, &at, sizeof(at));
	to[TCB_HAS_THREADS] = 1;
	memcpy(to + TCB_GUARDS, its + TCB_GUARDS, GUARDS_BYTES);
	memcpy(to + TCB_TID, &tid, sizeof(tid));
	return true;
}

/* ---- the frame of a signal ------------------------------------------------------------------- */

#define FXSAVE_BYTES		512
#define SW_BYTES_AT		464	/* in the FXSAVE area: zeros mean that nothing follows it */
#define UC_SS		6		/* UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS */
#define INVALID_FLAGS	0x10		/* makes Linux leave the alternate stack alone */

struct signal_frame {
	uint64_t restorer;		/* the return address of the handler */
	uint64_t uc_flags, uc_link, stack_sp;
	uint32_t stack_flags, pad;
	uint64_t stack_bytes;
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, di, si, bp, bx, dx, ax, cx, sp, ip, flags;
	uint16_t cs, gs, fs, ss;
	uint64_t err, trapno, oldmask, cr2, fpstate, reserved[8];
	uint64_t mask;			/* the siginfo_t after it is left out: nobody reads it */
};

_Static_assert(offsetof(struct signal_frame, r8) == 8 + 40, "struct ucontext: uc_mcontext");
_Static_assert(offsetof(struct signal_frame, mask) == 8 + 40 + 256, "struct ucontext: uc_sigmask");

/*
 * Makes the interrupted call begin again, or fail with EINTR, if xpuload ends before it has
 * restored the thread's registers.
 */
static void begin_call_again(struct signal_frame *f, const struct user_regs_struct *r)
{
	if (arch__has_limit(r)) {
		f->ax = -EINTR;		/* sigreturn makes Linux forget the remaining time */
		return;
	}
	f->ax = r->orig_rax;
	f->ip -= SYSCALL_BYTES;
}

void arch__frame(uint8_t to[FRAME_BYTES], const struct arch_state *s, uint64_t mask, uint64_t at,
		 uint64_t restorer)
{
	const struct user_regs_struct *r = &s->regs;
	struct signal_frame f = {
		.restorer = restorer, .uc_flags = UC_SS, .stack_flags = INVALID_FLAGS,
		.r8 = r->r8, .r9 = r->r9, .r10 = r->r10, .r11 = r->r11, .r12 = r->r12,
		.r13 = r->r13, .r14 = r->r14, .r15 = r->r15, .di = r->rdi, .si = r->rsi,
		.bp = r->rbp, .bx = r->rbx, .dx = r->rdx, .ax = r->rax, .cx = r->rcx,
		.sp = r->rsp, .ip = r->rip, .flags = r->eflags, .cs = r->cs, .ss = r->ss,
		.mask = mask,
	};
	size_t fx_at = (sizeof(f) + 63) & ~(size_t)63;

	_Static_assert(((sizeof(f) + 63) & ~63ul) + FXSAVE_BYTES <= FRAME_BYTES, "frame");
	begin_call_again(&f, r);
	f.fpstate = at + fx_at;
	memset(to, 0, FRAME_BYTES);
	memcpy(to, &f, sizeof(f));
	memcpy(to + fx_at, s->xstate, SW_BYTES_AT);
}

/* ---- the code in the process ----------------------------------------------------------------- */

#define AT(member, offset)							\
	_Static_assert(offsetof(struct inject_data, member) == (offset), #member)
AT(state, 0);
AT(error, 8);
AT(starter, 16);
AT(is_released, 24);
AT(thread, 32);
AT(handle, 40);
AT(why, 48);
AT(fd, 56);
AT(wants_fd, 64);
AT(start, 72);
AT(bytes, 80);
AT(patience, 88);
AT(tls_low, 104);
AT(last_sp, 112);
AT(errno_at, 120);
AT(image_bytes, 128);
AT(fn[FN_pthread_create], 136);
AT(fn[FN_dlopen], 144);
AT(fn[FN_dlsym], 152);
AT(fn[FN_dlerror], 160);
AT(fn[FN_pthread_attr_init], 168);
AT(fn[FN_pthread_attr_setstacksize], 176);
AT(fn[FN_pthread_attr_setdetachstate], 184);
AT(fn[FN_usleep], 192);
AT(fn[FN_munmap], 200);
AT(fn[FN_memfd_create], 208);
AT(fn[FN_close], 216);
AT(fn[FN___errno_location], 224);
AT(attr, 256);
AT(image, 320);
AT(init, 448);
AT(file, 472);
AT(path, 496);

const uint8_t arch__restorer[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
const size_t arch__restorer_bytes = sizeof(arch__restorer);

/* Code at the end of clone(): "mov %rax, %rdi; mov $60, %eax; syscall". */
const uint8_t arch__end_thread[] = { 0x48, 0x89, 0xc7, 0xb8, 0x3c, 0, 0, 0, 0x0f, 0x05 };
const size_t arch__end_thread_bytes = sizeof(arch__end_thread);

/*
 * The bare thread starts at arch__code with the data's address in rbx, and most signals blocked. It
 * starts the loading thread, and ends; Linux then clears "starter". If it cannot start the loading
 * thread, it waits until xpuload has read the error. Its last call then unmaps this memory, and
 * returns to the end of clone().
 *
 * The loading thread starts at label 2. If the process cannot open the shim, it makes a memfd and
 * lets xpuload write the shim to it. It lets xpuload check its rights, loads the shim, and waits
 * until the bare thread has ended and xpuload has read the result. It ends by calling munmap(),
 * which returns to the C library's code that ends threads.
 */
__asm__(".section .rodata\n"
	".globl arch__code, arch__code_end\n"
	"arch__code:\n"
	"	mov	$218, %eax\n"		/* set_tid_address() */
	"	lea	16(%rbx), %rdi\n"
	"	syscall\n"
	"	call	*224(%rbx)\n"		/* __errno_location() */
	"	mov	%rax, %rdi\n"
	"	sub	120(%rbx), %rdi\n"	/* the C library's thread-local data */
	"	mov	$7, %ecx\n"		/* E2BIG */
	"	cmp	104(%rbx), %rdi\n"
	"	jb	1f\n"
	"	lea	320(%rbx), %rsi\n"
	"	mov	128(%rbx), %ecx\n"
	"	rep movsb\n"
	"	lea	256(%rbx), %rdi\n"
	"	call	*168(%rbx)\n"		/* pthread_attr_init() */
	"	lea	256(%rbx), %rdi\n"
	"	mov	$0x100000, %esi\n"
	"	call	*176(%rbx)\n"		/* pthread_attr_setstacksize() */
	"	lea	256(%rbx), %rdi\n"
	"	mov	$1, %esi\n"		/* PTHREAD_CREATE_DETACHED */
	"	call	*184(%rbx)\n"		/* pthread_attr_setdetachstate() */
	"	lea	32(%rbx), %rdi\n"
	"	lea	256(%rbx), %rsi\n"
	"	lea	2f(%rip), %rdx\n"
	"	mov	%rbx, %rcx\n"
	"	call	*136(%rbx)\n"		/* pthread_create() */
	"	mov	%eax, %ecx\n"
	"	test	%eax, %eax\n"
	"	jnz	1f\n"
	"	xor	%edi, %edi\n"
	"	mov	$60, %eax\n"		/* exit() */
	"	syscall\n"
	"1:	mov	%rcx, 8(%rbx)\n"
	"	movq	$5, 0(%rbx)\n"		/* NEW_NO_THREAD */
	"	mov	$271, %eax\n"		/* ppoll() */
	"	xor	%edi, %edi\n"
	"	xor	%esi, %esi\n"
	"	lea	88(%rbx), %rdx\n"
	"	xor	%r10d, %r10d\n"
	"	mov	$8, %r8d\n"
	"	syscall\n"
	"	mov	72(%rbx), %rdi\n"
	"	mov	80(%rbx), %rsi\n"
	"	mov	112(%rbx), %rsp\n"
	"	jmp	*200(%rbx)\n"		/* munmap() */

	"2:	push	%rbx\n"
	"	push	%r12\n"
	"	sub	$8, %rsp\n"
	"	mov	%rdi, %rbx\n"
	"	cmpq	$0, 64(%rbx)\n"
	"	je	1f\n"
	"	lea	472(%rbx), %rdi\n"
	"	mov	$1, %esi\n"		/* MFD_CLOEXEC */
	"	call	*208(%rbx)\n"		/* memfd_create() */
	"	cltq\n"
	"	mov	%rax, 56(%rbx)\n"
	"	test	%rax, %rax\n"
	"	js	6f\n"
	"1:	movq	$1, 0(%rbx)\n"		/* NEW_WAITS */
	"	mov	$500, %r12d\n"
	"3:	cmpq	$2, 0(%rbx)\n"		/* NEW_MAY_LOAD */
	"	je	4f\n"
	"	mov	$10000, %edi\n"
	"	call	*192(%rbx)\n"		/* usleep() */
	"	dec	%r12d\n"
	"	jnz	3b\n"
	"	jmp	6f\n"
	"4:	lea	496(%rbx), %rdi\n"
	"	mov	$2, %esi\n"		/* RTLD_NOW */
	"	call	*144(%rbx)\n"		/* dlopen() */
	"	mov	%rax, 40(%rbx)\n"
	"	test	%rax, %rax\n"
	"	jz	5f\n"
	"	mov	%rax, %rdi\n"
	"	lea	448(%rbx), %rsi\n"
	"	call	*152(%rbx)\n"		/* dlsym() */
	"	test	%rax, %rax\n"
	"	jz	5f\n"
	"	call	*%rax\n"		/* InitializeInjection() */
	"	movq	$3, 0(%rbx)\n"		/* NEW_LOADED */
	"	jmp	7f\n"
	"5:	call	*160(%rbx)\n"		/* dlerror() */
	"	mov	%rax, 48(%rbx)\n"
	"6:	movq	$4, 0(%rbx)\n"		/* NEW_FAILED */
	"7:	mov	56(%rbx), %rdi\n"
	"	test	%edi, %edi\n"
	"	js	8f\n"
	"	call	*216(%rbx)\n"		/* close() */
	"8:	mov	$500, %r12d\n"
	"9:	cmpl	$0, 16(%rbx)\n"
	"	jne	3f\n"
	"	cmpq	$0, 24(%rbx)\n"
	"	jne	4f\n"
	"3:	mov	$10000, %edi\n"
	"	call	*192(%rbx)\n"		/* usleep() */
	"	dec	%r12d\n"
	"	jnz	9b\n"
	"	cmpl	$0, 16(%rbx)\n"
	"	je	4f\n"
	"	add	$8, %rsp\n"		/* the bare thread is stuck: do not
						 * unmap the memory */
	"	pop	%r12\n"
	"	pop	%rbx\n"
	"	xor	%eax, %eax\n"
	"	ret\n"
	"4:	mov	72(%rbx), %rdi\n"
	"	mov	80(%rbx), %rsi\n"
	"	mov	200(%rbx), %r11\n"	/* munmap() */
	"	add	$8, %rsp\n"
	"	pop	%r12\n"
	"	pop	%rbx\n"
	"	jmp	*%r11\n"
	"arch__code_end:\n"
	".text\n");
#endif
