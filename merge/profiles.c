// SPDX-License-Identifier: GPL-3.0-or-later
#include "profiles.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "complain.h"
#include "join/session.h"
#include "now.h"
#include "push_url.h"
#include "read/reader.h"
#include "safefile.h"
#include "split_journal.h"
#include "util.h"
#include "write/otlp.h"
#include "write/output.h"
#include "write/pprof.h"

#define MAX_JOBS	8		/* maximum number of files that wait to be merged */
#define MAX_HANDED	256		/* maximum number of profiles for which xpuload-push has not
					 * answered yet */
#define MERGE_SECONDS	120		/* CPU time that a merge may take */
#define RESTART_MS	5000		/* shortest time between two starts of xpuload-push */
#define FINISH_MS	20000		/* time limit for merging files at the end */
#define PUSH_FINISH_MS	6000		/* time limit for sending profiles after that: xpuload-push
					 * gives up after 3 s */
#define NICE		10		/* nice value of merges; with 19 a busy machine would make
					 * no profile */

struct job {
	char *name;			/* name of the file */
	struct profile_time time;
	uint64_t *waits;
};

/* a profile that was passed to xpuload-push */
struct handed {
	uint64_t id;
	char *path;
};

struct profiles {
	const char *url, *labels, *program;
	enum push_kind kind;
	bool remove;
	struct job jobs[MAX_JOBS];	/* oldest first; the child merges the oldest */
	size_t nr_jobs;
	pid_t merger;			/* pid of the child, or 0 */
	pid_t pusher;			/* pid of xpuload-push, or 0 */
	int to, from;			/* pipes to and from xpuload-push */
	uint64_t started_ms;
	unsigned int nr_starts;
	struct handed handed[MAX_HANDED];
	size_t nr_handed;
	uint64_t last_id;
	char answers[512];		/* the incomplete last line of xpuload-push's answers */
	size_t nr_answers;
	bool finishing;
	struct profile_counts *counts;
};

static uint64_t now_ms(void)
{
	return now_ns(CLOCK_MONOTONIC) / 1000000;
}

static void remove_file(const char *name)
{
	int dir = safefile__open_parent(name);

	if (dir < 0)
		return;
	safefile__unlink(dir, safefile__name(name), 0);
	close(dir);
}

/* Return: the name of a profile of a file, for the caller to free; NULL if memory is short. */
static char *profile_name(const char *file, const char *kind)
{
	char *name;

	return asprintf(&name, "%s.%s", file, kind) < 0 ? NULL : name;
}

/* ---- xpuload-push ---------------------------------------------------------------------------- */

static _Noreturn void run_pusher(const struct profiles *p, int in, int out)
{
	if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
		_exit(127);
	execl(p->program, p->program, p->url, p->labels, NULL);
	_exit(127);
}

static int profiles__start_pusher(struct profiles *p)
{
	int to[2], from[2], err;

	p->started_ms = now_ms();
	p->nr_starts++;
	if (pipe2(to, O_CLOEXEC))
		return -errno;
	if (pipe2(from, O_CLOEXEC)) {
		err = -errno;
		close(to[0]);
		close(to[1]);
		return err;
	}
	p->pusher = fork();
	if (!p->pusher)
		run_pusher(p, to[0], from[1]);
	err = p->pusher < 0 ? -errno : 0;
	close(to[0]);
	close(from[1]);
	if (err) {
		p->pusher = 0;
		close(to[1]);
		close(from[0]);
		return err;
	}
	p->to = to[1];
	p->from = from[0];
	fcntl(p->to, F_SETFL, O_NONBLOCK);
	fcntl(p->from, F_SETFL, O_NONBLOCK);
	p->nr_answers = 0;
	return 0;
}

/* Removes a profile from the list. Return: whether it was in the list. */
static bool profiles__forget(struct profiles *p, uint64_t id)
{
	size_t i;

	for (i = 0; i < p->nr_handed && p->handed[i].id != id; i++)
		;
	if (i == p->nr_handed)
		return false;
	free(p->handed[i].path);
	p->handed[i] = p->handed[--p->nr_handed];
	return true;
}

