// SPDX-License-Identifier: GPL-3.0-or-later
#include "names_command.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <unistd.h>

#include "complain.h"
#include "memory_limit.h"
#include "read/reader.h"
#include "symbols/recorded_names.h"
#include "write/names.h"

enum { EXIT_DONE, EXIT_LEFT, EXIT_BAD };	/* loader/namer.c expects these values */

static volatile sig_atomic_t is_over;

static void on_signal(int sig)
{
	(void)sig;
	is_over = 1;
}

static bool ask_over(void *ctx)
{
	(void)ctx;
	return is_over;
}

/* Makes the look-up end after @ms (0: never), or at signals such as SIGINT (Ctrl-C). */
static void catch_signals(unsigned long ms)
{
	static const int signals[] = { SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM };
	struct itimerval timer = { .it_value = { ms / 1000, ms % 1000 * 1000 } };
	struct sigaction sa = { .sa_handler = on_signal };
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < ARRAY_SIZE(signals); i++) {
		sigaction(signals[i], &sa, NULL);
		sigaddset(&set, signals[i]);
	}
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

/*
 * Prints how many names exceed the limit. xpuload prints how many names have not been looked up.
 * Return: the exit status.
 */
static int report(const char *path, const struct names_result *result)
{
	if (result->nr_cut)
		complain("%s: %" PRIu64 " names are beyond the limit of %u MiB, and left out", path,
			 result->nr_cut, RECORDED_NAMES_MAX >> 20);
	return result->nr_cut || result->nr_left ? EXIT_LEFT : EXIT_DONE;
}

int names_command(int argc, char **argv)
{
	struct memory_limit memory = { 0 };
	struct names_result result = { 0 };
	struct session_opts opts = { .own_threads = true, .jobs = 1 };
	struct filter filter = { 0 };
	struct msgs msgs = { 0 };
	struct reader r;
	int err;

	if (argc != 3) {
		complain("xpuload runs this: xpumerge names MILLISECONDS FILE");
		return EXIT_BAD;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	catch_signals(strtoul(argv[1], NULL, 10));
	memory_limit__map_large();
	memory_limit__set(&memory, 0);
	opts.filter = &filter;
	err = reader__open(&r, argv[2]);
	if (err) {
		complain("%s %s", argv[2], r.error);
		return EXIT_BAD;
	}
	err = names__write(&r, &opts, false, ask_over, stdout, &result, &msgs);
	reader__close(&r);
	msgs__free(&msgs);
	if (err)
		complain_error(&memory, argv[2], err);
	if (err || fflush(stdout) || ferror(stdout))
		return EXIT_BAD;
	return report(argv[2], &result);
}
