// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "join/session_calls.h"
#include "join/session_collect.h"
#include "join/session_device.h"
#include "join/session_leaf.h"
#include "join/session_nvtx.h"
#include "join/session_off.h"
#include "join/session_pass.h"
#include "join/session_samples.h"
#include "join/session_settle.h"
#include "join/session_stacks.h"
#include "join/session_sum.h"
#include "join/session_tables.h"
#include "xpu_time.h"

/* Two boot times this close to one another are one boot's, seen before and after a clock step. */
#define SAME_BOOT_NS	1000000000

int session__init(struct session *s, const struct session_opts *opts)
{
	memset(s, 0, sizeof(*s));
	s->opts = *opts;
	s->tables = calloc(1, sizeof(*s->tables));
	if (!s->tables)
		return -ENOMEM;
	s->tables->permille = UINT32_MAX;
	machine__init(&s->machine, &s->strings);
	dsos__init(&s->dsos, &s->strings);
	s->dsos.paths.symfs = opts->symfs;
	s->dsos.paths.debug_dirs = opts->debug_dirs;
	s->dsos.paths.buildid_dir = opts->buildid_dir;
	callchains__init(&s->callchains, &s->dsos, &s->strings, opts->trim);
	s->callchains.python_style = opts->python_style;
	s->callchains.show_inline = opts->show_inline;
	s->callchains.show_srcline = opts->show_srcline;
	session__init_stacks(s);
	unwind__init(&s->unwind, &s->dsos);
	pysources__init(&s->pysources, &s->strings);
	join__init(&s->join, &session_join_ops, s);
	graphs__init(&s->graphs);
	waits__init(&s->waits);
	idles__init(&s->idles);
	gpus__init(&s->gpus, &s->strings);
	return 0;
}

void session__exit(struct session *s)
{
	struct session_tables *t = s->tables;
	size_t i;

	if (!t)
		return;
	session__forget_unwound(s);
	array_free(&t->unwound_key);
	session__free_leaves(s);
	session__free_sums(s);
	arena__free(&t->arena);
	for (i = 0; i < t->accounts.nr; i++)
		window__exit(&t->accounts.v[i].window);
	array_free(&t->accounts);
	array_free(&t->waiting_samples);
	array_free(&t->wait_leaves);
	array_free(&t->wait_recs);
	array_free(&t->exits);
	array_free(&t->pycode_defs);
	array_free(&t->stream_defs);
	array_free(&t->device_defs);
	array_free(&t->string_defs);
	idmap__free(&t->refused);
	idmap__free(&t->pycodes);
	idmap__free(&t->joined_chains);
	idmap__free(&t->chains);
	idmap__free(&t->apis);
	session__free_calls(s);
	idmap__free(&t->call_names);
	idmap__free(&t->streams);
	idmap__free(&t->strings);
	idmap__free(&t->threads);
	idmap__free(&t->paths);
	free(t);
	s->tables = NULL;
	array_free(&s->accounts);
	array_free(&s->messages);
	array_free(&s->aggregates);
	for (i = 0; i < s->calls.nr; i++)
		stats__free(&s->calls.v[i].ns);
	array_free(&s->calls);
	for (i = 0; i < s->leaf_stats.nr; i++) {
		stats__free(&s->leaf_stats.v[i].ns);
		stats__free(&s->leaf_stats.v[i].bytes);
	}
	array_free(&s->leaf_stats);
	array_free(&s->leaves);
	array_free(&s->streams);
	array_free(&s->chains);
	array_free(&s->threads);
	array_free(&s->paths);
	array_free(&s->infos);
	array_free(&s->inputs);
	nvtx__exit(&s->nvtx);
	gpus__exit(&s->gpus);
	idles__exit(&s->idles);
	waits__exit(&s->waits);
	jitmaps__exit(&s->jitmaps);
	kallsyms__free(&s->kallsyms);
	graphs__exit(&s->graphs);
	join__exit(&s->join);
	unwind__exit(&s->unwind);
	pysources__exit(&s->pysources);
	callchains__exit(&s->callchains);
	dsos__exit(&s->dsos);
	machine__exit(&s->machine);
	msgs__free(&s->msgs);
	strpool__free(&s->strings);
}

