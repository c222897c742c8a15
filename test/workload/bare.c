// SPDX-License-Identifier: MIT
/*
 * bare.c - a program that never uses CUDA
 *
 *	bare [ACTION]...
 *
 * Performs its arguments in order, then exits with status 0:
 *
 *	out=N		prints N bytes of the alphabet to stdout
 *	err=N		prints N bytes of the alphabet to stderr
 *	in		copies stdin to stdout
 *	env=NAME	prints NAME's value and a newline, or "(unset)"
 *	burn=MS		uses MS milliseconds of CPU time in burn_cpu
 *	sleep=MS
 *	threads=N	starts N threads, each burns 1 ms
 *	fork=N		forks N children, one after the other; each exits with its number
 *	exec		executes itself with the remaining arguments
 *	signal=N	kills itself with signal N
 *	exit=N		exits with status N
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Uses CPU time, in a function that CPU profiles can show by name. */
static __attribute__((noinline)) void burn_cpu(long ms)
{
	volatile unsigned long sum = 0;
	struct timespec ts;
	long long end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	end = ts.tv_sec * 1000000000ll + ts.tv_nsec + ms * 1000000ll;
	do {
		for (int i = 0; i < 10000; i++)
			sum += (unsigned long)i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	} while (ts.tv_sec * 1000000000ll + ts.tv_nsec < end);
}

static void *thread_main(void *arg)
{
	burn_cpu(1);
	return arg;
}

static void run_threads(long nr)
{
	pthread_t thread;

	for (long i = 0; i < nr; i++) {
		if (pthread_create(&thread, NULL, thread_main, NULL)) {
			perror("bare: pthread_create");
			exit(1);
		}
		pthread_join(thread, NULL);
	}
}

static void print(FILE *f, long nr)
{
	for (long i = 0; i < nr; i++)
		putc(i % 27 == 26 ? '\n' : 'a' + (int)(i % 27), f);
	fflush(f);
}

static void copy_input(void)
{
	char buf[4096];
	size_t n;

	while ((n = fread(buf, 1, sizeof(buf), stdin)))
		fwrite(buf, 1, n, stdout);
	fflush(stdout);
}

static void run_children(long nr)
{
	for (long i = 0; i < nr; i++) {
		int status = 0;
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (!pid)
			_exit((int)(i & 0xff));
		if (pid < 0 || waitpid(pid, &status, 0) < 0) {
			perror("bare: fork");
			exit(1);
		}
		if (!WIFEXITED(status) || WEXITSTATUS(status) != (int)(i & 0xff)) {
			fprintf(stderr, "bare: child %ld ended with %#x\n", i,
				(unsigned int)status);
			exit(1);
		}
	}
}

static void kill_self(long signo)
{
	fflush(stdout);
	signal((int)signo, SIG_DFL);
	raise((int)signo);
}

static void do_action(char **argv, int i)
{
	const char *action = argv[i];
	const char *equals = strchr(action, '=');
	size_t len = equals ? (size_t)(equals - action) : strlen(action);
	const char *value = equals ? equals + 1 : "";
	long n = strtol(value, NULL, 0);
	struct timespec ts = { n / 1000, n % 1000 * 1000000 };

#define IS(name) (len == strlen(name) && !strncmp(action, name, len))
	if (IS("out")) {
		print(stdout, n);
	} else if (IS("err")) {
		print(stderr, n);
	} else if (IS("in")) {
		copy_input();
	} else if (IS("env")) {
		puts(getenv(value) ? getenv(value) : "(unset)");
	} else if (IS("burn")) {
		burn_cpu(n);
	} else if (IS("sleep")) {
		nanosleep(&ts, NULL);
	} else if (IS("threads")) {
		run_threads(n);
	} else if (IS("fork")) {
		run_children(n);
	} else if (IS("exec")) {
		fflush(stdout);
		argv[i] = argv[0];
		execv("/proc/self/exe", argv + i);
		perror("bare: exec");
		exit(1);
	} else if (IS("signal")) {
		kill_self(n);
	} else if (IS("exit")) {
		exit((int)n);
	} else {
		fprintf(stderr, "bare: what is %s?\n", action);
		exit(2);
	}
#undef IS
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		do_action(argv, i);
	return 0;
}