/* Handles the end of xpuload-push: profiles that it has not answered for are lost. */
static void profiles__pusher_ended(struct profiles *p)
{
	size_t i;

	close(p->to);
	close(p->from);
	p->pusher = 0;
	for (i = 0; i < p->nr_handed; i++) {
		remove_file(p->handed[i].path);
		free(p->handed[i].path);
	}
	p->counts->nr_lost += p->nr_handed;
	p->nr_handed = 0;
}

/* Reads which profiles were sent or lost. */
static void profiles__answers(struct profiles *p)
{
	unsigned long long id;
	char word[8], *end;
	ssize_t n;

	while (p->pusher) {
		n = read(p->from, p->answers + p->nr_answers, sizeof(p->answers) - p->nr_answers);
		if (n <= 0)
			return;
		p->nr_answers += n;
		while ((end = memchr(p->answers, '\n', p->nr_answers))) {
			*end++ = '\0';
			if (sscanf(p->answers, "%7s %llu", word, &id) == 2 &&
			    profiles__forget(p, id)) {
				p->counts->nr_sent += !strcmp(word, "sent");
				p->counts->nr_lost += strcmp(word, "sent") != 0;
			}
			p->nr_answers -= end - p->answers;
			memmove(p->answers, end, p->nr_answers);
		}
		if (p->nr_answers == sizeof(p->answers))
			p->nr_answers = 0;
	}
}

/* Notices the end of xpuload-push, and starts it again, but not too often. */
static void profiles__watch_pusher(struct profiles *p)
{
	int status;

	if (p->pusher && waitpid(p->pusher, &status, WNOHANG) == p->pusher) {
		profiles__answers(p);
		if (!p->finishing && p->nr_starts < 3)
			complain("xpuload-push has ended: its waiting profiles are lost, and it is "
				 "restarted");
		profiles__pusher_ended(p);
	}
	if (!p->pusher && !p->finishing && now_ms() - p->started_ms >= RESTART_MS)
		profiles__start_pusher(p);
}

/* Passes a profile to xpuload-push, which then owns the file. Never waits. */
static void profiles__hand(struct profiles *p, char *path, const char *kind,
			   const struct profile_time *time)
{
	uint64_t id = ++p->last_id;
	char line[4096];
	int len = snprintf(line, sizeof(line), "%" PRIu64 " %s %" PRIu64 " %" PRIu64 " %s\n", id,
			   kind, time->start_ns, time->start_ns + time->duration_ns, path);

	p->counts->nr_made++;
	/* A line is at most PIPE_BUF bytes, so the pipe takes either the whole line or nothing. */
	if (p->pusher && p->nr_handed < MAX_HANDED && len < (int)sizeof(line) &&
	    write(p->to, line, len) == len) {
		p->handed[p->nr_handed++] = (struct handed){ id, path };
		return;
	}
	p->counts->nr_lost++;
	remove_file(path);
	free(path);
}

/* ---- merging --------------------------------------------------------------------------------- */

struct writing {
	const struct session *s;
	const struct job *job;
	enum profile_kind kind;		/* NR_PROFILE_KINDS: an OTLP request */
};

static int write_profile(const struct writing *w, const char *kind)
{
	char *name = profile_name(w->job->name, kind);
	struct output o;
	int err = name ? output__open(&o, name, true) : -ENOMEM;

	if (!err) {
		err = w->kind < NR_PROFILE_KINDS ?
		      pprof__write_kind(w->s, w->kind, &w->job->time, o.f) :
		      otlp__write(w->s, &w->job->time, o.f);
		err = err ?: output__commit(&o);
		if (err)
			output__abort(&o);
	}
	free(name);
	return err;
}

static int write_profiles(const struct profiles *p, const struct session *s, const struct job *job)
{
	struct writing w = { s, job, NR_PROFILE_KINDS };
	unsigned int kinds = profile_kinds__of(s);
	int err = 0;

	if (p->kind == PUSH_OTLP)
		return kinds ? write_profile(&w, "otlp") : 0;
	for (w.kind = 0; w.kind < NR_PROFILE_KINDS && !err; w.kind++)
		if (kinds & 1u << w.kind)
			err = write_profile(&w, profile_kind__name(w.kind));
	return err;
}

static void on_limit(int sig)
{
	(void)sig;
	output__abort_from_signal();
	_exit(1);
}

