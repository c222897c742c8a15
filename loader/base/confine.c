// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arch.h"
#include "privileges.h"

#define NOBODY		65534
#define MAX_MEMORY	(512ull << 20)	/* in addition to the parent's memory */
#define MAX_CPU_S	60		/* CPU time in total; a file takes 1 or 2 ms */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CONFINED	false		/* sanitizers need more memory and system calls */
#else
#define CONFINED	true
#endif

#define ALLOW(name)	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), \
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Forbids all system calls that are not needed to read or map files and to answer. */
static int forbid_system_calls(void)
{
	static struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH_AUDIT, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(recvmsg), ALLOW(sendto), ALLOW(pread64), ALLOW(close),
		ALLOW(fstat), ALLOW(newfstatat), ALLOW(lseek),
		ALLOW(brk), ALLOW(munmap), ALLOW(mremap), ALLOW(madvise), ALLOW(getrandom),
		ALLOW(exit_group),
		/* Allow opening only for reading: writable files could be mapped and changed. */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_ACCMODE | O_CREAT | O_TRUNC, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		/* libelf only reads flags. Other uses of fcntl() lock files, or send signals. */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_GETFD, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_GETFL, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		/* Allow mapping memory, but not as executable. */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog prog = { .len = sizeof(filter) / sizeof(filter[0]), .filter = filter };

	/* If Linux has no seccomp filters, the other measures must suffice. */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) && errno != EINVAL)
		return -errno;
	return 0;
}

static void set_limit(int what, rlim_t limit)
{
	struct rlimit r = { limit, limit };

	setrlimit(what, &r);
}

/* Return: the bytes that this process has mapped. */
static uint64_t mapped_bytes(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%lu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return (uint64_t)pages * sysconf(_SC_PAGESIZE);
}

int confine__process(unsigned int nr_files)
{
	int err;

	set_limit(RLIMIT_CORE, 0);
	set_limit(RLIMIT_FSIZE, 0);
	set_limit(RLIMIT_NOFILE, nr_files);
	set_limit(RLIMIT_CPU, MAX_CPU_S);
	if (CONFINED)
		set_limit(RLIMIT_AS, mapped_bytes() + MAX_MEMORY);
	/* Change the bounding set first: only root can. */
	err = privileges__bound(0);
	if (err)
		return err;
	if (!geteuid() && (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
			   setresuid(NOBODY, NOBODY, NOBODY)))
		return -errno;
	/* Set this again: Linux clears it when the user ID changes. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	err = privileges__drop(0);
	return err || !CONFINED ? err : forbid_system_calls();
}
