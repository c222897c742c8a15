// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/perf/side.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define YEAR_2000_NS	946684800000000000ull	/* earlier times are from another clock */
#define MAX_OTHER_PROCS	4096		/* maximum number of processes of the other side in which to
					 * search for a thread */

/* The state while samples are added to the import. */
struct side_writer {
	struct cpu_side *c;
	struct import *im;
	struct idmap paths;		/* maps (process, stack) to a path of the import */
	ARRAY(uint32_t) comms;		/* for each imported thread: 1 + number of its latest
					 * name */
	struct idmap pids;		/* maps tid to pid, for files without pids */
	uint32_t nr_others;		/* number of processes of the other side in which to search
					 * for a tid */
	ARRAY(struct span) frames;
};

/* ---- reading --------------------------------------------------------------------------------- */

static int cpu_side__put(struct cpu_side *c, const char *s, size_t len)
{
	int err = array_reserve(&c->launches, c->launches.nr + len);

	if (err)
		return err;
	memcpy(c->launches.v + c->launches.nr, s, len);
	c->launches.nr += len;
	return 0;
}

/* Writes the stacks of launches as lines "time comm pid tid cpu frame;frame;...". */
static int cpu_side__write_launches(struct cpu_side *c)
{
	const struct script *s = &c->script;
	uint32_t lowest = UINT32_MAX;
	const char *api, *stack;
	char ids[64];
	size_t i, len;
	int err = 0, n;

	for (i = 0; i < s->samples.nr; i++)
		lowest = min_t(uint32_t, lowest, s->samples.v[i].tid);
	array_each_while(&s->samples, sample, !err) {
		if (!perf_event__launches(s->events.v[sample->event].name, &api, &len))
			continue;
		stack = s->stack_texts.v[sample->stack];
		n = snprintf(ids, sizeof(ids), "%" PRIu64 " ", sample->time_ns);
		err = cpu_side__put(c, ids, n);
		err = err ?: cpu_side__put(c, *sample->comm ? sample->comm : "-",
					   *sample->comm ? strlen(sample->comm) : 1);
		/* Without pids, treat all threads as threads of one process. */
		n = snprintf(ids, sizeof(ids), " %" PRIu32 " %" PRIu32 " %" PRIu32 " ",
			     s->has_pids ? sample->pid : lowest, sample->tid, sample->cpu);
		err = err ?: cpu_side__put(c, ids, n);
		err = err ?: cpu_side__put(c, stack, strlen(stack));
		err = err ?: cpu_side__put(c, "\n", 1);
		c->nr_launches++;
	}
	return err;
}

static int cpu_side__read_script(struct cpu_side *c, bool srcline, struct msgs *msgs)
{
	struct script *s = &c->script;
	int err = script__read(s, c->file.buf, c->file.size, srcline);

	/* The file is no longer needed: the stacks hold all its data. */
	input_file__close(&c->file);
	err = err ?: perf_events__settle(s->events.v, s->events.nr, s->samples.v, s->samples.nr);
	err = err ?: cpu_side__write_launches(c);
	if (err)
		return err;
	if (s->nr_strange)
		msgs__add(msgs, "%s: %" PRIu64 " %s not what perf script prints: ignored",
			  c->path, s->nr_strange, PLURAL(s->nr_strange, "line is", "lines are"));
	c->odd = s->nr_strange;
	return 0;
}

static int cpu_side__read_data(struct cpu_side *c, struct msgs *msgs)
{
	struct perf_data *d = &c->data;
	int err = perf_data__read(d, c->file.buf, c->file.size, c->path, msgs);

	err = err ?: perf_events__settle(d->events.v, d->events.nr, d->samples.v, d->samples.nr);
	if (err)
		return err;
	if (d->cut)
		msgs__add(msgs, "%s: damaged or cut off: used up to there", c->path);
	if (d->nr_strange)
		msgs__add(msgs, "%s: %" PRIu64 " %s cannot be read: ignored", c->path,
			  d->nr_strange, PLURAL(d->nr_strange, "record", "records"));
	if (d->nr_no_unwind)
		msgs__add(msgs,
			  "%s: %" PRIu64 " %s cannot be unwound without all registers of x86-64: "
					 "give the output of perf script",
			  c->path, d->nr_no_unwind, PLURAL(d->nr_no_unwind, "stack", "stacks"));
	if (d->nr_launches)
		msgs__add(msgs, "%s: %" PRIu64 " %s left out: give the output of perf script to "
					       "have them", c->path, d->nr_launches,
			  PLURAL(d->nr_launches, "stack of a launch", "stacks of launches"));
	c->damaged = d->cut;
	c->odd = d->nr_strange;
	return 0;
}

