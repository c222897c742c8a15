// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REGEX_MAX_BYTES	16384

const char *filter_kind__name(enum filter_kind kind)
{
	static const char *const names[NR_FILTERS] = {
		[FILTER_PID] = "pid", [FILTER_RANK] = "rank", [FILTER_TID] = "tid",
		[FILTER_COMM] = "comm", [FILTER_DEVICE] = "device", [FILTER_STREAM] = "stream",
		[FILTER_KERNEL] = "kernel", [FILTER_RANGE] = "nvtx", [FILTER_WINDOW] = "window",
		[FILTER_FROM] = "from", [FILTER_TO] = "to",
	};

	return names[kind];
}

void filter__free(struct filter *f)
{
	size_t i;

	for (i = 0; i < NR_FILTERS; i++)
		array_free(&f->numbers[i]);
	for (i = 0; i < f->comms.nr; i++)
		free(f->comms.v[i]);
	array_free(&f->comms);
	if (f->given[FILTER_KERNEL])
		regfree(&f->regex[FILTER_KERNEL]);
	if (f->given[FILTER_RANGE])
		regfree(&f->regex[FILTER_RANGE]);
	idmap__free(&f->kernels);
	array_free(&f->text);
}

/* Adds an option to the text: " --pid 1,2". */
static int filter__add_text(struct filter *f, enum filter_kind kind, const char *arg)
{
	size_t len = f->text.nr + strlen(arg) + 32;

	if (array_reserve(&f->text, len))
		return -ENOMEM;
	f->text.nr += snprintf(f->text.v + f->text.nr, len - f->text.nr, "%s--%s %s",
			       f->text.nr ? " " : "", filter_kind__name(kind), arg);
	return 0;
}

/* Reads a number at *@arg, and moves *@arg after it. Return: whether a number was read. */
static bool read_number(const char **arg, uint32_t *number)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(*arg, &end, 10);
	if (errno || **arg < '0' || **arg > '9' || n >= NO_INDEX)
		return false;
	*arg = end;
	*number = n;
	return true;
}

static int filter__add_numbers(struct filter *f, enum filter_kind kind, const char *arg,
			       char why[128])
{
	struct filter_numbers n;
	const char *at = arg;
	bool good;

	for (;; at++) {
		arg = at;
		good = read_number(&at, &n.first);
		n.last = n.first;
		if (good && *at == '-') {
			at++;
			good = read_number(&at, &n.last) && n.first <= n.last;
		}
		if (!good || (*at && *at != ',')) {
			snprintf(why, 128,
				 "'%.60s': expected a list of numbers, such as 1,2 or 4-7", arg);
			return -EINVAL;
		}
		if (array_push(&f->numbers[kind], n))
			return -ENOMEM;
		if (!*at)
			return 0;
	}
}

static int filter__add_comms(struct filter *f, const char *arg, char why[128])
{
	size_t len;
	char *comm;

	for (;; arg += len + 1) {
		len = strcspn(arg, ",");
		if (!len) {
			snprintf(why, 128, "expected a name between commas");
			return -EINVAL;
		}
		comm = strndup(arg, len);
		if (!comm || array_push(&f->comms, comm)) {
			free(comm);
			return -ENOMEM;
		}
		if (!arg[len])
			return 0;
	}
}

static int filter__set_regex(struct filter *f, enum filter_kind kind, const char *arg,
			     char why[128])
{
	char what[64];
	int err;

	if (f->given[kind]) {
		snprintf(why, 128, "given twice: one expression may have several branches, as a|b");
		return -EINVAL;
	}
	/* The C library uses stack memory for each group of an expression. */
	if (strlen(arg) > REGEX_MAX_BYTES) {
		snprintf(why, 128, "longer than %d bytes", REGEX_MAX_BYTES);
		return -EINVAL;
	}
	err = regcomp(&f->regex[kind], arg, REG_EXTENDED | REG_NOSUB);
	if (err == REG_ESPACE)
		return -ENOMEM;
	if (!err)
		return 0;
	regerror(err, &f->regex[kind], what, sizeof(what));
	snprintf(why, 128, "'%.60s': %.50s", arg, what);
	return -EINVAL;
}

int filter__read_time(uint64_t *ns, const char *arg, char why[128])
{
	static const struct {
		const char *suffix;
		double ns;
	} units[] = {
		{ "", 1e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 }, { "m", 60e9 },
	};
	char *end;
	size_t i;
	double value = strtod(arg, &end);

	for (i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(end, units[i].suffix))
			break;
	/* 2^63 ns are 292 years. A NaN fails the comparison, too. */
	if (end == arg || i == ARRAY_SIZE(units) || value < 0 || !(value * units[i].ns < 0x1p63)) {
		snprintf(why, 128, "'%.60s': expected a time, such as 1.5, 1500ms or 2m", arg);
		return -EINVAL;
	}
	*ns = value * units[i].ns + 0.5;
	return 0;
}

