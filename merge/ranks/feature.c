// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/feature.h"

#include "ranks/ranks.h"
#include "write/format.h"

/* ---- the command "ranks" --------------------------------------------------------------------- */

static void *command__new(struct session_opts *opts)
{
	struct ranks *r = ranks__new();

	if (r)
		opts->sink = &r->sink;
	opts->by_range = opts->by_thread = opts->by_time = opts->stats = false;
	return r;
}

static void command__free(void *r)
{
	ranks__free(r);
}

static int command__finish(void *r, const struct session *s)
{
	return ranks__finish(r, s);
}

static int command__write_text(const void *r, FILE *f, const struct write_opts *o)
{
	const struct ranks_opts opts = {
		.unit = o->unit, .human = !o->unit_given, .max_rows = o->max_rows,
		.format = o->table_format, .width = o->width, .color = o->color, .sort = o->sort,
	};

	return ranks__write_text(r, f, &opts);
}

static int command__write_html(const void *r, FILE *f, const struct write_opts *o)
{
	return ranks__write_html(r, f, write_opts__page_unit(o));
}

static const struct feature_command command = {
	.arguments = "[-o FILE] [OPTION...] FILE...",
	.help = "which rank of a\njob made the others wait, and the call paths that made it late",
	.no_filters = true,
	.no_lines = true,
	.refused = (const char *const[]){ "by", "table", "gpu", "cpu", "nsys", NULL },
	.new = command__new,
	.free = command__free,
	.finish = command__finish,
	.writers = (const struct feature_writer[]){
		{ "text", command__write_text }, { "html", command__write_html }, { NULL, NULL },
	},
};

const struct feature ranks_feature = {
	.name = "ranks",
	.command = &command,
};