static int cpu_side__read_file(struct cpu_side *c, bool srcline, struct msgs *msgs)
{
	if (perf_data__is(c->file.buf, c->file.size)) {
		c->kind = CPU_SIDE_DATA;
		return cpu_side__read_data(c, msgs);
	}
	if (script__is(c->file.buf, c->file.size)) {
		c->kind = CPU_SIDE_SCRIPT;
		return cpu_side__read_script(c, srcline, msgs);
	}
	c->kind = CPU_SIDE_LINES;
	return 0;
}

int cpu_side__read(struct cpu_side *c, const char *path, bool srcline, struct msgs *msgs)
{
	int err;

	*c = (struct cpu_side){ .path = path, .told.first_ns = UINT64_MAX };
	err = input_file__open(&c->file, path);
	if (!err)
		return cpu_side__read_file(c, srcline, msgs);
	if (err == -ENOMEM)
		return err;
	return msgs__refuse(msgs, "%s: cannot be read: %s", path, import__load_error(err));
}

int cpu_side__read_mem(struct cpu_side *c, const char *buf, size_t size, bool srcline,
		       struct msgs *msgs)
{
	*c = (struct cpu_side){
		.path = "memory", .told.first_ns = UINT64_MAX, .file = { .buf = buf, .size = size },
	};
	return cpu_side__read_file(c, srcline, msgs);
}

void cpu_side__exit(struct cpu_side *c)
{
	array_free(&c->launches);
	script__exit(&c->script);
	perf_data__exit(&c->data);
	input_file__close(&c->file);
}

struct input_file *cpu_side__lines(struct cpu_side *c)
{
	if (c->kind == CPU_SIDE_LINES)
		return &c->file;
	if (!c->nr_launches)
		return NULL;
	c->lines = (struct input_file){ .buf = c->launches.v, .size = c->launches.nr };
	return &c->lines;
}

/* ---- telling --------------------------------------------------------------------------------- */

/* Return: the process that has thread @tid on the other side; @tid itself if no process has it. */
static uint32_t side_writer__pid(struct side_writer *w, uint32_t tid)
{
	uint32_t pid, proc;

	if (w->im->err || idmap__get(&w->pids, tid, &pid))
		return w->im->err ? 0 : pid;
	pid = tid;
	for (proc = 1; proc <= w->nr_others; proc++)
		if (import__find_thread(w->im, proc, tid))
			pid = w->im->by_proc.v[proc - 1].pid;
	w->im->err = idmap__put(&w->pids, tid, pid);
	return pid;
}

/* Return: a process's path for a stack of the file; each path is made only once. */
static uint32_t side_writer__path(struct side_writer *w, uint32_t proc,
				  const struct perf_sample *sample)
{
	const char *p = w->c->script.stack_texts.v[sample->stack];
	uint64_t key = ID_KEY(proc, sample->stack);
	uint32_t path;

	if (w->im->err || idmap__get(&w->paths, key, &path))
		return w->im->err ? 0 : path;
	w->frames.nr = 0;
	while (*p && !w->im->err) {
		size_t len = strcspn(p, ";");

		w->im->err = array_push(&w->frames, ((struct span){ p, len }));
		p += len + (p[len] == ';');
	}
	path = import__cpu_path(w->im, proc, sample->time_ns, w->frames.v, w->frames.nr);
	w->im->err = w->im->err ?: idmap__put(&w->paths, key, path);
	return path;
}

