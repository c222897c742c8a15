// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/ksyms.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "util.h"
#include "record/writer.h"
#include "xpu_record.h"

#define LAST_BYTES	4096		/* assumed bytes of the last function, whose end is
					 * unknown */

struct ksym {
	uint64_t start;
	uint32_t name;			/* offset in names */
	bool global;
	bool written;
};

/*
 * Linux takes a tenth of a second to list the names; a target may start and end within that time.
 * So a thread reads the names, and the recording waits for them only at its end.
 */
struct ksyms {
	bool started, joined;
	pthread_t reader;
	atomic_bool loaded;		/* set by the thread when it no longer uses the members
					 * below */
	ARRAY(struct ksym) syms;	/* sorted by address, one symbol for each address */
	ARRAY(char) names;
	ARRAY(uint64_t) waiting;	/* addresses whose names have not been read yet */
};

struct ksyms *ksyms__new(void)
{
	return calloc(1, sizeof(struct ksyms));
}

static void ksyms__join(struct ksyms *k)
{
	if (!k->started || k->joined)
		return;
	pthread_join(k->reader, NULL);
	k->joined = true;
}

void ksyms__free(struct ksyms *k)
{
	if (!k)
		return;
	ksyms__join(k);
	array_free(&k->syms);
	array_free(&k->names);
	array_free(&k->waiting);
	free(k);
}

/* Adds a line such as "ffffffff81000000 T name\t[module]". Functions have the type t, T, w or W. */
static int ksyms__add_line(struct ksyms *k, const char *line)
{
	char *type, *name;
	struct ksym sym = { .start = strtoull(line, &type, 16), .name = k->names.nr };
	size_t len;
	int err;

	if (!sym.start || *type != ' ' || !type[1] || !strchr("tTwW", type[1]) || type[2] != ' ')
		return 0;
	sym.global = type[1] == 'T';
	name = type + 3;
	len = strcspn(name, " \t\n");
	err = array_reserve(&k->names, k->names.nr + len + 1);
	err = err ?: array_push(&k->syms, sym);
	if (err)
		return err;
	memcpy(k->names.v + k->names.nr, name, len);
	k->names.v[k->names.nr + len] = '\0';
	k->names.nr += len + 1;
	return 0;
}

/*
 * Orders by address. If a function has several names, a global name comes first; otherwise keeps
 * Linux's order.
 */
static int ksym__cmp(const void *va, const void *vb)
{
	const struct ksym *a = va, *b = vb;

	return cmp3(a->start, b->start) ?: cmp3(b->global, a->global) ?: cmp3(a->name, b->name);
}

static void *ksyms__read(void *arg)
{
	struct ksyms *k = arg;
	size_t cap = 0, i, nr = 0;
	char *line = NULL;
	int err = 0;
	FILE *f = fopen("/proc/kallsyms", "re");

	while (f && !err && getline(&line, &cap, f) > 0)
		err = ksyms__add_line(k, line);
	free(line);
	if (f)
		fclose(f);
	if (err)
		k->syms.nr = 0;
	array_qsort(&k->syms, ksym__cmp);
	for (i = 0; i < k->syms.nr; i++)
		if (!i || k->syms.v[i].start != k->syms.v[nr - 1].start)
			k->syms.v[nr++] = k->syms.v[i];
	k->syms.nr = nr;
	atomic_store(&k->loaded, true);
	return NULL;
}

static void ksyms__start(struct ksyms *k)
{
	k->started = true;
	if (pthread_create(&k->reader, NULL, ksyms__read, k)) {
		k->joined = true;
		ksyms__read(k);
	}
}

static void ksyms__tell(struct ksyms *k, uint64_t addr, struct writer *w)
{
	struct xpu_record_ksym *r;
	size_t lo, bytes, size;
	struct ksym *sym;
	uint64_t end;

	lo = sorted_count(k->syms.nr, i, k->syms.v[i].start <= addr);
	if (!lo)
		return;
	sym = &k->syms.v[lo - 1];
	end = lo < k->syms.nr ? k->syms.v[lo].start : sym->start + LAST_BYTES;
	if (sym->written || addr >= end)
		return;
	bytes = strlen(k->names.v + sym->name) + 1;
	size = (sizeof(*r) + bytes + 7) & ~(size_t)7;
	r = writer__reserve(w, size);
	if (!r)
		return;
	memset(r, 0, size);
	r->hdr.type = XPU_RECORD_KSYM;
	r->hdr.size = size;
	r->start = sym->start;
	r->end = end;
	r->bytes = bytes;
	memcpy(r->name, k->names.v + sym->name, bytes);
	sym->written = true;
}

static void ksyms__tell_waiting(struct ksyms *k, struct writer *w)
{
	size_t i;

	if (k->waiting.nr && !k->syms.nr)
		msg__warn("functions of the kernel are shown as [kernel]_[k]: /proc/kallsyms hides "
			  "them: run xpuload as root, see /proc/sys/kernel/kptr_restrict");
	for (i = 0; i < k->waiting.nr; i++)
		ksyms__tell(k, k->waiting.v[i], w);
	array_free(&k->waiting);
}

void ksyms__write(struct ksyms *k, uint64_t addr, struct writer *w)
{
	if (!k->started)
		ksyms__start(k);
	if (!atomic_load(&k->loaded) && !array_push(&k->waiting, addr))
		return;
	ksyms__join(k);
	ksyms__tell_waiting(k, w);
	ksyms__tell(k, addr, w);
}

void ksyms__finish(struct ksyms *k, struct writer *w)
{
	ksyms__join(k);
	ksyms__tell_waiting(k, w);
}
