// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "escape.h"
#include "human.h"
#include "model/feature.h"
#include "xpu_time.h"

int session__init(struct session *s, const struct session_opts *opts)
{
	memset(s, 0, sizeof(*s));
	s->opts = *opts;
	s->passes = (struct passes){
		.tell = opts->progress, .ctx = opts->progress_ctx, .permille = UINT32_MAX,
	};
	model__init(&s->model);
	dsos__init(&s->dsos, &s->model.strings);
	s->dsos.paths.symfs = opts->symfs;
	s->dsos.paths.debug_dirs = opts->debug_dirs;
	s->dsos.paths.buildid_dir = opts->buildid_dir;
	callchains__init(&s->callchains, &s->dsos, &s->model.strings, opts->trim);
	s->callchains.python_style = opts->python_style;
	s->callchains.show_inline = opts->show_inline;
	s->callchains.show_srcline = opts->show_srcline;
	s->callchains.files_first = opts->symfs || opts->debug_dirs;
	copied_stacks__init(&s->unwind, &s->dsos);
	sums__init(&s->sums, &s->model, opts);
	return 0;
}

void session__exit(struct session *s)
{
	copied_stacks__exit(&s->unwind);
	callchains__exit(&s->callchains);
	dsos__exit(&s->dsos);
	sums__exit(&s->sums);
	model__exit(&s->model);
	msgs__free(&s->msgs);
}

uint64_t input__boot_ns(const struct input *in)
{
	const struct xpu_file_header *h = &in->reader->header;

	return xpu_ns_between(h->start_mono_ns, h->start_real_ns);
}

/* Return: whether xpuload was given the option, or an abbreviation with at least @least letters. */
static bool input__was_given(const struct model *m, const struct input *in, const char *option,
			     size_t least)
{
	const struct xpu_record_info *info;
	uint32_t i, at;
	size_t len;

	for (i = in->first_info; i < in->first_info + in->nr_infos; i++) {
		info = m->infos.v[i];
		for (at = 0; info->key == XPU_INFO_OPTIONS && at < info->bytes; at += len + 1) {
			len = strnlen(info->data + at, info->bytes - at);
			if (len >= least && len <= strlen(option) &&
			    !memcmp(info->data + at, option, len))
				return true;
		}
	}
	return false;
}

bool session__was_given(const struct session *s, const char *option, size_t least)
{
	size_t i;

	for (i = 0; i < s->model.inputs.nr; i++)
		if (!input__was_given(&s->model, &s->model.inputs.v[i], option, least))
			return false;
	return i;
}

/* Return: whether all recordings have only CPU samples, because launches were not requested. */
static bool session__has_only_samples(const struct session *s)
{
	const struct loss *l = &s->sums.loss;

	return !l->nr_launches && !l->nr_works && !l->missing_launches && !l->missing_works &&
	       (s->sums.nr_samples || session__was_given(s, "--cpu-only", strlen("--cp")));
}

static bool features__account(const struct session *s, FILE *f)
{
	unsigned int i;

	for (i = 0; features[i]; i++)
		if (features[i]->account && features[i]->account(s, f))
			return true;
	return false;
}

void session__print_loss(const struct session *s, FILE *f)
{
	const struct loss *all = &s->sums.loss;
	size_t i;

	if (session__has_only_samples(s)) {
		fprintf(f, "CPU samples %" PRIu64 " lost %" PRIu64 "\n", s->sums.nr_samples,
			loss__lost(all));
		loss__print_lines(all, f, "");
	} else if (!all->nr_launches && !all->missing_launches && features__account(s, f)) {
		loss__print_lines(all, f, "");
	} else {
		loss__print(all, f, "");
	}
	if (filter__active(s->opts.filter)) {
		fprintf(f, "left out: %" PRIu64 " of %" PRIu64 " device records, %" PRIu64
			" launches without device records; filters: ", s->sums.nr_left_out,
			s->sums.loss.nr_works, s->sums.nr_pending_left_out);
		escape__print(f, s->opts.filter->text.v, ESCAPE_TEXT);
		fputc('\n', f);
		if (s->sums.nr_parts)
			fprintf(f, "%" PRIu64 " of these device records began before the time "
				"shown: the part within it is counted\n", s->sums.nr_parts);
		for (i = 0; features[i]; i++)
			if (features[i]->left_out)
				features[i]->left_out(s, f);
	}
	for (i = 0; i < s->model.inputs.nr && s->model.inputs.nr > 1; i++) {
		struct loss l = s->model.inputs.v[i].loss;

		/* Almost every recording has frames without a name. */
		l.unsymbolized = 0;
		if (loss__clean(&l))
			continue;
		fputs("in ", f);
		escape__print(f, s->model.inputs.v[i].reader->name, ESCAPE_TEXT);
		fputs(":\n", f);
		loss__print(&s->model.inputs.v[i].loss, f, "  ");
	}
}