static void side_writer__sample(struct side_writer *w, const struct perf_sample *sample)
{
	struct cpu_side *c = w->c;
	struct import *im = w->im;
	uint32_t ns = perf_event__ns(&c->script.events.v[sample->event], sample);
	uint32_t pid = sample->pid, tid = sample->tid, comm = 1 + strpool__id(sample->comm);
	uint32_t proc, thread, *last;

	if (!c->script.has_ids)
		pid = tid = comm;
	else if (!c->script.has_pids)
		pid = side_writer__pid(w, tid);
	proc = import__find_process(im, pid) ?: import__process(im, pid, sample->comm, 0);
	thread = import__find_thread(im, proc, tid) ?: import__thread(im, proc, tid);
	while (w->comms.nr <= thread && !im->err)
		im->err = array_push(&w->comms, 0);
	if (im->err)
		return;
	last = &w->comms.v[thread];
	c->told.nr_threads += !*last;
	/* A thread's first name also applies to the time before its first sample. */
	if (*last != comm && *sample->comm)
		import__comm(im, pid, tid, *last ? sample->time_ns : 0, sample->comm);
	*last = comm;
	import__sample(im, sample->time_ns, side_writer__path(w, proc, sample), thread, sample->cpu,
		       ns);
	c->told.nr_samples++;
	c->told.samples_ns += ns;
	c->told.first_ns = min_t(uint64_t, c->told.first_ns, sample->time_ns);
	c->told.last_ns = max_t(uint64_t, c->told.last_ns, sample->time_ns);
}

/* Adds a message if the times of the two sides cannot be from the same clock. */
static void cpu_side__compare_clocks(const struct cpu_side *c, uint64_t first_ns, uint64_t last_ns,
				     const char *other, struct msgs *msgs)
{
	static const char advice[] = "perf record -k CLOCK_MONOTONIC has the clock of most tools";
	const struct perf_told *told = &c->told;
	int clock = c->kind == CPU_SIDE_DATA ? c->data.clock : c->script.clock;

	if (!other || !told->nr_samples || first_ns > last_ns)
		return;
	if (!told->last_ns)
		msgs__add(msgs,
			  "%s: no times (perf script -F +time prints them): its samples are at "
			  "0 in a timeline",
			  c->path);
	else if (last_ns == UINT64_MAX && told->last_ns < first_ns)
		msgs__add(msgs,
			  "%s: its times end at %.3f s, before the times of %s begin, at %.3f s: "
			  "sums are right, but a timeline does not show the two together; %s",
			  c->path, told->last_ns / 1e9, other, first_ns / 1e9, advice);
	else if (told->first_ns > last_ns || told->last_ns < first_ns)
		msgs__add(
			msgs,
			"%s: its times, %.3f s to %.3f s, are not from the clock of %s, %.3f s to "
			"%.3f s: sums are right, but a timeline does not show the two together; "
			"%s",
			c->path, told->first_ns / 1e9, told->last_ns / 1e9, other, first_ns / 1e9,
			last_ns / 1e9, advice);
	else if (clock == PERF_CLOCK_OWN || (clock >= 0 && clock != CLOCK_MONOTONIC &&
					     clock != CLOCK_REALTIME))
		msgs__add(msgs, "%s: not recorded with the clock of %s: in a timeline the two are "
			  "somewhat shifted; %s", c->path, other, advice);
}

/*
 * Sets the host and the clock. The text of perf script contains neither the host nor the boot. If
 * this text is merged with a recording, the recording's host and boot are assumed. If perf.data
 * lacks a wall-clock time, the recording's boot is assumed.
 */
static void cpu_side__tell_host(const struct cpu_side *c, struct import *im,
				const struct reader *beside)
{
	const struct perf_data *d = &c->data;
	struct span hostname = d->hostname;
	char host[READER_HOST_MAX];
	const struct {
		uint32_t key;
		struct span text;
	} infos[] = {
		{ XPU_INFO_OS_RELEASE, d->release }, { XPU_INFO_ARCH, d->arch },
		{ XPU_INFO_CMDLINE, d->command },
	};
	size_t i;

	if (beside && !hostname.len)
		hostname = (struct span){ host, reader__hostname(beside, host) };
	if (hostname.len)
		import__info(im, XPU_INFO_HOSTNAME, hostname);
	for (i = 0; i < ARRAY_SIZE(infos); i++)
		if (infos[i].text.len)
			import__info(im, infos[i].key, infos[i].text);
	if (d->real_ns && d->clock_ns)
		import__clock(im, d->clock_ns, d->real_ns);
	else if (beside)
		import__clock(im, beside->header.start_mono_ns, beside->header.start_real_ns);
}

