// SPDX-License-Identifier: GPL-3.0-or-later
#include "read/resolve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"

/*
 * The shim uses this callback id for an explicit call that makes a graph node, because the shim
 * does not know the call's own id.
 */
#define DOMAIN_RESOURCE		3	/* CUPTI_CB_DOMAIN_RESOURCE */
#define CBID_GRAPHNODE_CREATED	13	/* CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED */

static int resolve_path(const struct found *f, struct model *m, struct path *path)
{
	const struct xpu_record_callchain *rec = path->rec;
	const struct proc *proc = &m->machine.procs.v[path->proc];
	const char *name;

	if (proc->pid)
		path->image = machine__image(&m->machine, proc->pid, rec->time_ns);
	if (rec->hdr.misc & XPU_CHAIN_CPU)
		return 0;
	name = found__api_name(f, path->proc, rec->domain, rec->cbid);
	/*
	 * A graph launch owns the records of all its nodes; an unknown call may be a graph launch.
	 */
	path->one_record = name && !strcasestr(name, "graph");
	if (name && *name)
		path->api = strpool__intern(&m->strings, name, strlen(name));
	else if (rec->domain == DOMAIN_RESOURCE && rec->cbid == CBID_GRAPHNODE_CREATED)
		path->api = strpool__internf(&m->strings, "[graph node made]");
	else
		path->api = strpool__internf(&m->strings, "[api %u:%u]", rec->domain, rec->cbid);
	return path->api ? 0 : -ENOMEM;
}

static int resolve_paths(const struct found *f, struct model *m)
{
	size_t i;
	int err = 0;

	for (i = f->first_path; i < m->paths.nr && !err; i++)
		err = resolve_path(f, m, &m->paths.v[i]);
	return err;
}

/* Collects the times when processes ended. */
static int resolve_exits(struct found *f, struct machine *m)
{
	bool ends_seen = false;
	uint32_t replaced;
	size_t i;
	int err = 0;

	for (i = f->first_proc; i < m->procs.nr && !err; i++) {
		const struct proc *p = &m->procs.v[i];

		ends_seen |= p->exited;
		if (p->exited)
			err = array_push(&f->exits, ((struct exit_at){ p->pid, p->exit_ns }));
	}
	/* An image that an exec replaced has ended, too, but its pid lives on. */
	for (i = f->first_proc; i < m->procs.nr; i++) {
		const struct proc *p = &m->procs.v[i];

		if (p->how == XPU_MISC_PROCESS_EXEC &&
		    idmap__get(&m->procs_by_id, p->parent_proc_id, &replaced) &&
		    !m->procs.v[replaced].exited) {
			m->procs.v[replaced].exited = true;
			m->procs.v[replaced].exit_ns = p->time_ns;
		}
	}
	found__sort_exits(f);
	f->ends_known = ends_seen;
	return err;
}

/* Counts everything that a process sent, if the process was recorded from its beginning. */
static void resolve_sent(struct found *f, const struct machine *m)
{
	size_t i;

	for (i = 0; i < f->sent.nr; i++) {
		if (f->sent.v[i].carried ||
		    m->procs.v[f->first_proc + i].how == XPU_MISC_PROCESS_ATTACH)
			continue;
		f->sent.v[i].baseline = 0;
		f->sent.v[i].first = &counters__none;
	}
}

static int resolve_devices(const struct found *f, struct model *m)
{
	size_t i;
	int err = 0;

	for (i = 0; i < f->device_defs.nr && !err; i++) {
		const struct device_def *def = &f->device_defs.v[i];

		err = gpus__define(&m->gpus, def->proc, def->rec->device, def->rec->uuid,
				   found__string(f, def->proc, def->rec->name),
				   def->rec->hdr.size < sizeof(*def->rec) ?
				   NULL : &def->rec->limits);
	}
	for (i = 0; i < f->stream_defs.nr && !err; i++) {
		const struct stream_def *def = &f->stream_defs.v[i];
		struct stream stream = {
			.proc = def->proc,
			.context = def->rec->context,
			.stream = def->rec->stream,
			.known = true,
		};

		err = gpus__get(&m->gpus, def->proc, def->rec->device, &stream.gpu);
		if (!err)
			err = array_push(&m->streams, stream);
	}
	return err ?: metrics__find_gpus(&m->metrics, m->machine.recording, &m->gpus);
}

