// SPDX-License-Identifier: GPL-3.0-or-later
#include "splitter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/host_clock.h"
#include "base/msg.h"
#include "own_files.h"
#include "options.h"
#include "record/writer.h"
#include "split_journal.h"
#include "target/target.h"

#define PIPE_BYTES	(1 << 20)	/* the largest size without privileges */
#define PAUSE_NS	500000000ull	/* time between starts; doubled each time, up to
					 * PAUSE_MAX_NS */
#define PAUSE_MAX_NS	30000000000ull
#define LIVED_NS	60000000000ull	/* a child that lived this long is restarted at once */
/*
 * The end of the recording waits for the child. These constants limit how often the child is
 * started during that wait, and set the time between starts.
 */
#define LAST_STARTS	5
#define LAST_PAUSE_NS	200000000ull
#define END_PAUSE_US	10000

struct splitter {
	const struct options *opts;
	char path[PATH_MAX];
	pid_t pid;			/* 0: not running */
	int in;				/* our copy of the child's end of the pipe; -1: none */
	int journal;			/* definitions for the next child; -1: the next child cannot
					 * continue */
	int nice;			/* xpuload's nice value before it raises its priority */
	uint64_t started_ns, pause_ns;
	unsigned int nr_last;		/* number of starts since the end of the recording */
	bool succeeded, ending;
	struct splitter_stats stats;
};

/* Becomes xpumerge top, which ends when the pipe ends or the user presses a key. */
static _Noreturn void run_top(const struct options *opts, int fd, const char *path)
{
	const char *args[8] = { path, "top" };
	char frames[16];
	unsigned int nr = 2;

	snprintf(frames, sizeof(frames), "%u", opts->frames);
	if (opts->batch)
		args[nr++] = "--batch";
	if (opts->frames) {
		args[nr++] = "--frames";
		args[nr++] = frames;
	}
	/* xpumerge top makes no files, so it may read all programs' symbols if root runs it. */
	if (child__become_invoker(CAP_BIT(CAP_DAC_READ_SEARCH)) || dup2(fd, STDIN_FILENO) < 0)
		_exit(STATUS_FAILED);
	target__restore();
	signal(SIGINT, SIG_IGN);	/* at Ctrl-C xpuload detaches, and closes the pipe */
	signal(SIGQUIT, SIG_IGN);
	execv(path, (char **)args);
	_exit(STATUS_FAILED);
}

