/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gen_merge.h - runs a whole merge in memory, with every writer, and checks its results
 *
 * For tests and fuzzers that link libmerge. The checks hold for any input.
 */
#ifndef TEST_LIB_GEN_MERGE_H
#define TEST_LIB_GEN_MERGE_H

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "write/chrome.h"
#include "write/diff.h"
#include "write/dump.h"
#include "write/folded.h"
#include "write/html.h"
#include "write/pftrace.h"
#include "write/pprof.h"
#include "profile.pb-c.h"
#include "read/reader.h"
#include "join/session.h"
#include "write/text.h"

struct merged {
	int open_err;			/* result of reader__open_mem(); error says why */
	char error[256];
	int err;			/* result of session__process() or of a writer */
	int status;			/* status of the session */
	bool ended;
	struct loss loss;
	struct folded_result folded_result;
	char *folded, *json, *text, *msgs, *pprof, *html, *diff, *dump;
	size_t pprof_size;
	char *pftrace;
	uint64_t sum_ns, nr_records;	/* sums over all aggregates of device work */
	uint64_t times_ns;		/* device time, summed over all bins of time */
};

struct merge_opts {
	enum unit unit;
	bool no_trim;
};

static inline void merged__free(struct merged *m)
{
	free(m->folded);
	free(m->json);
	free(m->text);
	free(m->pprof);
	free(m->pftrace);
	free(m->html);
	free(m->diff);
	free(m->dump);
	free(m->msgs);
	memset(m, 0, sizeof(*m));
}

static inline FILE *merged__open(char **buf)
{
	static size_t size;
	FILE *f = open_memstream(buf, &size);

	if (!f)
		abort();
	return f;
}

/* Return: the device time in all bins of time */
static inline uint64_t merged__times_ns(const struct session *s)
{
	const struct bins *bins = &s->sums.times.sums;
	uint64_t sum_ns = 0;
	size_t i;

	for (i = 0; i < bins->list.nr; i++) {
		uint32_t key = bins->list.v[i].key;
		enum leaf_kind kind = key >= BINS_GROUP(0) ? (key - BINS_GROUP(0)) % NR_LEAF_KINDS :
				      s->model.leaves.v[s->sums.aggregates.v[key].leaf].kind;

		if (leaf_kind__is_device(kind))
			sum_ns += bins->list.v[i].ns;
	}
	return sum_ns;
}