/* ---- PC samples ------------------------------------------------------------------------------ */

#define REASON_PREFIX	"smsp__pcsamp_warps_issue_stalled_"
#define NOT_ISSUED	"_not_issued"
#define MAX_REASONS	64		/* reasons of one place to search */

/* a stall reason that a process defined */
struct stall_reason {
	const char *name;		/* interned, without prefix and suffix; NULL: no memory */
	bool not_issued;
};

static struct stall_reason stall_reason(const struct found *f, struct model *m, uint32_t proc,
					uint32_t index)
{
	size_t prefix = strlen(REASON_PREFIX), suffix = strlen(NOT_ISSUED), len;
	struct stall_reason r = { .not_issued = false };
	const char *name = NULL;
	uint32_t id;

	if (idmap__get(&f->stall_reasons, ID_KEY(proc, index), &id))
		name = found__string(f, proc, id);
	if (!name) {
		r.name = strpool__internf(&m->strings, "[reason %" PRIu32 "]", index);
		return r;
	}
	if (!strncmp(name, REASON_PREFIX, prefix))
		name += prefix;
	len = strlen(name);
	if (len > suffix && !strcmp(name + len - suffix, NOT_ISSUED)) {
		r.not_issued = true;
		len -= suffix;
	}
	r.name = strpool__intern(&m->strings, name, len);
	return r;
}

/* Finds the lines of a module. Sets *@cubin to NULL if they are unknown. Return: 0 or -ENOMEM. */
static int find_cubin(const struct found *f, uint32_t proc, uint64_t crc, struct cubin_def **cubin)
{
	size_t i;
	int err;

	*cubin = NULL;
	for (i = 0; i < f->cubins.nr; i++) {
		struct cubin_def *def = &f->cubins.v[i];

		if (def->proc != proc || def->crc != crc || def->bytes.nr != def->total_bytes)
			continue;
		if (!def->lines) {
			def->lines = calloc(1, sizeof(*def->lines));
			if (!def->lines)
				return -ENOMEM;
			err = cubin_lines__read(def->lines, (const void *)def->bytes.v,
						def->bytes.nr);
			if (err)
				return err;
			def->places = calloc(def->lines->lines.nr + 1, sizeof(*def->places));
			if (!def->places)
				return -ENOMEM;
		}
		*cubin = def;
		return 0;
	}
	return 0;
}

/* Prints "file.cu:12", preceded by the name of the function if that is inlined. */
static void print_place(FILE *f, const struct cubin_lines *l, const char *inlined, uint32_t file,
			uint32_t line)
{
	char *pretty = inlined ? demangle(inlined) : NULL;
	const char *s = pretty ?: inlined ?: "";

	/* The file's own functions are in a namespace whose name changes with each compilation. */
	if (!strncmp(s, "_INTERNAL_", strlen("_INTERNAL_")) && strstr(s, "::"))
		s = strstr(s, "::") + strlen("::");
	/* Replace ";", which separates frames. */
	for (; *s; s++)
		putc(*s == ';' ? ':' : *s, f);
	if (inlined)
		fputs(*inlined ? " at " : UNKNOWN " at ", f);
	for (s = l->files.v[file]; *s; s++)
		putc(*s == ';' ? ':' : *s, f);
	fprintf(f, ":%" PRIu32, line);
	free(pretty);
}

/* Return: the frames of a line, the kernel's own line first; NULL if memory is short. */
static const char *print_line(struct model *m, const struct cubin_lines *l,
			      const struct cubin_line *line)
{
	const struct cubin_site *sites[STALL_MAX_FRAMES - 1];
	const char *inlined = NULL, *place = NULL;
	size_t nr = 0, len;
	char *text = NULL;
	uint32_t site;
	FILE *f;

	for (site = line->site; site != NO_INDEX && nr < ARRAY_SIZE(sites);
	     site = sites[nr++]->site)
		sites[nr] = &l->sites.v[site];
	f = open_memstream(&text, &len);
	if (!f)
		return NULL;
	while (nr--) {
		print_place(f, l, inlined, sites[nr]->file, sites[nr]->line);
		putc(';', f);
		inlined = sites[nr]->callee;
	}
	print_place(f, l, inlined, line->file, line->line);
	if (!fclose(f) && text)
		place = strpool__intern(&m->strings, text, len);
	free(text);
	return place;
}