static int session__stream_record(struct session *s, const struct record_iter *it,
				  const struct xpu_record *rec)
{
	/* What a thread's stack was like last is not known when records are missing. */
	if (it->nr_damages != s->tables->nr_damages) {
		s->tables->nr_damages = it->nr_damages;
		unwind__next(&s->unwind);
	}
	switch (rec->type) {
	case XPU_RECORD_LAUNCHES:
		return session__launches(s, (const void *)rec);
	case XPU_RECORD_BATCH:
		return session__batch(s, it, (const void *)rec);
	case XPU_RECORD_SAMPLES:
		return session__samples(s, (const void *)rec);
	case XPU_RECORD_STACK:
		return session__stack(s, (const void *)rec);
	case XPU_RECORD_OFF_CPU:
		return session__off_cpu(s, (const void *)rec);
	case XPU_RECORD_OFF:
		return session__off(s, (const void *)rec);
	default:
		return 0;
	}
}

static int session__rescan_record(struct session *s, const struct record_iter *it,
				  const struct xpu_record *rec)
{
	(void)it;
	if (rec->type != XPU_RECORD_LAUNCHES)
		return 0;
	return session__relaunches(s, (const void *)rec);
}

/* The pass that follows knows nothing of the ids and pids of the one before. */
static void session__next_input(struct session *s)
{
	struct session_tables *t = s->tables;
	size_t i;

	for (i = t->first_proc; i < s->machine.procs.nr; i++)
		s->machine.procs.v[i].name = session__proc_name(s, i);
	for (i = t->first_path; i < s->paths.nr; i++)
		s->paths.v[i].image = NULL;
	idmap__free(&t->paths);
	idmap__free(&t->threads);
	idmap__free(&t->strings);
	idmap__free(&t->streams);
	idmap__free(&t->apis);
	session__free_calls(s);
	idmap__free(&t->refused);
	idmap__free(&t->pycodes);
	t->stream_defs.nr = t->device_defs.nr = t->exits.nr = 0;
	t->first_path = s->paths.nr;
	t->first_thread = s->threads.nr;
	t->first_chain = s->chains.nr;
	t->first_proc = s->machine.procs.nr;
	t->nr_damages = 0;
	t->first_account = s->accounts.nr;
	s->nvtx.first_range = s->nvtx.ranges.nr;
	waits__exit(&s->waits);
	waits__init(&s->waits);
	graphs__exit(&s->graphs);
	graphs__init(&s->graphs);
	jitmaps__exit(&s->jitmaps);
	kallsyms__free(&s->kallsyms);
	unwind__next(&s->unwind);
	pysources__exit(&s->pysources);
	pysources__init(&s->pysources, &s->strings);
	session__forget_unwound(s);
	join__exit(&s->join);
	join__init(&s->join, &session_join_ops, s);
	machine__next(&s->machine);
}

/* When its clock was 0, in CLOCK_REALTIME; 0 if the recording does not tell. */
static uint64_t input__boot_ns(const struct input *in)
{
	const struct xpu_file_header *h = &in->reader->header;

	return xpu_ns_between(h->start_mono_ns, h->start_real_ns);
}

static void session__open_jitmaps(struct session *s, const struct input *in)
{
	char host[256] = "";
	struct stat st;

	gethostname(host, sizeof(host) - 1);
	s->jitmaps = (struct jitmaps){
		.kept = strpool__internf(&s->strings, "%s" XPU_KEPT_SUFFIX, in->reader->name),
		.here = !strcmp(host, in->host),
		.owner = stat(in->reader->name, &st) ? geteuid() : st.st_uid,
		.real_ns = input__boot_ns(in),
	};
}