/*
 * Merges a file, in a child process of @parent. SIGXCPU arrives at the limit of CPU time, or when
 * the parent is killed; the handler of this signal removes an incomplete file. Return: the child's
 * exit status.
 */
static int merge_file(const struct profiles *p, const struct job *job, pid_t parent)
{
	struct session_opts opts = { .by_thread = true, .by_stream = true, .trim = true };
	struct rlimit limit = { MERGE_SECONDS, MERGE_SECONDS + 1 };
	struct filter filter = { 0 };
	struct reader reader;
	struct session s;
	int err;

	signal(SIGXCPU, on_limit);
	prctl(PR_SET_PDEATHSIG, SIGXCPU);
	if (getppid() != parent)
		return 1;
	opts.filter = &filter;
	setpriority(PRIO_PROCESS, 0, NICE);
	setrlimit(RLIMIT_CPU, &limit);
	if (reader__open(&reader, job->name)) {
		complain("%s %s", job->name, reader.error);
		return 1;
	}
	err = session__init(&s, &opts);
	err = err ?: session__process(&s, &reader, 1) ?: write_profiles(p, &s, job);
	if (err)
		complain("%s: no profiles: %s", job->name, safefile__strerror(err));
	/* The end of the process frees the memory. */
	return err ? 1 : 0;
}

static void profiles__merge_next(struct profiles *p)
{
	pid_t parent = getpid();

	if (p->merger || !p->nr_jobs)
		return;
	p->merger = fork();
	if (!p->merger)
		_exit(merge_file(p, &p->jobs[0], parent));
	if (p->merger < 0)
		p->merger = 0;		/* the next poll tries again */
}

static void profiles__drop_job(struct profiles *p, size_t i)
{
	if (p->remove)
		remove_file(p->jobs[i].name);
	*p->jobs[i].waits = 0;
	free(p->jobs[i].name);
	p->nr_jobs--;
	memmove(&p->jobs[i], &p->jobs[i + 1], (p->nr_jobs - i) * sizeof(p->jobs[0]));
}

/* Passes the profiles of a file to xpuload-push if they are @whole; otherwise removes them. */
static void profiles__take(struct profiles *p, const struct job *job, bool whole)
{
	const char *kind;
	char *path;
	int i;

	for (i = 0; i <= NR_PROFILE_KINDS; i++) {
		kind = i < NR_PROFILE_KINDS ? profile_kind__name(i) : "otlp";
		if ((p->kind == PUSH_OTLP) != (i == NR_PROFILE_KINDS))
			continue;
		path = profile_name(job->name, kind);
		if (path && whole && !access(path, R_OK)) {
			profiles__hand(p, path, kind, &job->time);
			continue;
		}
		if (path)
			remove_file(path);
		free(path);
	}
}

static void profiles__watch_merger(struct profiles *p)
{
	int status;
	bool whole;

	if (p->merger && waitpid(p->merger, &status, WNOHANG) == p->merger) {
		p->merger = 0;
		whole = WIFEXITED(status) && !WEXITSTATUS(status);
		*p->jobs[0].waits = PROFILES_HANDED;
		profiles__take(p, &p->jobs[0], whole);
		p->counts->nr_unmerged += !whole;
		profiles__drop_job(p, 0);
	}
	profiles__merge_next(p);
}

/* ---- from outside ---------------------------------------------------------------------------- */

struct profiles *profiles__new(const char *url, const char *labels, const char *program,
			       bool remove, struct profile_counts *counts)
{
	struct profiles *p = calloc(1, sizeof(*p));
	const char *why;
	struct push_url parsed;
	int err;

	if (!p) {
		complain("out of memory");
		return NULL;
	}
	why = push_url__parse(&parsed, url);
	if (why) {
		complain("--push %s: %s", url, why);
		free(p);
		return NULL;
	}
	why = push_token__check(getenv("XPULOAD_PUSH_TOKEN"));
	if (why) {
		complain("XPULOAD_PUSH_TOKEN: %s", why);
		free(p);
		return NULL;
	}
	p->url = url;
	p->labels = labels ?: "";
	p->program = program;
	p->kind = parsed.kind;
	p->remove = remove;
	p->counts = counts;
	counts->nr_unknown = counts->nr_made - counts->nr_sent - counts->nr_lost;
	signal(SIGPIPE, SIG_IGN);
	err = profiles__start_pusher(p);
	if (!err)
		return p;
	complain("cannot run %s: %s", program, strerror(-err));
	free(p);
	return NULL;
}