/*
 * Return: the line of an instruction, or the instruction's offset if the line is unknown; NULL if
 * memory is short.
 */
static const char *place_of(struct model *m, const struct cubin_def *cubin, const char *function,
			    uint32_t pc)
{
	const struct cubin_line *line = NULL;
	const char **place;

	if (cubin && function)
		line = cubin_lines__find(cubin->lines, function, pc);
	if (!line)
		return strpool__internf(&m->strings, "+%#" PRIx32, pc);
	place = &cubin->places[line - cubin->lines->lines.v];
	if (!*place)
		*place = print_line(m, cubin->lines, line);
	return *place;
}

/* Adds the samples at one place to @w, the last window. */
static int window__add(struct model *m, struct stall_window *w, const char *place,
		       const struct xpu_stall *stall, const struct stall_reason *reason)
{
	struct stalls *s = &m->stalls;
	uint32_t idx;
	size_t i;
	int err;

	if (!place || !reason->name)
		return -ENOMEM;
	err = stalls__place(s, place, reason->name, &idx);
	if (err)
		return err;
	/* The reasons of one place are adjacent. */
	for (i = s->counts.nr; i > w->first && i + 2 * MAX_REASONS > s->counts.nr; i--)
		if (s->counts.v[i - 1].place == idx)
			break;
	if (i == w->first || s->counts.v[i - 1].place != idx) {
		err = array_push(&s->counts, ((struct stall_count){ .place = idx }));
		i = s->counts.nr;
		w->nr++;
	}
	if (err)
		return err;
	if (reason->not_issued) {
		s->counts.v[i - 1].not_issued += stall->samples;
	} else {
		s->counts.v[i - 1].samples += stall->samples;
		w->samples += stall->samples;
	}
	return 0;
}

static int resolve_window(const struct found *f, struct model *m, uint32_t proc,
			  const struct xpu_record_stalls *rec, struct loss *loss)
{
	struct stall_window w = { .first = m->stalls.counts.nr };
	struct cubin_def *cubin;
	const char *mangled = found__string(f, proc, rec->function), *name;
	char *pretty;
	uint32_t i;
	int err;

	if (rec->hdr.misc == XPU_MISC_STALLS_LAUNCH)
		w.correlation_id = rec->correlation_id;
	else if (!found__has_time(f, rec->begin_ns, rec->end_ns))
		loss->outside_stalls++;	/* the samples belong to no launch */
	else if (rec->begin_ns > rec->end_ns ||
		 __builtin_add_overflow(rec->begin_ns, f->shift_ns, &w.begin_ns) ||
		 __builtin_add_overflow(rec->end_ns, f->shift_ns, &w.end_ns))
		return 0;
	pretty = demangle(mangled ?: "");
	name = pretty ?: mangled ?: UNKNOWN;
	name = strpool__intern(&m->strings, name, strlen(name));
	free(pretty);
	if (!name)
		return -ENOMEM;
	err = stalls__function(&m->stalls, proc, rec->context, name, &w.function) ?:
	      find_cubin(f, proc, rec->cubin_crc, &cubin);
	for (i = 0; i < rec->nr && !err; i++) {
		struct stall_reason reason = stall_reason(f, m, proc, rec->stalls[i].reason);

		err = window__add(m, &w, place_of(m, cubin, mangled, rec->stalls[i].pc),
				  &rec->stalls[i], &reason);
	}
	return err ?: array_push(&m->stalls.windows, w);
}

static bool same_context(const struct stalls_def *a, const struct stalls_def *b)
{
	const struct xpu_record_stalls_account *x = (const void *)a->rec, *y = (const void *)b->rec;

	return a->proc == b->proc && x->device == y->device && x->context == y->context;
}

