// SPDX-License-Identifier: GPL-3.0-or-later
#include "stalls/definitions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"

#define REASON_PREFIX	"smsp__pcsamp_warps_issue_stalled_"
#define NOT_ISSUED	"_not_issued"
#define MAX_REASONS	64		/* maximum number of reasons searched at one place */

int stall_defs__cubin(struct stall_defs *d, uint32_t proc, const struct xpu_record_cubin *rec)
{
	struct cubin_def *def = NULL;
	size_t i;
	int err;

	for (i = d->cubins.nr; i-- && !def;)
		if (d->cubins.v[i].proc == proc && d->cubins.v[i].crc == rec->crc)
			def = &d->cubins.v[i];
	if (!def) {
		err = array_push(&d->cubins, ((struct cubin_def){
			.proc = proc, .crc = rec->crc, .total_bytes = rec->total_bytes,
		}));
		if (err)
			return err;
		def = &d->cubins.v[d->cubins.nr - 1];
	}
	if (rec->offset != def->bytes.nr || def->total_bytes > XPU_CUBIN_MAX ||
	    rec->bytes > def->total_bytes - def->bytes.nr)
		return 0;
	err = array_reserve(&def->bytes, def->bytes.nr + rec->bytes);
	if (err || !rec->bytes)
		return err;
	memcpy(def->bytes.v + def->bytes.nr, rec->data, rec->bytes);
	def->bytes.nr += rec->bytes;
	return 0;
}

/* the definitions of a recording, and where to put the results */
struct resolving {
	struct stall_defs *d;
	struct stalls *to;
	const struct found *f;
	struct model *m;
	struct loss *loss;
};

/* a stall reason that a process defined */
struct stall_reason {
	const char *name;		/* interned, without prefix and suffix; NULL: no memory */
	bool not_issued;
};

static struct stall_reason stall_reason(const struct resolving *by, uint32_t proc, uint32_t index)
{
	size_t prefix = strlen(REASON_PREFIX), suffix = strlen(NOT_ISSUED), len;
	struct stall_reason r = { .not_issued = false };
	const char *name = NULL;
	uint32_t id;

	if (idmap__get(&by->d->reasons, ID_KEY(proc, index), &id))
		name = found__string(by->f, proc, id);
	if (!name) {
		r.name = strpool__internf(&by->m->strings, "[reason %" PRIu32 "]", index);
		return r;
	}
	if (!strncmp(name, REASON_PREFIX, prefix))
		name += prefix;
	len = strlen(name);
	if (len > suffix && !strcmp(name + len - suffix, NOT_ISSUED)) {
		r.not_issued = true;
		len -= suffix;
	}
	r.name = strpool__intern(&by->m->strings, name, len);
	return r;
}