static int session__input(struct session *s, size_t nr)
{
	struct input *in = &s->inputs.v[nr];
	struct record_iter it;
	int err;

	if (nr)
		session__next_input(s);
	memset(&s->loss, 0, sizeof(s->loss));
	s->reader = in->reader;
	s->shift_ns = in->shift_ns;
	s->gpus.host = in->host_nr;
	session__open_jitmaps(s, in);
	in->first_info = s->infos.nr;
	err = session__collect(s);
	if (!err)
		err = session__resolve(s);
	if (!err)
		err = session__pass(s, session__stream_record, 300, 950, &it);
	if (!err && join__wants_rescan(&s->join))
		err = session__pass(s, session__rescan_record, 950, 950, &it);
	if (!err)
		err = join__finish(&s->join);
	if (!err)
		err = waits__share(&s->waits, session__wait_share, s);
	if (!err)
		err = session__waiting_samples(s);
	if (!err)
		err = session__nvtx_finish(s);
	if (!err)
		err = session__finish_accounts(s);
	if (!err)
		err = session__resolve_chains(s);
	if (!err)
		session__settle(s);
	in->loss = s->loss;
	return err;
}

/* The host's name is among the first things in a recording. Return: it, "" or NULL (no memory). */
static const char *session__hostname(struct session *s, const struct reader *r)
{
	const struct xpu_record_info *info;
	const struct xpu_record *rec;
	struct record_iter it;

	reader__rewind(r, &it);
	while ((rec = record_iter__next(&it)) && rec->type == XPU_RECORD_INFO) {
		info = (const void *)rec;
		if (info->key == XPU_INFO_HOSTNAME)
			return strpool__intern(&s->strings, info->data,
					       strnlen(info->data, info->bytes));
	}
	return strpool__intern(&s->strings, "", 0);
}

static bool input__same_boot(const struct input *a, const struct input *b)
{
	return a->host_nr == b->host_nr &&
	       xpu_ns_apart(input__boot_ns(a), input__boot_ns(b)) < SAME_BOOT_NS;
}

/* Hosts and the clock that all have in common. */
static int session__open_inputs(struct session *s, const struct reader *r, size_t nr)
{
	size_t i, k;
	int err;

	for (i = 0; i < nr; i++) {
		struct input in = { .reader = &r[i], .host_nr = i };

		err = symbol_paths__add_kept(&s->dsos.paths, r[i].name);
		if (err)
			return err;
		in.host = session__hostname(s, &r[i]);
		if (!in.host)
			return -ENOMEM;
		for (k = 0; k < i; k++)
			if (s->inputs.v[k].host == in.host)
				in.host_nr = min_t(uint32_t, in.host_nr, k);
		s->nr_hosts += in.host_nr == i;
		err = array_push(&s->inputs, in);
		if (err)
			return err;
		s->realtime |= !input__same_boot(&s->inputs.v[0], &s->inputs.v[i]);
	}
	for (i = 0; i < nr && s->realtime; i++) {
		for (k = 0; !input__same_boot(&s->inputs.v[k], &s->inputs.v[i]); k++)
			;
		s->inputs.v[i].shift_ns = input__boot_ns(&s->inputs.v[k]);
	}
	s->start_ns = UINT64_MAX;
	for (i = 0; i < nr; i++)
		s->start_ns = min_t(uint64_t, s->start_ns, s->inputs.v[i].shift_ns +
				    r[i].header.start_mono_ns);
	return 0;
}

int session__process(struct session *s, const struct reader *r, size_t nr)
{
	struct loss loss = { 0 };
	size_t i;
	int err;

	s->first_ns = UINT64_MAX;
	s->ended = true;
	err = session__open_inputs(s, r, nr);
	for (i = 0; i < nr && !err; i++) {
		err = session__input(s, i);
		loss__add(&loss, &s->loss);
		s->ended &= s->inputs.v[i].ended;
	}
	s->loss = loss;
	if (!err)
		dsos__report(&s->dsos, &s->msgs);
	if (s->first_ns > s->last_ns)
		s->first_ns = s->last_ns = 0;
	return err;
}

uint32_t session__freq_hz(const struct session *s)
{
	size_t i;

	for (i = 0; i < s->inputs.nr; i++)
		if (s->inputs.v[i].sample_period_ns)
			return 1000000000 / s->inputs.v[i].sample_period_ns;
	return 0;
}

const char *session__host(const struct session *s, uint32_t proc)
{
	return s->nr_hosts > 1 ? s->inputs.v[s->machine.procs.v[proc].recording].host : "";
}
