// SPDX-License-Identifier: MIT
/*
 * refuse [bpf] [perf] [connect] [memfd] [shmget] -- COMMAND [ARG]...
 *
 * Executes COMMAND with a system call filter, as containers do. For COMMAND and its children, the
 * filter refuses the named calls: bpf(), perf_event_open(), connect(), memfd_create(), shmget().
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	unsigned int nr;
} calls[] = {
	{ "bpf", SYS_bpf }, { "perf", SYS_perf_event_open }, { "connect", SYS_connect },
	{ "memfd", SYS_memfd_create }, { "shmget", SYS_shmget },
};

#define NR_CALLS (sizeof(calls) / sizeof(calls[0]))

int main(int argc, char **argv)
{
	struct sock_filter code[2 * NR_CALLS + 2] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog prog = { .len = 1, .filter = code };
	size_t k;
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++)
		for (k = 0; k < NR_CALLS; k++) {
			if (strcmp(argv[i], calls[k].name))
				continue;
			code[prog.len++] = (struct sock_filter)BPF_JUMP(
				BPF_JMP | BPF_JEQ | BPF_K, calls[k].nr, 0, 1);
			code[prog.len++] = (struct sock_filter)BPF_STMT(
				BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
		}
	code[prog.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (i + 1 >= argc || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) {
		perror("refuse");
		return 125;
	}
	execvp(argv[i + 1], argv + i + 1);
	perror(argv[i + 1]);
	return 127;
}
