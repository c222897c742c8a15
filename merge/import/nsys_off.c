// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * nsys_off.c - imports the times at which threads ran and waited
 *
 * The times are in the export's context switches and system library calls.
 *
 * A thread is off the CPU between two rows of SCHED_EVENTS. The thread's call in OSRT_API at that
 * time shows why the thread waited, and on which call path. Without context switches, OSRT_API is
 * not read, because a thread may run during a whole call.
 */
#include "import/nsys_importer.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "xpu_record.h"

#define NESTED_MAX	64		/* number of calls to search backward */

/* A call of a system library function. */
struct os_call {
	uint64_t start_ns, end_ns;
	uint64_t tid;			/* globalTid */
	const char *name;
	uint32_t chain;			/* index in nsys.os_chains; NO_INDEX: none */
};

struct switches {
	struct nsys_importer *i;
	ARRAY(struct os_call) calls;	/* sorted by thread and time, outer calls first */
	uint64_t tid;			/* the thread whose rows are being read */
	uint32_t thread;		/* the recording's id of that thread; 0: skip it */
	uint32_t proc;
	bool running;
	struct xpu_record_account account;
};

/* Return: the reason why a thread in the function @name waits. */
static enum xpu_off_kind off_kind(const char *name)
{
	static const struct {
		const char *word;	/* the start of the name */
		enum xpu_off_kind kind;
	} words[] = {
		{ "pthread_", XPU_OFF_LOCK }, { "sem_", XPU_OFF_LOCK }, { "futex", XPU_OFF_LOCK },
		{ "mtx_", XPU_OFF_LOCK }, { "cnd_", XPU_OFF_LOCK }, { "flock", XPU_OFF_LOCK },
		{ "poll", XPU_OFF_POLL }, { "ppoll", XPU_OFF_POLL }, { "select", XPU_OFF_POLL },
		{ "pselect", XPU_OFF_POLL }, { "epoll_", XPU_OFF_POLL },
		{ "sleep", XPU_OFF_SLEEP }, { "usleep", XPU_OFF_SLEEP },
		{ "nanosleep", XPU_OFF_SLEEP }, { "clock_nanosleep", XPU_OFF_SLEEP },
		{ "wait", XPU_OFF_CHILD },
		{ "read", XPU_OFF_IO }, { "write", XPU_OFF_IO }, { "pread", XPU_OFF_IO },
		{ "pwrite", XPU_OFF_IO }, { "fread", XPU_OFF_IO }, { "fwrite", XPU_OFF_IO },
		{ "fgets", XPU_OFF_IO }, { "fflush", XPU_OFF_IO }, { "fsync", XPU_OFF_IO },
		{ "fdatasync", XPU_OFF_IO }, { "open", XPU_OFF_IO }, { "fopen", XPU_OFF_IO },
		{ "recv", XPU_OFF_IO }, { "send", XPU_OFF_IO }, { "accept", XPU_OFF_IO },
		{ "connect", XPU_OFF_IO }, { "msgrcv", XPU_OFF_IO }, { "msgsnd", XPU_OFF_IO },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (!strncmp(name, words[i].word, strlen(words[i].word)))
			return words[i].kind;
	return XPU_OFF_OTHER;
}

static int switches__read_calls(struct switches *s)
{
	static const char table[] = "OSRT_API";
	struct nsys *n = s->i->n;
	sqlite3_stmt *stmt;
	int err;

	err = database__select(&n->db, table, "globalTid start end nameId callchainId", 3,
			       "ORDER BY 1, 2, 3 DESC", &stmt);
	while (database__next(&n->db, &stmt, table, &err)) {
		struct os_call c = {
			.tid = sqlite3_column_int64(stmt, 0),
			.name = nsys__string(n, stmt, 3) ?: "[unknown]", .chain = NO_INDEX,
		};

		if (!nsys__times(n, stmt, 1, &c.start_ns, &c.end_ns))
			continue;
		idmap__get(&n->os_chain_ids, sqlite3_column_int64(stmt, 4), &c.chain);
		err = array_push(&s->calls, c);
	}
	return err;
}

/* Return: the outermost call in which the thread was at @time_ns, or NULL. */
static const struct os_call *switches__call_at(const struct switches *s, uint64_t time_ns)
{
	size_t lo = 0, hi = s->calls.nr, mid, nr;
	const struct os_call *c, *found = NULL;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		c = &s->calls.v[mid];
		if (c->tid < s->tid || (c->tid == s->tid && c->start_ns <= time_ns))
			lo = mid + 1;
		else
			hi = mid;
	}
	for (nr = 0; lo && nr < NESTED_MAX && s->calls.v[lo - 1].tid == s->tid; lo--, nr++)
		if (s->calls.v[lo - 1].end_ns >= time_ns)
			found = &s->calls.v[lo - 1];
	return found;
}

/*
 * Return: the path of a call; 0 if the call has no stack. Each pair of call chain and function has
 * one path.
 */
static uint32_t switches__path(struct switches *s, const struct os_call *c)
{
	struct nsys_importer *i = s->i;
	const struct nsys_chain *chain;
	uint32_t path = 0;
	const char *key;
	int err;

	if (c->chain == NO_INDEX || i->im->err)
		return 0;
	key = strpool__internf(&i->n->strings, "os %u %u %p", c->chain, s->proc,
			       (const void *)c->name);
	if (!key) {
		i->im->err = -ENOMEM;
		return 0;
	}
	if (idmap__get(&i->paths, (uintptr_t)key, &path))
		return path;
	chain = &i->n->os_chains.v[c->chain];
	nsys_importer__names(i, &i->n->os_frames.v[chain->first], chain->nr);
	i->im->err = i->im->err ?: array_push(&i->names, span__of(c->name));
	if (i->im->err)
		return 0;
	path = import__cpu_path(i->im, nsys_importer__proc(i, s->proc), c->start_ns, i->names.v,
				i->names.nr);
	err = idmap__put(&i->paths, (uintptr_t)key, path);
	i->im->err = i->im->err ?: err;
	return path;
}