void profiles__add(struct profiles *p, char *name, const struct profile_time *time, uint64_t *waits)
{
	const struct job job = { name, *time, waits };

	profiles__poll(p);
	if (*waits == PROFILES_HANDED) {
		p->counts->nr_unknown_files++;
		profiles__take(p, &job, false);
		if (p->remove)
			remove_file(name);
		*waits = 0;
		free(name);
		return;
	}
	if (p->nr_jobs == MAX_JOBS) {
		/* Keep the first job, which is being merged. */
		profiles__drop_job(p, 1);
		p->counts->nr_unmerged++;
	}
	p->jobs[p->nr_jobs++] = job;
	profiles__merge_next(p);
}

void profiles__give_up(struct profiles *p, const uint64_t *waits)
{
	size_t i;

	for (i = 0; i < p->nr_jobs && p->jobs[i].waits != waits; i++)
		;
	if (i == p->nr_jobs)
		return;
	if (!i && p->merger) {
		/*
		 * SIGXCPU makes the child remove its incomplete profile; SIGCONT resumes the child
		 * if it is stopped.
		 */
		kill(p->merger, SIGXCPU);
		kill(p->merger, SIGCONT);
		waitpid(p->merger, NULL, 0);
		p->merger = 0;
		profiles__take(p, &p->jobs[0], false);
	}
	profiles__drop_job(p, i);
	p->counts->nr_unmerged++;
}

void profiles__poll(struct profiles *p)
{
	profiles__answers(p);
	profiles__watch_pusher(p);
	profiles__watch_merger(p);
}

/* Waits for @done, and polls meanwhile. */
static void profiles__wait(struct profiles *p, uint64_t end_ms,
			   bool (*done)(const struct profiles *p))
{
	struct pollfd fd = { .events = POLLIN };

	while (!done(p) && now_ms() < end_ms) {
		fd.fd = p->pusher ? p->from : -1;
		poll(&fd, 1, 20);
		profiles__poll(p);
	}
}

static bool is_merged(const struct profiles *p)
{
	return !p->nr_jobs;
}

static bool is_answered(const struct profiles *p)
{
	return !p->nr_handed;
}

void profiles__finish(struct profiles *p)
{
	const struct profile_counts *c = p->counts;

	profiles__wait(p, now_ms() + FINISH_MS, is_merged);
	if (p->merger)
		kill(p->merger, SIGKILL);
	while (p->nr_jobs) {
		p->counts->nr_unmerged++;
		profiles__drop_job(p, 0);
	}
	p->finishing = true;
	if (p->pusher) {
		close(p->to);
		/* xpuload-push reads end of file, and tries once more to send its profiles. */
		p->to = open("/dev/null", O_RDWR | O_CLOEXEC);
	}
	/* A request may be in progress, and a stalled receiver may delay it. */
	profiles__wait(p, now_ms() + PUSH_FINISH_MS, is_answered);
	if (p->pusher) {
		kill(p->pusher, SIGKILL);
		waitpid(p->pusher, NULL, 0);
		profiles__pusher_ended(p);
	}
	if (p->merger)
		waitpid(p->merger, NULL, 0);
	complain("%s: %" PRIu64 " profile%s sent, %" PRIu64 " lost; %" PRIu64
		 " file%s without profiles",
		 p->url, c->nr_sent, PLURAL(c->nr_sent, "", "s"), c->nr_lost, c->nr_unmerged,
		 PLURAL(c->nr_unmerged, "", "s"));
	if (c->nr_unknown || c->nr_unknown_files)
		complain("%s: %" PRIu64 " more profile%s, and all of %" PRIu64
			 " more file%s, may have been "
			 "sent or not: xpumerge split was killed meanwhile",
			 p->url, c->nr_unknown, PLURAL(c->nr_unknown, "", "s"), c->nr_unknown_files,
			 PLURAL(c->nr_unknown_files, "", "s"));
	free(p);
}
