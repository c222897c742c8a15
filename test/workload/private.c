// SPDX-License-Identifier: MIT
/*
 * private MS DROW STEP... - has a secret word, and uses MS of CPU time at each step
 *
 *	own		uses MS
 *	word		uses MS while the word is on its stack and is its name, and an executable
 *			file of that name is mapped
 *	hide		prctl(PR_SET_DUMPABLE, 0)
 *	wait		waits until it is killed
 *	exec PROGRAM	execs PROGRAM MS DROW, with the steps that follow
 *
 * The word is DROW backward. So no other process has the word in memory by accident, except the
 * program that searches for the word. The program "private" prints "ready" before it waits.
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

__attribute__((noinline, noclone)) static void work(uint64_t ms)
{
	uint64_t end_ns = cpu_ns() + ms * 1000000, i;

	do
		for (i = 0; i < 200000; i++)
			sink += i * 3;
	while (cpu_ns() < end_ns);
}

__attribute__((noinline, noclone)) static void work_with_word(uint64_t ms, const char *drow)
{
	volatile char word[64];		/* for programs that read this stack */
	size_t i, n = strnlen(drow, sizeof(word) - 1);
	char name[64];
	int fd;

	for (i = 0; i < n; i++)
		word[i] = drow[n - 1 - i];
	word[n] = '\0';
	for (i = 0; i <= n; i++)
		name[i] = word[i];
	prctl(PR_SET_NAME, name);
	fd = open(name, O_RDONLY);
	if (fd < 0 || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		err(1, "%s", name);
	work(ms);
	sink += word[0];
}

int main(int argc, char **argv)
{
	uint64_t ms = argc > 3 ? strtoull(argv[1], NULL, 10) : 0;
	int i;

	if (!ms)
		errx(2, "usage: private MS DROW STEP...");
	for (i = 3; i < argc; i++) {
		if (!strcmp(argv[i], "own")) {
			work(ms);
		} else if (!strcmp(argv[i], "word")) {
			work_with_word(ms, argv[2]);
		} else if (!strcmp(argv[i], "hide")) {
			prctl(PR_SET_DUMPABLE, 0);
		} else if (!strcmp(argv[i], "wait")) {
			puts("ready");
			fflush(stdout);
			for (;;)
				work_with_word(ms, argv[2]);
		} else if (!strcmp(argv[i], "exec") && i + 1 < argc) {
			char *program = argv[i + 1], *words[] = { program, argv[1], argv[2] };

			/*
			 * Overwrites the words in the arguments of this step and the earlier steps.
			 */
			memcpy(argv + i - 1, words, sizeof(words));
			execv(program, argv + i - 1);
			err(1, "%s", program);
		} else {
			errx(2, "what is '%s'?", argv[i]);
		}
	}
	return 0;
}