/*
 * Adds a period in which the thread was off the CPU. If the thread was in a CUDA call, it waited
 * for the device. Such waits are imported elsewhere, so only their time is added to the thread's
 * account here.
 */
static int switches__off(struct switches *s, uint64_t start_ns, uint64_t ns)
{
	const struct os_call *c = switches__call_at(s, start_ns);
	enum xpu_off_kind kind = c ? off_kind(c->name) : XPU_OFF_OTHER;
	struct xpu_record_off off = {
		.start_ns = start_ns, .duration_ns = ns, .thread_id = s->thread,
	};
	struct xpu_record_off_cpu sum = {
		.last_ns = start_ns, .nr = 1, .sum_ns = ns, .max_ns = ns, .thread_id = s->thread,
		.first_ns = start_ns, .end_ns = start_ns + ns,
	};

	if (nsys_importer__call_at(s->i, s->tid, start_ns) != NO_INDEX) {
		s->account.time.off_ns[XPU_OFF_CALL] += ns;
		return 0;
	}
	s->account.time.off_ns[kind] += ns;
	if (c && ns) {
		sum.path_id = switches__path(s, c);
		import__record(s->i->im, XPU_RECORD_OFF_CPU, kind, &sum, sizeof(sum), NULL, 0);
	} else {
		import__record(s->i->im, XPU_RECORD_OFF, kind, &off, sizeof(off), NULL, 0);
	}
	return s->i->im->err;
}

static void switches__end_thread(struct switches *s)
{
	if (s->thread && s->account.end_ns > s->account.start_ns)
		import__record(s->i->im, XPU_RECORD_ACCOUNT, 0, &s->account, sizeof(s->account),
			       NULL, 0);
	s->thread = 0;
}

/* Return: whether Nsight Systems itself runs this thread inside the program. */
static bool switches__is_own(const struct switches *s, uint64_t tid)
{
	const struct nsys *n = s->i->n;
	uint32_t idx;

	return idmap__get(&n->thread_names, tid, &idx) &&
	       !strncmp(n->string_values.v[idx], "[NSys", 5);
}

/*
 * Begins with the events of the next thread. Skips the thread if CUDA was not traced in its
 * process, or if it belongs to the profiler.
 */
static int switches__begin_thread(struct switches *s, uint64_t tid, uint64_t time_ns)
{
	int err;

	switches__end_thread(s);
	s->tid = tid;
	err = nsys__proc(s->i->n, tid, &s->proc);
	if (err)
		return err;
	if (!s->i->n->procs.v[s->proc].traced || switches__is_own(s, tid))
		return 0;
	s->thread = nsys_importer__thread(s->i, tid, s->proc);
	s->account = (struct xpu_record_account){
		.start_ns = time_ns, .end_ns = time_ns, .thread_id = s->thread,
	};
	return s->i->im->err;
}

static int switches__row(struct switches *s, uint64_t tid, uint64_t time_ns, bool in)
{
	uint64_t ns;
	int err = 0;

	if (s->tid != tid) {
		err = switches__begin_thread(s, tid, time_ns);
		s->running = in;
		if (!in)
			s->account.time.nr_switches++;
		return err;
	}
	if (!s->thread)
		return 0;
	ns = time_ns - s->account.end_ns;
	if (s->running)
		s->account.time.run_ns += ns;
	else
		err = switches__off(s, s->account.end_ns, ns);
	s->account.time.nr_switches += s->running && !in;
	s->account.end_ns = time_ns;
	s->running = in;
	return err;
}

/* Notes all times, so that a row far away from all other events can be left out. */
static int switches__see_times(struct switches *s, const char *table)
{
	struct nsys *n = s->i->n;
	sqlite3_stmt *stmt;
	uint64_t time;
	int err = database__select(&n->db, table, "start", 1, "", &stmt);

	while (!err && stmt && sqlite3_step(stmt) == SQLITE_ROW)
		if (nsys__is_time(n, stmt, 0, &time))
			import__see_other(s->i->im, time);
	sqlite3_finalize(stmt);
	return err ?: s->i->im->err;
}

static int switches__read(struct switches *s)
{
	static const char table[] = "SCHED_EVENTS";
	uint64_t from_ns, to_ns;
	struct nsys *n = s->i->n;
	sqlite3_stmt *stmt;
	int err = switches__see_times(s, table);

	if (err)
		return err;
	time_bounds__find(&s->i->im->bounds, &from_ns, &to_ns);

	err = database__select(&n->db, table, "globalTid start isSchedIn", 3, "ORDER BY 1, 2, 3",
			       &stmt);
	if (!err && stmt)
		err = switches__read_calls(s);
	while (database__next(&n->db, &stmt, table, &err)) {
		uint64_t time;

		if (!nsys__time(n, stmt, 1, &time))
			continue;
		if (column__is_null(stmt, 0) || time < from_ns || time > to_ns)
			n->db.nr_strange++;
		else
			err = switches__row(s, sqlite3_column_int64(stmt, 0), time,
					    sqlite3_column_int64(stmt, 2));
	}
	if (!err)
		switches__end_thread(s);
	return err;
}

int nsys_importer__switches(struct nsys_importer *i)
{
	struct switches s = { .i = i, .tid = UINT64_MAX };
	int err = switches__read(&s);

	array_free(&s.calls);
	return err ?: i->im->err;
}