/* Finds the lines of a module. Sets *@cubin to NULL if they are unknown. Return: 0 or -ENOMEM. */
static int find_cubin(struct stall_defs *d, uint32_t proc, uint64_t crc, struct cubin_def **cubin)
{
	int err;

	*cubin = NULL;
	array_each(&d->cubins, def) {
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

/* Prints "file.cu:12", preceded by the name of the function if it is inlined. */
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
	const struct cubin_site *sites[LEAF_MAX_FRAMES - 1];
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

/* Adds the samples at one place to @w, the newest reading. */
static int reading__add(struct stalls *s, struct stall_reading *w, const char *place,
			const struct xpu_stall *stall, const struct stall_reason *reason)
{
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

static int resolve_reading(const struct resolving *by, uint32_t proc,
			   const struct xpu_record_stalls *rec)
{
	struct stall_reading w = { .first = by->to->counts.nr };
	const struct found *f = by->f;
	struct cubin_def *cubin;
	const char *mangled = found__string(f, proc, rec->function), *name;
	char *pretty;
	uint32_t i;
	int err;

	if (rec->hdr.misc == XPU_MISC_STALLS_LAUNCH)
		w.correlation_id = rec->correlation_id;
	else if (!found__has_time(f, rec->begin_ns, rec->end_ns))
		by->loss->outside_stalls++;	/* the samples belong to no launch */
	else if (rec->begin_ns > rec->end_ns ||
		 __builtin_add_overflow(rec->begin_ns, f->shift_ns, &w.begin_ns) ||
		 __builtin_add_overflow(rec->end_ns, f->shift_ns, &w.end_ns))
		return 0;
	pretty = demangle(mangled ?: "");
	name = pretty ?: mangled ?: UNKNOWN;
	name = strpool__intern(&by->m->strings, name, strlen(name));
	free(pretty);
	if (!name)
		return -ENOMEM;
	err = stalls__function(by->to, proc, rec->context, name, &w.function) ?:
	      find_cubin(by->d, proc, rec->cubin_crc, &cubin);
	for (i = 0; i < rec->nr && !err; i++) {
		struct stall_reason reason = stall_reason(by, proc, rec->stalls[i].reason);

		err = reading__add(by->to, &w, place_of(by->m, cubin, mangled, rec->stalls[i].pc),
				   &rec->stalls[i], &reason);
	}
	return err ?: array_push(&by->to->readings, w);
}

static bool same_context(const struct stalls_def *a, const struct stalls_def *b)
{
	const struct xpu_record_stalls_account *x = (const void *)a->rec, *y = (const void *)b->rec;

	return a->proc == b->proc && x->device == y->device && x->context == y->context;
}

static int add_span(const struct resolving *by, uint32_t proc,
		    const struct xpu_record_stalls_account *rec)
{
	const struct found *f = by->f;
	struct stall_span span = { .proc = proc, .context = rec->context };

	if (rec->hdr.size < sizeof(*rec) || !rec->begin_ns)
		return 0;
	by->to->knows_spans = true;
	if (!found__has_time(f, rec->begin_ns, rec->end_ns)) {
		by->loss->outside_stalls++;
		return 0;
	}
	if (rec->begin_ns >= rec->end_ns ||
	    __builtin_add_overflow(rec->begin_ns, f->shift_ns, &span.begin_ns) ||
	    __builtin_add_overflow(rec->end_ns, f->shift_ns, &span.end_ns))
		return 0;
	return array_push(&by->to->spans, span);
}

/*
 * Adds the last account of each context to the sums, and keeps the spans of all accounts. Return: 0
 * or -ENOMEM.
 */
static int resolve_accounts(const struct resolving *by)
{
	const struct stall_defs *d = by->d;
	struct stalls *s = by->to;
	uint64_t told;
	int err = 0;
	size_t i, k;

	for (i = d->accounts.nr; i-- && !err;) {
		const struct xpu_record_stalls_account *rec = (const void *)d->accounts.v[i].rec;

		err = add_span(by, d->accounts.v[i].proc, rec);
		for (k = i + 1; k < d->accounts.nr; k++)
			if (same_context(&d->accounts.v[i], &d->accounts.v[k]))
				break;
		if (k < d->accounts.nr)
			continue;
		s->total += rec->total;
		s->others += rec->others;
		s->dropped += rec->dropped;
		s->nr_full += rec->nr_full;
		s->recorded += rec->recorded;
		told = rec->recorded + rec->others + rec->dropped;
		by->loss->stalls_full += rec->nr_full;
		by->loss->stalls_unexplained += rec->total > told ? rec->total - told : 0;
	}
	return err;
}

int stall_defs__resolve(struct stall_defs *d, struct stalls *to, struct second_pass *p)
{
	const struct resolving by = { d, to, p->found, p->model, &p->sums->loss };
	size_t i;
	int err = 0;

	for (i = 0; i < d->stalls.nr && !err; i++)
		err = resolve_reading(&by, d->stalls.v[i].proc, (const void *)d->stalls.v[i].rec);
	return err ?: resolve_accounts(&by);
}

void stall_defs__free(struct stall_defs *d)
{
	size_t i;

	idmap__free(&d->reasons);
	for (i = 0; i < d->cubins.nr; i++) {
		if (d->cubins.v[i].lines)
			cubin_lines__free(d->cubins.v[i].lines);
		free(d->cubins.v[i].lines);
		free(d->cubins.v[i].places);
		array_free(&d->cubins.v[i].bytes);
	}
	array_free(&d->cubins);
	array_free(&d->stalls);
	array_free(&d->accounts);
	*d = (struct stall_defs){ 0 };
}