static int add_span(const struct found *f, struct stalls *s, uint32_t proc,
		    const struct xpu_record_stalls_account *rec, struct loss *loss)
{
	struct stall_span span = { .proc = proc, .context = rec->context };

	if (rec->hdr.size < sizeof(*rec) || !rec->begin_ns)
		return 0;
	s->knows_spans = true;
	if (!found__has_time(f, rec->begin_ns, rec->end_ns)) {
		loss->outside_stalls++;
		return 0;
	}
	if (rec->begin_ns >= rec->end_ns ||
	    __builtin_add_overflow(rec->begin_ns, f->shift_ns, &span.begin_ns) ||
	    __builtin_add_overflow(rec->end_ns, f->shift_ns, &span.end_ns))
		return 0;
	return array_push(&s->spans, span);
}

/*
 * Adds up the last account of each context, and keeps the spans of all accounts. Return: 0 or
 * -ENOMEM.
 */
static int resolve_accounts(const struct found *f, struct stalls *s, struct loss *loss)
{
	uint64_t told;
	int err = 0;
	size_t i, k;

	for (i = f->stalls_accounts.nr; i-- && !err;) {
		const struct xpu_record_stalls_account *rec =
			(const void *)f->stalls_accounts.v[i].rec;

		err = add_span(f, s, f->stalls_accounts.v[i].proc, rec, loss);
		for (k = i + 1; k < f->stalls_accounts.nr; k++)
			if (same_context(&f->stalls_accounts.v[i], &f->stalls_accounts.v[k]))
				break;
		if (k < f->stalls_accounts.nr)
			continue;
		s->total += rec->total;
		s->others += rec->others;
		s->dropped += rec->dropped;
		s->nr_full += rec->nr_full;
		s->recorded += rec->recorded;
		told = rec->recorded + rec->others + rec->dropped;
		loss->stalls_full += rec->nr_full;
		loss->stalls_unexplained += rec->total > told ? rec->total - told : 0;
	}
	return err;
}

static int resolve_stalls(const struct found *f, struct model *m, struct loss *loss)
{
	size_t i;
	int err = 0;

	for (i = 0; i < f->stalls_defs.nr && !err; i++)
		err = resolve_window(f, m, f->stalls_defs.v[i].proc,
				     (const void *)f->stalls_defs.v[i].rec, loss);
	return err ?: resolve_accounts(f, &m->stalls, loss);
}

/*
 * Gives each process the labels that it inherits. A parent may come after its children in the file.
 * Return: 0 or -ENOMEM.
 */
static int resolve_labels(const struct found *f, struct machine *m)
{
	size_t first = f->first_proc, nr = m->procs.nr - first, i;
	uint8_t *done = calloc(nr + 1, 1);
	ARRAY(uint32_t) line = { 0 };
	uint32_t proc, parent;
	int err = done ? 0 : -ENOMEM;

	for (i = 0; i < nr && !err; i++) {
		for (proc = first + i; !err && !done[proc - first]; proc = parent) {
			done[proc - first] = 1;
			err = array_push(&line, proc);
			if (!idmap__get(&m->procs_by_id, m->procs.v[proc].parent_proc_id, &parent))
				break;
		}
		for (; line.nr; line.nr--) {
			proc = line.v[line.nr - 1];
			if (idmap__get(&m->procs_by_id, m->procs.v[proc].parent_proc_id, &parent))
				err = err ?: machine__inherit_labels(m, proc, parent);
		}
	}
	array_free(&line);
	free(done);
	return err;
}

int found__resolve(struct found *f, struct model *m, struct loss *loss)
{
	int err;

	err = machine__finish(&m->machine) ?: resolve_labels(f, &m->machine);
	if (err)
		return err;
	graphs__finish(&f->graphs);
	kallsyms__finish(&f->kallsyms);
	err = resolve_exits(f, &m->machine);
	f->ends_known &= model__input(m)->ended;
	resolve_sent(f, &m->machine);
	if (!err)
		err = resolve_devices(f, m) ?: resolve_stalls(f, m, loss);
	return err ?: resolve_paths(f, m);
}