/* Merges @size bytes at @buf, aligned to 8. */
static inline void merged__run(struct merged *m, const void *buf, size_t size, const char *name,
			       const struct merge_opts *opts)
{
	/* Group by NVTX ranges, and do not trim frames. */
	struct folded_opts folded_opts = {
		.waits = true,
		.unit = opts->unit, .freq_hz = 99,
		.by = { opts->no_trim ? 2 : 0, { BY_COMM, BY_RANGE } },
	};
	struct text_opts text_opts = { .unit = UNIT_NS, .max_rows = 20 };
	struct session_opts session_opts = {
		.trim = !opts->no_trim, .by_range = opts->no_trim, .stats = true,
		/* Bins of time soon become coarser, and are merged. */
		.by_time = true, .times_by_path = opts->no_trim, .by_thread = opts->no_trim,
		.max_times = size / 8 % 3 ? 0 : 16,
	};
	struct timeline *timeline;
	struct session s;
	struct reader r;
	size_t i;
	FILE *f;

	memset(m, 0, sizeof(*m));
	m->open_err = reader__open_mem(&r, buf, size, name);
	memcpy(m->error, r.error, sizeof(m->error));
	if (m->open_err)
		return;
	timeline = timeline__new();
	if (!timeline)
		abort();
	session_opts.sink = &timeline->sink;
	m->err = session__init(&s, &session_opts);
	if (m->err)
		abort();
	m->err = session__process(&s, &r, 1);
	if (!m->err) {
		f = merged__open(&m->folded);
		m->err = folded__write(&s, f, &folded_opts, &m->folded_result);
		fclose(f);
	}
	if (!m->err) {
		f = merged__open(&m->json);
		m->err = chrome__write(timeline, &s, f);
		fclose(f);
	}
	if (!m->err) {
		f = merged__open(&m->pftrace);
		m->err = pftrace__write(timeline, &s, f);
		fclose(f);
	}
	if (!m->err) {
		f = merged__open(&m->text);
		m->err = text__write(&s, f, &text_opts, &(bool){ false });
		fclose(f);
	}
	/* A page is slow to write, so write it for some inputs only. */
	if (!m->err && size / 8 % 4 == 0) {
		f = merged__open(&m->html);
		m->err = html__write(f, &(struct html_side){ &s, 1 }, 1,
				     &(struct html_opts){ .unit = "auto", .normalize = "" });
		fclose(f);
	}
	if (!m->err) {
		struct diff_opts diff_opts = { .unit = UNIT_NS };
		const struct diff_text text = { .width = 90 };
		struct folded_result diff_result;
		struct diff d;

		f = merged__open(&m->diff);
		m->err = diff__init(&d, &s, &s, &diff_opts) ?:
			 diff__write_text(&d, f, &text) ?:
			 diff__write_folded(&d, f, true, &diff_result);
		diff__exit(&d);
		fclose(f);
	}
	m->status = s.status;
	m->ended = s.ended;
	m->loss = s.sums.loss;
	for (i = 0; i < s.sums.aggregates.nr; i++) {
		if (!leaf_kind__is_device(s.model.leaves.v[s.sums.aggregates.v[i].leaf].kind))
			continue;
		m->sum_ns += s.sums.aggregates.v[i].sum_ns;
		m->nr_records += s.sums.aggregates.v[i].nr;
	}
	m->times_ns = merged__times_ns(&s);
	if (!m->err) {
		f = open_memstream(&m->pprof, &m->pprof_size);
		if (!f)
			abort();
		m->err = pprof__write(&s, f);
		fclose(f);
	}
	/* Write a dump, too, but only for some inputs. */
	if (!m->err && size / 8 % 4 == 1) {
		struct dump_result dump_result;

		f = merged__open(&m->dump);
		m->err = dump__write(&r, f, &dump_result);
		dump_result__free(&dump_result);
		fclose(f);
	}
	f = merged__open(&m->msgs);
	for (i = 0; i < s.msgs.lines.nr; i++)
		fprintf(f, "%s\n", s.msgs.lines.v[i]);
	fclose(f);
	session__exit(&s);
	timeline__free(timeline);
	reader__close(&r);
}

/* ---- rules for every result ------------------------------------------------------------------ */

static inline const char *json__value(const char *p, int depth);

static inline const char *json__space(const char *p)
{
	return p + strspn(p, " \t\r\n");
}

static inline const char *json__string(const char *p)
{
	if (*p++ != '"')
		return NULL;
	for (; *p != '"'; p++) {
		if ((unsigned char)*p < 0x20)
			return NULL;
		if (*p != '\\')
			continue;
		p++;
		if (*p == 'u') {
			int i;

			for (i = 0; i < 4; i++)
				if (!isxdigit((unsigned char)*++p))
					return NULL;
		} else if (!*p || !strchr("\"\\/bfnrt", *p)) {
			return NULL;
		}
	}
	return p + 1;
}

static inline const char *json__number(const char *p)
{
	const char *digits;

	p += *p == '-';
	digits = p;
	p += strspn(p, "0123456789");
	if (p == digits || (*digits == '0' && p > digits + 1))
		return NULL;
	if (*p == '.') {
		digits = ++p;
		p += strspn(p, "0123456789");
		if (p == digits)
			return NULL;
	}
	if (*p == 'e' || *p == 'E') {
		p++;
		digits = p += *p == '-' || *p == '+';
		p += strspn(p, "0123456789");
		if (p == digits)
			return NULL;
	}
	return p;
}

static inline const char *json__list(const char *p, int depth, char close)
{
	p = json__space(p + 1);
	if (*p == close)
		return p + 1;
	for (;;) {
		if (close == '}') {
			p = json__string(json__space(p));
			if (!p || *(p = json__space(p)) != ':')
				return NULL;
			p++;
		}
		p = json__value(json__space(p), depth + 1);
		if (!p)
			return NULL;
		p = json__space(p);
		if (*p == close)
			return p + 1;
		if (*p++ != ',')
			return NULL;
	}
}

