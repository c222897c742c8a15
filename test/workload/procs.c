// SPDX-License-Identifier: MIT
/*
 * procs.c - becomes another process in several ways, and then runs the program in its arguments
 *
 *	procs HOW... COMMAND [ARG]...
 *
 *	closefrom	closes all descriptors except the first three
 *	fork		runs in a child, waits for it, and exits with its status
 *	pid=N		runs in a child with pid N, if the kernel lets it choose the pid
 *	twice		COMMAND runs in a child, and then again in this process
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Forks, and returns in the child only; the parent waits for the child and exits. */
static void in_child(void)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		return;
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("procs: fork");
		exit(1);
	}
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void run_twice(char **argv)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		return;
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
		fprintf(stderr, "procs: %s failed\n", argv[0]);
		exit(1);
	}
}

/* Tries several times, because another process may take the pid in between. */
static void with_pid(long wanted)
{
	for (int i = 0; i < 50; i++) {
		FILE *f = fopen("/proc/sys/kernel/ns_last_pid", "w");
		int status = 0;
		pid_t pid;

		if (!f || fprintf(f, "%ld", wanted - 1) < 0 || fclose(f)) {
			perror("procs: ns_last_pid");
			exit(1);
		}
		pid = fork();
		if (!pid && getpid() == wanted)
			return;
		if (!pid)
			_exit(123);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			exit(1);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 123)
			exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	fprintf(stderr, "procs: pid %ld is not to be had\n", wanted);
	exit(1);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "closefrom")) {
			closefrom(3);
		} else if (!strcmp(argv[i], "fork")) {
			in_child();
		} else if (!strcmp(argv[i], "twice")) {
			run_twice(argv + i + 1);
		} else if (!strncmp(argv[i], "pid=", 4)) {
			with_pid(strtol(argv[i] + 4, NULL, 10));
		} else {
			execvp(argv[i], argv + i);
			perror(argv[i]);
			return errno == ENOENT ? 127 : 126;
		}
	}
	fputs("usage: procs HOW... COMMAND [ARG]...\n", stderr);
	return 2;
}