static int cpu_side__tell_data(struct cpu_side *c, struct import *im, const char *buildid_dir)
{
	const struct perf_data *d = &c->data;
	uint64_t shift_ns = 0;

	/*
	 * The other side has wall-clock times, and perf.data has the same time on its own clock and
	 * on the wall clock.
	 */
	if (im->first_ns != UINT64_MAX && im->first_ns > YEAR_2000_NS && d->real_ns > d->clock_ns)
		shift_ns = d->real_ns - d->clock_ns;
	return perf_data__tell(&c->data, im, shift_ns, buildid_dir, &c->told);
}

static int cpu_side__tell_script(struct cpu_side *c, struct import *im)
{
	struct side_writer w = {
		.c = c, .im = im, .nr_others = min_t(size_t, im->by_proc.nr, MAX_OTHER_PROCS),
	};
	const struct script *s = &c->script;
	struct xpu_record_lost lost = { .kind = XPU_LOST_SAMPLE, .count = s->nr_lost };
	size_t i;

	if (s->nr_lost)
		import__record(im, XPU_RECORD_LOST, 0, &lost, sizeof(lost), NULL, 0);
	for (i = 0; i < s->samples.nr && !im->err; i++)
		if (s->events.v[s->samples.v[i].event].used)
			side_writer__sample(&w, &s->samples.v[i]);
	array_free(&w.frames);
	idmap__free(&w.pids);
	array_free(&w.comms);
	idmap__free(&w.paths);
	return im->err;
}

int cpu_side__write(struct cpu_side *c, struct import *im, const char *other,
		    const struct reader *beside, const char *buildid_dir, struct msgs *msgs)
{
	uint64_t first_ns = im->first_ns, last_ns = im->last_ns;
	const char *name = other ?: beside ? beside->name : NULL;
	bool is_data = c->kind == CPU_SIDE_DATA;
	const struct perf_event *events = is_data ? c->data.events.v : c->script.events.v;
	size_t nr = is_data ? c->data.events.nr : c->script.events.nr, i;
	const char *of = NULL;		/* the first event with samples */
	int err;

	/* The other importer has already read the stacks of launches. */
	array_free(&c->launches);
	if (!is_data && c->kind != CPU_SIDE_SCRIPT) {
		input_file__close(&c->file);
		return 0;
	}
	if (!other)
		cpu_side__tell_host(c, im, beside);
	/* So far, only the start of the other recording is known. */
	if (beside) {
		first_ns = beside->header.start_mono_ns;
		last_ns = UINT64_MAX;
	}
	err = is_data ? cpu_side__tell_data(c, im, buildid_dir) : cpu_side__tell_script(c, im);
	if (err)
		return err;
	for (i = nr; i--;)
		of = events[i].nr ? events[i].name : of;
	if (!c->told.nr_samples && !(other && c->nr_launches))
		return msgs__refuse(msgs, c->nr_launches ?
				    "%s: has stacks of launches only: give the device records with "
				    "--gpu" : of ?
				    "%s: has no samples of CPU time, which the events cpu-clock, "
				    "task-clock and cycles give, but of %s" :
				    "%s: has no samples", c->path, of);
	perf_events__complain(events, nr, c->path, msgs);
	if (!is_data && !c->script.has_ids)
		msgs__add(msgs,
			  "%s: has no ids of threads (perf script -F +pid,+tid prints them): "
			  "threads with the same name count as one",
			  c->path);
	cpu_side__compare_clocks(c, first_ns, last_ns, name, msgs);
	script__exit(&c->script);
	perf_data__exit(&c->data);
	input_file__close(&c->file);
	return 0;
}

void cpu_side__print(const struct cpu_side *c, FILE *f)
{
	const struct perf_told *told = &c->told;

	if (told->nr_samples)
		fprintf(f, "  %" PRIu64 " CPU samples in %.3f ms, %.3f ms of CPU time, of %" PRIu32
			" threads\n", told->nr_samples, (told->last_ns - told->first_ns) / 1e6,
			told->samples_ns / 1e6, told->nr_threads);
}