static inline const char *json__value(const char *p, int depth)
{
	if (depth > 20)
		return NULL;
	if (*p == '{')
		return json__list(p, depth, '}');
	if (*p == '[')
		return json__list(p, depth, ']');
	if (*p == '"')
		return json__string(p);
	if (!strncmp(p, "true", 4) || !strncmp(p, "false", 5))
		return p + (*p == 't' ? 4 : 5);
	if (!strncmp(p, "null", 4))
		return p + 4;
	return json__number(p);
}

/* Return: NULL if @json is one valid JSON value, else where it is invalid */
static inline bool json__valid(const char *json)
{
	const char *end = json__value(json__space(json), 0);

	return end && !*json__space(end);
}

/* Return: whether the data of a page is JSON that cannot end its script element. */
static inline bool html__valid(const char *html)
{
	static const char begin[] = "id=\"xpu-data\">\n";
	const char *data = strstr(html, begin), *end;

	if (!data)
		return false;
	data += sizeof(begin) - 1;
	end = json__value(data, 0);
	return end && end == strchr(data, '<') - 1 && !strncmp(end, "\n</script>\n", 11);
}

/* Return: whether all lines are "frame;frame;... VALUE", printable, sorted and distinct */
static inline bool folded__valid(const char *folded)
{
	const char *line = folded, *end, *value, *previous = NULL;
	size_t len, previous_len = 0, i;
	int cmp;

	for (; *line; line = end + 1) {
		end = strchr(line, '\n');
		if (!end)
			return false;
		value = end;
		while (value > line && isdigit((unsigned char)value[-1]))
			value--;
		if (value == end || value - line < 2 || value[-1] != ' ')
			return false;
		len = value - 1 - line;
		for (i = 0; i < len; i++)
			if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
				return false;
		if (line[0] == ';' || !memchr(line, ';', len))
			return false;
		if (previous) {
			cmp = memcmp(previous, line, len < previous_len ? len : previous_len);
			if (cmp > 0 || (!cmp && previous_len >= len))
				return false;
		}
		previous = line;
		previous_len = len;
	}
	return true;
}

/* Return: whether @pprof is a profile with device time @sum_ns. */
static inline bool pprof__valid(const char *pprof, size_t size, uint64_t sum_ns)
{
	z_stream z = { .next_in = (unsigned char *)pprof, .avail_in = size };
	Perftools__Profiles__Profile *p;
	uint8_t *data = NULL;
	size_t cap = 0, i;
	int end;

	if (inflateInit2(&z, 15 + 16) != Z_OK)
		abort();
	do {
		cap += 64 * 1024;
		data = realloc(data, cap);
		if (!data)
			abort();
		z.next_out = data + z.total_out;
		z.avail_out = cap - z.total_out;
		end = inflate(&z, Z_NO_FLUSH);
	} while (end == Z_OK);
	inflateEnd(&z);
	p = end == Z_STREAM_END ?
	    perftools__profiles__profile__unpack(NULL, z.total_out, data) : NULL;
	free(data);
	if (!p)
		return false;
	for (i = 0; i < p->n_sample; i++)
		sum_ns -= p->sample[i]->value[0];
	perftools__profiles__profile__free_unpacked(p, NULL);
	return !sum_ns;
}

/* Return: what is inconsistent in a merge that has reached its writers, or NULL. */
static inline const char *merged__broken(const struct merged *m)
{
	const struct loss *l = &m->loss;

	if (m->open_err)
		return m->error[0] ? NULL : "refused without a reason";
	if (m->err)
		return "out of memory";
	if (l->nr_launches != l->nr_matched + l->nr_pending)
		return "a launch is neither matched nor pending";
	if (m->nr_records != l->nr_works)
		return "a device record is in no line";
	if (!l->bad_times && m->times_ns != m->sum_ns)
		return "time of device work is in no bin";
	if (l->nr_works < l->nr_orphans)
		return "more orphans than device records";
	if (!json__valid(m->json))
		return "invalid JSON";
	if (m->html && !html__valid(m->html))
		return "an invalid page";
	if (!folded__valid(m->folded))
		return "invalid folded stacks";
	if (!pprof__valid(m->pprof, m->pprof_size, m->sum_ns))
		return "invalid profile";
	if (m->status && !*m->msgs)
		return "damaged, but nobody says so";
	return NULL;
}

#endif /* TEST_LIB_GEN_MERGE_H */