static _Noreturn void run_child(const struct options *opts, int fd, int journal, const char *path,
				int nice)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	const char *args[26] = { path, "split", "-o", opts->output };
	char keep[16], level[16], journal_text[16];
	char pusher[PATH_MAX];
	unsigned int nr = 4;
	size_t i;

	snprintf(keep, sizeof(keep), "%u", opts->keep);
	snprintf(level, sizeof(level), "%d", opts->level);
	args[nr++] = "-z";
	args[nr++] = level;
	if (opts->keep) {
		args[nr++] = "--keep";
		args[nr++] = keep;
	}
	if (journal >= 0) {
		fcntl(journal, F_SETFD, 0);
		snprintf(journal_text, sizeof(journal_text), "%d", journal);
		args[nr++] = "--journal";
		args[nr++] = journal_text;
	}
	if (opts->push) {
		if (own_files__find("xpuload-push", pusher, sizeof(pusher)))
			_exit(STATUS_FAILED);
		args[nr++] = "--push";
		args[nr++] = opts->push;
		args[nr++] = "--push-program";
		args[nr++] = pusher;
		if (opts->push_labels) {
			args[nr++] = "--push-labels";
			args[nr++] = opts->push_labels;
		}
		if (splitter__removes(opts))
			args[nr++] = "--remove";
	}
	if (child__become_invoker(CHILD_FILE_CAPS) || dup2(fd, STDIN_FILENO) < 0 ||
	    dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		_exit(STATUS_FAILED);
	target__restore();
	setpriority(PRIO_PROCESS, 0, nice);
	for (i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	args[nr] = NULL;
	execv(path, (char **)args);
	_exit(STATUS_FAILED);
}

/* Starts the child. Return: 0 or a negative errno. */
static int splitter__fork(struct splitter *s, int in)
{
	pid_t pid;

	fflush(NULL);
	s->started_ns = clock__now();
	pid = fork();
	if (!pid && s->opts->top)
		run_top(s->opts, in, s->path);
	if (!pid)
		run_child(s->opts, in, s->journal, s->path, s->nice);
	if (pid < 0)
		return -errno;
	s->pid = pid;
	return 0;
}

int splitter__start(const struct options *opts, int *fd, struct splitter **sp)
{
	struct splitter *s = calloc(1, sizeof(*s));
	int fds[2], err;

	if (!s)
		return -ENOMEM;
	s->opts = opts;
	s->in = s->journal = -1;
	s->nice = getpriority(PRIO_PROCESS, 0);
	if (opts->push && own_files__find("xpuload-push", s->path, sizeof(s->path))) {
		msg__error(
			"--push: xpuload-push is neither next to xpuload nor in ../lib/xpuload; "
			"it is built where libcurl's headers are (libcurl4-openssl-dev)");
		free(s);
		return -ENOENT;
	}
	err = own_files__find("xpumerge", s->path, sizeof(s->path));
	if (!err && pipe2(fds, O_CLOEXEC))
		err = -errno;
	if (err)
		goto free_splitter;
	fcntl(fds[1], F_SETPIPE_SZ, PIPE_BYTES);
	if (!opts->top)
		s->journal = memfd_create("xpuload-split", MFD_CLOEXEC);
	err = splitter__fork(s, fds[0]);
	if (s->journal >= 0)
		s->in = fds[0];
	else
		close(fds[0]);
	*fd = fds[1];
	*sp = s;
	if (!err)
		return 0;
	close(fds[1]);
free_splitter:
	msg__error("cannot run xpumerge, which writes the files: %s", strerror(-err));
	splitter__free(s);
	return err;
}

static void tell_end(int status)
{
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	char how[64];

	if (sig)
		snprintf(how, sizeof(how), "was ended by signal %d (%s)", sig, strsignal(sig));
	else
		snprintf(how, sizeof(how), "ended with status %d", WEXITSTATUS(status));
	msg__warn("xpumerge split, which writes the files, %s: it is restarted, and continues with "
		  "the next file", how);
}

/* Handles the end of the child. */
static void splitter__ended(struct splitter *s, int status)
{
	bool done = WIFEXITED(status) && (s->ending || s->in < 0) && WEXITSTATUS(status) <= 1;

	s->pid = 0;
	s->succeeded = done;
	if (done || s->in < 0)
		return;
	s->stats.nr_ends++;
	tell_end(status);
	s->pause_ns = clock__now() - s->started_ns >= LIVED_NS || !s->pause_ns ? PAUSE_NS :
		      s->pause_ns * 2 < PAUSE_MAX_NS ? s->pause_ns * 2 : PAUSE_MAX_NS;
}

void splitter__watch(struct splitter *s)
{
	uint64_t pause_ns = s->ending && s->pause_ns > LAST_PAUSE_NS ? LAST_PAUSE_NS : s->pause_ns;
	int status;

	if (s->pid && waitpid(s->pid, &status, WNOHANG) == s->pid)
		splitter__ended(s, status);
	/* After its first early end, the child is restarted at once. */
	if (s->pid || s->in < 0 || s->succeeded ||
	    (s->stats.nr_ends > 1 && clock__now() - s->started_ns < pause_ns))
		return;
	s->nr_last += s->ending;
	splitter__fork(s, s->in);
}

/*
 * If the child was started too often, closes the pipe: nobody will read the rest of the recording.
 * Return: whether no child will run again.
 */
static bool splitter__give_up(struct splitter *s)
{
	if (s->pid || s->nr_last < LAST_STARTS)
		return false;
	if (s->in >= 0)
		close(s->in);
	s->in = -1;
	return true;
}

void splitter__drain(struct splitter *s, struct writer *w)
{
	s->ending = true;
	while (!writer__end(w)) {
		splitter__watch(s);
		if (!splitter__give_up(s))
			usleep(END_PAUSE_US);
	}
}

bool splitter__finish(struct splitter *s)
{
	struct split_journal told = { 0 };

	while (s->pid || (!s->succeeded && s->in >= 0)) {
		splitter__watch(s);
		if (s->pid || (!s->succeeded && !splitter__give_up(s)))
			usleep(END_PAUSE_US);
	}
	if (s->journal >= 0 && pread(s->journal, &told, sizeof(told), 0) == sizeof(told)) {
		s->stats.nr_files = told.nr_files;
		s->stats.nr_bytes = told.nr_bytes;
		s->stats.nr_lost_files = told.nr_lost_files;
		s->stats.nr_lost_bytes = told.nr_lost_bytes;
		s->stats.nr_lost_launches = told.nr_lost_launches;
		s->stats.nr_lost_profiles = told.profiles.nr_lost + told.profiles.nr_unknown;
		s->stats.nr_unmerged = told.profiles.nr_unmerged + told.profiles.nr_unknown_files;
	}
	return s->succeeded && !told.failing;
}

bool splitter__removes(const struct options *opts)
{
	return opts->push && !opts->output_given && !opts->keep;
}

const struct splitter_stats *splitter__stats(const struct splitter *s)
{
	return &s->stats;
}

void splitter__free(struct splitter *s)
{
	if (!s)
		return;
	if (s->in >= 0)
		close(s->in);
	if (s->pid)
		waitpid(s->pid, NULL, 0);
	if (s->journal >= 0)
		close(s->journal);
	free(s);
}
