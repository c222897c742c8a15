// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * x86-64. Sources: Linux, arch/x86/include/uapi/asm/sigcontext.h (frames of signals) and
 * Documentation/arch/x86/xstate.rst; System V ABI, 3.2 (calls) and 3.4.1 (system calls).
 */
#ifdef __x86_64__
#include "inject/inject_arch.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

/* Results by which Linux says that a call begins again; not in the headers of the C library. */
#define ERESTARTSYS		512
#define ERESTARTNOINTR		513
#define ERESTARTNOHAND		514
#define ERESTART_RESTARTBLOCK	516

#define SYSCALL_BYTES		2	/* of the instruction */

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

void arch__unwind_regs(const struct user_regs_struct *r, uint64_t to[ARCH_NR_REGS])
{
	const uint64_t by_dwarf[ARCH_NR_REGS] = {
		r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp, r->rsp,
		r->r8, r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15, r->rip,
	};

	memcpy(to, by_dwarf, sizeof(by_dwarf));
}

bool arch__waits(struct user_regs_struct *r)
{
	const uint64_t args[6] = { r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9 };

	/* It was stopped in its own code, or in a call that it has made since /proc showed it. */
	if ((long)r->orig_rax < 0 || !arch__may_borrow(r->orig_rax, args))
		return false;
	switch (-(long)r->rax) {
	case ERESTARTSYS:
	case ERESTARTNOINTR:
	case ERESTARTNOHAND:
	case ERESTART_RESTARTBLOCK:
		return true;
	case EINTR:
		/* epoll_wait(), and sockets with a time limit */
		if (r->orig_rax == SYS_restart_syscall)
			return false;
		r->rax = -ERESTARTNOHAND;
		return true;
	}
	return false;
}

bool arch__has_limit(const struct user_regs_struct *r)
{
	return -(long)r->rax == ERESTART_RESTARTBLOCK;
}