int filter__set(struct filter *f, enum filter_kind kind, const char *arg, char why[128])
{
	int err;

	switch (kind) {
	case FILTER_COMM:
		err = filter__add_comms(f, arg, why);
		break;
	case FILTER_KERNEL:
	case FILTER_RANGE:
		err = filter__set_regex(f, kind, arg, why);
		break;
	case FILTER_FROM:
		err = filter__read_time(&f->from_ns, arg, why);
		break;
	case FILTER_TO:
		err = filter__read_time(&f->to_ns, arg, why);
		break;
	default:
		err = filter__add_numbers(f, kind, arg, why);
		break;
	}
	if (err)
		return err;
	f->given[kind] = true;
	return filter__add_text(f, kind, arg);
}

bool filter__has_number(const struct filter *f, enum filter_kind kind, uint32_t number)
{
	size_t i;

	for (i = 0; i < f->numbers[kind].nr; i++)
		if (f->numbers[kind].v[i].first <= number && number <= f->numbers[kind].v[i].last)
			return true;
	return !f->given[kind];
}

static bool filter__has_comm(const struct filter *f, const char *comm)
{
	size_t i;

	for (i = 0; i < f->comms.nr; i++)
		if (!strcmp(f->comms.v[i], comm))
			return true;
	return !f->given[FILTER_COMM];
}

int filter__matches(const struct filter *f, enum filter_kind kind, const char *name)
{
	int err = regexec(&f->regex[kind], name, 0, NULL, 0);

	return err == REG_ESPACE ? -ENOMEM : !err;
}

static int filter__has_kernel(struct filter *f, const char *name)
{
	uint32_t matches;
	int match;

	if (!f->given[FILTER_KERNEL])
		return 1;
	if (!name)
		return 0;
	if (idmap__get(&f->kernels, (uintptr_t)name, &matches))
		return matches;
	match = filter__matches(f, FILTER_KERNEL, name);
	if (match < 0)
		return match;
	return idmap__put(&f->kernels, (uintptr_t)name, match) ?: match;
}

bool filter__has_only_moments(const struct filter *f)
{
	enum filter_kind kind;

	for (kind = 0; kind < NR_FILTERS; kind++)
		if (filter__given(f, kind) && kind != FILTER_DEVICE && kind != FILTER_FROM &&
		    kind != FILTER_TO)
			return false;
	return true;
}

/* Return: the part of @whole before @time_ns, rounded up if @begins, otherwise down. */
static uint64_t span__until(const struct filter_span *s, uint64_t time_ns, uint64_t whole,
			    bool begins)
{
	uint64_t ns = s->to_ns - s->from_ns;
	unsigned __int128 part = (unsigned __int128)whole * (time_ns - s->from_ns);

	return (begins ? part + ns - 1 : part) / ns;
}

uint64_t filter__begin_ns(const struct filter *f, uint64_t start_ns)
{
	uint64_t ns;

	/*
	 * --from 0 leaves out nothing: the first CPU sample may stand for a time that began before
	 * 0.
	 */
	if (!filter__given(f, FILTER_FROM) || !f->from_ns)
		return 0;
	return __builtin_add_overflow(start_ns, f->from_ns, &ns) ? UINT64_MAX : ns;
}

uint64_t filter__end_ns(const struct filter *f, uint64_t start_ns)
{
	uint64_t ns;

	if (!filter__given(f, FILTER_TO) || __builtin_add_overflow(start_ns, f->to_ns, &ns))
		return UINT64_MAX;
	return ns;
}

bool filter__cut_span(const struct filter *f, uint64_t start_ns, struct filter_span *s)
{
	uint64_t begin_ns = filter__begin_ns(f, start_ns), end_ns = filter__end_ns(f, start_ns);
	struct filter_span whole = *s;

	if (whole.from_ns >= whole.to_ns)
		return begin_ns <= whole.from_ns &&
		       (whole.from_ns < end_ns || end_ns == UINT64_MAX);
	s->from_ns = max_t(uint64_t, whole.from_ns, begin_ns);
	s->to_ns = min_t(uint64_t, whole.to_ns, end_ns);
	if (s->from_ns >= s->to_ns)
		return false;
	if (s->from_ns == whole.from_ns && s->to_ns == whole.to_ns)
		return true;
	s->ns = span__until(&whole, s->to_ns, whole.ns, false) -
		span__until(&whole, s->from_ns, whole.ns, false);
	s->nr = span__until(&whole, s->to_ns, whole.nr, true) -
		span__until(&whole, s->from_ns, whole.nr, true);
	return true;
}

int filter__keeps(struct filter *f, const struct filter_event *e)
{
	if (filter__is_timed(f) && (!e->timed || e->time_ns < f->from_ns ||
		      (f->given[FILTER_TO] && e->time_ns >= f->to_ns)))
		return 0;
	if (!filter__has_number(f, FILTER_PID, e->pid) ||
	    !filter__has_number(f, FILTER_RANK, e->rank) ||
	    !filter__has_number(f, FILTER_TID, e->tid) ||
	    !filter__has_number(f, FILTER_DEVICE, e->device) ||
	    !filter__has_number(f, FILTER_STREAM, e->stream) || !filter__has_comm(f, e->comm))
		return 0;
	return filter__has_kernel(f, e->kernel);
}