bool arch__may_borrow(long nr, const uint64_t args[6])
{
	switch (nr) {
	/*
	 * Calls that have done a part of their work return early when the thread is stopped:
	 * writing, sending, and receiving with MSG_WAITALL. They are not in this list.
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
	/* The calls below change the signal mask if they are given one, until they return. */
	case SYS_ppoll:
		return !args[3];
	case SYS_pselect6:
		return !args[5];
	case SYS_epoll_wait:
		return (int)args[3] == -1;	/* its time limit would begin again */
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
	r->orig_rax = -1;		/* Linux shall not begin a call again */
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

void arch__enter(struct user_regs_struct *r, uint64_t code, uint64_t data, uint64_t sp)
{
	r->rbx = data;
	go_to(r, code, sp);
}

/* ---- the frame of a signal ------------------------------------------------------------------- */

#define XSTATE_MAGIC1	0x46505853u
#define XSTATE_MAGIC2	0x46505845u
#define SW_BYTES_AT	464		/* struct _fpx_sw_bytes; in a register set: the mask of the
					 * components that the processor saves */
#define XSTATE_BV_AT	512		/* the components that are in use */
#define AMX		(3ull << 17)
#define WITHOUT_AMX	2696		/* bytes of all components below AMX */
#define UC_XSTATE	1
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
	uint64_t mask;
	uint8_t siginfo[128];
};

_Static_assert(offsetof(struct signal_frame, r8) == 8 + 40, "struct ucontext: uc_mcontext");
_Static_assert(offsetof(struct signal_frame, mask) == 8 + 40 + 256, "struct ucontext: uc_sigmask");

/* Sets the registers that the thread finds if xpuload ends before it has restored them. */
static void begin_call_again(struct signal_frame *f, const struct user_regs_struct *r)
{
	switch (-(long)r->rax) {
	case ERESTARTSYS:
	case ERESTARTNOINTR:
	case ERESTARTNOHAND:
		f->ax = r->orig_rax;
		f->ip -= SYSCALL_BYTES;
		break;
	case ERESTART_RESTARTBLOCK:
		f->ax = -EINTR;		/* the return forgets how much time is left */
		break;
	}
}

size_t arch__frame(uint8_t to[FRAME_BYTES], const struct arch_state *s, uint64_t mask, uint64_t at,
		   uint64_t restorer)
{
	const struct user_regs_struct *r = &s->regs;
	struct signal_frame f = {
		.restorer = restorer, .uc_flags = UC_XSTATE | UC_SS, .stack_flags = INVALID_FLAGS,
		.r8 = r->r8, .r9 = r->r9, .r10 = r->r10, .r11 = r->r11, .r12 = r->r12,
		.r13 = r->r13, .r14 = r->r14, .r15 = r->r15, .di = r->rdi, .si = r->rsi,
		.bp = r->rbp, .bx = r->rbx, .dx = r->rdx, .ax = r->rax, .cx = r->rcx,
		.sp = r->rsp, .ip = r->rip, .flags = r->eflags, .cs = r->cs, .ss = r->ss,
		.mask = mask,
	};
	size_t xstate_at = (sizeof(f) + 63) & ~(size_t)63, bytes = s->xstate_bytes;
	uint8_t *x = to + xstate_at;
	uint32_t magic2 = XSTATE_MAGIC2;
	uint64_t in_use, saved;

	begin_call_again(&f, r);
	memcpy(x, s->xstate, bytes);
	memcpy(&in_use, x + XSTATE_BV_AT, sizeof(in_use));
	memcpy(&saved, x + SW_BYTES_AT, sizeof(saved));
	/* A thread without the permission to use AMX has no room for it in Linux. */
	if (!(in_use & AMX) && bytes > WITHOUT_AMX) {
		bytes = WITHOUT_AMX;
		saved &= (1ull << 17) - 1;
	}
	const struct {
		uint32_t magic1, extended_bytes;
		uint64_t components;
		uint32_t bytes, padding[7];
	} sw = { XSTATE_MAGIC1, bytes + sizeof(magic2), saved, bytes, { 0 } };

	_Static_assert(sizeof(sw) == 48, "struct _fpx_sw_bytes");
	memcpy(x + SW_BYTES_AT, &sw, sizeof(sw));
	memcpy(x + bytes, &magic2, sizeof(magic2));
	f.fpstate = at + xstate_at;
	memcpy(to, &f, sizeof(f));
	return xstate_at + bytes + sizeof(magic2);
}

/* ---- the code in the process ----------------------------------------------------------------- */

#define AT(member, offset)							\
	_Static_assert(offsetof(struct inject_data, member) == (offset), #member)
AT(frame, 0);
AT(is_done, 8);
AT(error, 16);
AT(state, 24);
AT(is_released, 32);
AT(thread, 40);
AT(handle, 48);
AT(why, 56);
AT(fd, 64);
AT(wants_fd, 72);
AT(start, 80);
AT(bytes, 88);
AT(patience, 96);
AT(fn[FN_pthread_create], 112);
AT(fn[FN_dlopen], 120);
AT(fn[FN_dlsym], 128);
AT(fn[FN_dlerror], 136);
AT(fn[FN_pthread_detach], 144);
AT(fn[FN_pthread_self], 152);
AT(fn[FN_usleep], 160);
AT(fn[FN_munmap], 168);
AT(fn[FN_memfd_create], 176);
AT(fn[FN_close], 184);
AT(fn[FN___errno_location], 192);
AT(init, 216);
AT(file, 240);
AT(path, 264);

const uint8_t arch__restorer[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
const size_t arch__restorer_bytes = sizeof(arch__restorer);

/*
 * The borrowed thread enters at arch__code with the data's address in rbx, and all signals blocked.
 * It starts the new thread, and waits for xpuload to give it its registers back; if xpuload does
 * not come, it takes them itself, from the frame.
 *
 * The new thread enters at 2. It gets the shim's file if the process cannot open it, loads the
 * shim, waits until the borrowed thread has left this memory, and ends in munmap(), which returns
 * to the C library's end of threads.
 */
__asm__(".section .rodata\n"
	".globl arch__code, arch__code_end\n"
	"arch__code:\n"
	"	call	*192(%rbx)\n"		/* errno's address */
	"	mov	%rax, %r12\n"
	"	mov	(%rax), %r13d\n"
	"	lea	40(%rbx), %rdi\n"
	"	xor	%esi, %esi\n"
	"	lea	2f(%rip), %rdx\n"
	"	mov	%rbx, %rcx\n"
	"	call	*112(%rbx)\n"		/* pthread_create() */
	"	mov	%r13d, (%r12)\n"
	"	mov	%eax, %eax\n"
	"	mov	%rax, 16(%rbx)\n"
	"	movq	$1, 8(%rbx)\n"
	"	mov	$271, %eax\n"		/* ppoll() */
	"	xor	%edi, %edi\n"
	"	xor	%esi, %esi\n"
	"	lea	96(%rbx), %rdx\n"
	"	xor	%r10d, %r10d\n"
	"	mov	$8, %r8d\n"
	"	syscall\n"
	"	mov	(%rbx), %rsp\n"
	"	ret\n"

	"2:	push	%rbx\n"
	"	push	%r12\n"
	"	sub	$8, %rsp\n"
	"	mov	%rdi, %rbx\n"
	"	cmpq	$0, 72(%rbx)\n"
	"	je	4f\n"
	"	lea	240(%rbx), %rdi\n"
	"	mov	$1, %esi\n"		/* MFD_CLOEXEC */
	"	call	*176(%rbx)\n"		/* memfd_create() */
	"	cltq\n"
	"	mov	%rax, 64(%rbx)\n"
	"	test	%rax, %rax\n"
	"	js	6f\n"
	"	movq	$1, 24(%rbx)\n"		/* NEW_HAS_FILE */
	"	mov	$25000, %r12d\n"
	"3:	cmpq	$2, 24(%rbx)\n"		/* NEW_FILE_WRITTEN */
	"	je	4f\n"
	"	mov	$200, %edi\n"
	"	call	*160(%rbx)\n"		/* usleep() */
	"	dec	%r12d\n"
	"	jnz	3b\n"
	"	jmp	6f\n"
	"4:	lea	264(%rbx), %rdi\n"
	"	mov	$2, %esi\n"		/* RTLD_NOW */
	"	call	*120(%rbx)\n"		/* dlopen() */
	"	mov	%rax, 48(%rbx)\n"
	"	test	%rax, %rax\n"
	"	jz	5f\n"
	"	mov	%rax, %rdi\n"
	"	lea	216(%rbx), %rsi\n"
	"	call	*128(%rbx)\n"		/* dlsym() */
	"	test	%rax, %rax\n"
	"	jz	5f\n"
	"	call	*%rax\n"		/* InitializeInjection() */
	"	movq	$3, 24(%rbx)\n"		/* NEW_LOADED */
	"	jmp	7f\n"
	"5:	call	*136(%rbx)\n"		/* dlerror() */
	"	mov	%rax, 56(%rbx)\n"
	"6:	movq	$4, 24(%rbx)\n"		/* NEW_FAILED */
	"7:	mov	64(%rbx), %rdi\n"
	"	test	%edi, %edi\n"
	"	js	8f\n"
	"	call	*184(%rbx)\n"		/* close() */
	"8:	call	*152(%rbx)\n"		/* pthread_self() */
	"	mov	%rax, %rdi\n"
	"	call	*144(%rbx)\n"		/* pthread_detach() */
	"	mov	$20000, %r12d\n"
	"9:	cmpq	$0, 32(%rbx)\n"
	"	jne	1f\n"
	"	mov	$500, %edi\n"
	"	call	*160(%rbx)\n"		/* usleep() */
	"	dec	%r12d\n"
	"	jnz	9b\n"
	"	add	$8, %rsp\n"		/* xpuload has ended: leave this memory */
	"	pop	%r12\n"
	"	pop	%rbx\n"
	"	xor	%eax, %eax\n"
	"	ret\n"
	"1:	mov	80(%rbx), %rdi\n"
	"	mov	88(%rbx), %rsi\n"
	"	mov	168(%rbx), %r11\n"	/* munmap() */
	"	add	$8, %rsp\n"
	"	pop	%r12\n"
	"	pop	%rbx\n"
	"	jmp	*%r11\n"
	"arch__code_end:\n"
	".text\n");
#endif
