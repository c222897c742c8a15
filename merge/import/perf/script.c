// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/perf/script.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/gputrace.h"
#include "import/span.h"

#define MAX_WORDS	64		/* maximum number of words to read from a sample's first
					 * line; a tracepoint's text may have more words */
#define SNIFF_LINES	200		/* maximum number of lines to examine, not counting comments
					 * (as from --header) and perf's own events */
#define SNIFF_BYTES	(64u << 20)	/* maximum number of bytes to examine, including comments
					 * and perf's own events */
#define FILE_ADDRESS	(1ull << 40)	/* a lower address is an offset in a file, not an address in
					 * memory */

/* The words of a sample's first line. */
struct header {
	struct span comm, event;
	uint64_t time_ns, period;
	uint32_t pid, tid, cpu;
	bool has_time, has_id, has_pid;
	struct span rest;		/* the text that follows the event */
};

struct frame_text {
	size_t at, len;			/* offset and length of the frame in the reader's text */
	bool cuda;			/* the frame is in CUDA's own libraries */
	bool has_line;
};

struct script_reader {
	struct script *s;
	bool srcline;
	bool in_sample;
	struct perf_sample sample;
	ARRAY(struct frame_text) frames;	/* the sample's frames, innermost first */
	ARRAY(char) text, stack;
};

/* ---- words ----------------------------------------------------------------------------------- */

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

static struct span trimmed(struct span s)
{
	while (s.len && isspace((unsigned char)*s.s)) {
		s.s++;
		s.len--;
	}
	while (s.len && isspace((unsigned char)s.s[s.len - 1]))
		s.len--;
	return s;
}

/* Parses all of @s as a number. */
static bool read_number(struct span s, uint64_t *value)
{
	size_t i;

	*value = 0;
	for (i = 0; i < s.len; i++)
		if (!isdigit((unsigned char)s.s[i]) || __builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, s.s[i] - '0', value))
			return false;
	return s.len;
}

/* Parses an id. For a thread that has exited, perf prints the id -1, which becomes 0. */
static bool read_id(struct span s, uint32_t *id)
{
	uint64_t value;

	if (span__is(s, "-1")) {
		*id = 0;
		return true;
	}
	if (!read_number(s, &value) || value > INT32_MAX)
		return false;
	*id = value;
	return true;
}

/* Parses "123" or "123/124". */
static bool read_ids(struct span s, struct header *h)
{
	const char *slash = memchr(s.s, '/', s.len);
	struct span first = { s.s, slash ? (size_t)(slash - s.s) : s.len }, second = { 0 };

	h->has_pid = slash;
	if (!slash)
		return read_id(s, &h->tid);
	second = (struct span){ slash + 1, s.len - first.len - 1 };
	return read_id(first, &h->pid) && read_id(second, &h->tid);
}

/* Parses "[003]". */
static bool read_cpu(struct span s, struct header *h)
{
	uint64_t cpu;

	if (s.len < 3 || s.s[0] != '[' || s.s[s.len - 1] != ']' ||
	    !read_number((struct span){ s.s + 1, s.len - 2 }, &cpu))
		return false;
	h->cpu = min_t(uint64_t, cpu, UINT16_MAX);
	return true;
}

/* Parses "12.000345:", seconds with any number of decimals. */
static bool read_time(struct span s, uint64_t *ns)
{
	const char *point = memchr(s.s, '.', s.len);
	uint64_t seconds, part, scale = 1000000000;
	struct span digits;
	size_t i;

	if (s.len < 4 || s.s[s.len - 1] != ':' || !point)
		return false;
	digits = (struct span){ point + 1, s.s + s.len - 1 - (point + 1) };
	if (!read_number((struct span){ s.s, point - s.s }, &seconds) || digits.len > 9 ||
	    !read_number(digits, &part))
		return false;
	for (i = 0; i < digits.len; i++)
		scale /= 10;
	return !__builtin_mul_overflow(seconds, 1000000000, ns) &&
	       !__builtin_add_overflow(*ns, part * scale, ns);
}

static bool span__starts(struct span s, const char *with)
{
	return s.len >= strlen(with) && !memcmp(s.s, with, strlen(with));
}

/* Return: whether @s consists of perf's letters for a CPU mode, as in "K" or "MU". */
static bool is_mode(struct span s)
{
	size_t i;

	for (i = 0; i < s.len; i++)
		if (!isupper((unsigned char)s.s[i]))
			return false;
	return s.len && s.len <= 4;
}

/* ---- a sample's first line ------------------------------------------------------------------- */

/*
 * Parses the first @nr words. They precede the time; if the time is missing, they precede the
 * event. Return: whether these words are a thread's name and ids.
 */
static bool header__read_thread(struct header *h, const struct span *words, size_t nr)
{
	size_t n = nr;

	if (n > 1 && is_mode(words[n - 1]))
		n--;
	if (n > 1 && read_cpu(words[n - 1], h))
		n--;
	if (!n || !read_ids(words[n - 1], h))
		return false;
	h->has_id = true;
	n--;
	if (n)
		h->comm =
			(struct span){ words[0].s, words[n - 1].s + words[n - 1].len - words[0].s };
	return true;
}

/* Parses "period event:" or "event:" at word @i. Return: the number of its words. */
static size_t header__read_event(struct header *h, const struct span *words, size_t nr, size_t i)
{
	size_t n = 0;

	if (i + 1 < nr && read_number(words[i], &h->period))
		n = 1;
	if (i + n < nr && words[i + n].len > 1 && words[i + n].s[words[i + n].len - 1] == ':') {
		h->event = words[i + n];
		h->event.len--;
		return n + 1;
	}
	h->period = 0;
	return 0;
}

/* Splits @line into words. Return: the number of words, at most MAX_WORDS. */
static size_t split_words(struct span line, struct span *words)
{
	const char *end = line.s + line.len, *p = line.s;
	size_t nr = 0;

	while (nr < MAX_WORDS) {
		while (p < end && is_space(*p))
			p++;
		if (p == end)
			break;
		words[nr].s = p;
		while (p < end && !is_space(*p))
			p++;
		words[nr].len = p - words[nr].s;
		nr++;
	}
	return nr;
}

/* Return: whether @line is the first line of a sample. */
static bool header__read(struct header *h, struct span line)
{
	const char *end = line.s + line.len;
	struct span words[MAX_WORDS];
	size_t nr, i, used;
	uint64_t time_ns;

	nr = split_words(line, words);
	for (i = 1; i < nr; i++) {
		*h = (struct header){ 0 };
		if (!read_time(words[i], &time_ns) || !header__read_thread(h, words, i))
			continue;
		h->time_ns = time_ns;
		h->has_time = true;
		used = header__read_event(h, words, nr, i + 1);
		if (i + 1 + used < nr)
			h->rest = (struct span){ words[i + 1 + used].s,
						 end - words[i + 1 + used].s };
		return true;
	}
	/* Accept a time without ids, because -F comm,time,... prints no ids. */
	for (i = 0; i < nr; i++) {
		*h = (struct header){ .has_time = true };
		if (!read_time(words[i], &h->time_ns))
			continue;
		if (i)
			h->comm = (struct span){ words[0].s,
						 words[i - 1].s + words[i - 1].len - words[0].s };
		used = header__read_event(h, words, nr, i + 1);
		if (i + 1 + used < nr)
			h->rest = (struct span){ words[i + 1 + used].s,
						 end - words[i + 1 + used].s };
		return true;
	}
	/* If there is no time, look for an event that follows a thread's name and ids. */
	for (i = 1; i < nr; i++) {
		size_t thread = i;

		*h = (struct header){ 0 };
		if (words[i].len < 2 || words[i].s[words[i].len - 1] != ':')
			continue;
		if (i > 1 && read_number(words[i - 1], &h->period) &&
		    header__read_thread(h, words, i - 1) && h->comm.len)
			thread = i - 1;
		else if (!header__read_thread(h, words, i))
			continue;
		if (thread == i)
			h->period = 0;
		h->event = (struct span){ words[i].s, words[i].len - 1 };
		if (i + 1 < nr)
			h->rest = (struct span){ words[i + 1].s, end - words[i + 1].s };
		return true;
	}
	return false;
}

/* Return: whether the line is an event that --show-mmap-events and similar options print. */
static bool header__is_perf_event(const struct header *h)
{
	return span__starts(h->event.len ? h->event : h->rest, "PERF_RECORD_");
}

/* ---- frames ---------------------------------------------------------------------------------- */

struct frame_line {
	uint64_t address;
	struct span name, dso;
	bool inlined;
};

/*
 * Return: the "(" that matches the ")" at the end of @s. NULL if there is no such "(", or if a
 * character other than a blank precedes it.
 */
static const char *last_parenthesis(struct span s)
{
	size_t i = s.len;
	int depth = 0;

	if (!s.len || s.s[s.len - 1] != ')')
		return NULL;
	while (i--) {
		depth += s.s[i] == ')';
		depth -= s.s[i] == '(';
		if (!depth)
			return !i || is_space(s.s[i - 1]) ? s.s + i : NULL;
	}
	return NULL;
}

/* Return: whether @line is "address name (file)", or consists of some of these parts. */
static bool frame_line__read(struct frame_line *f, struct span line)
{
	const char *open;
	size_t n = 0, i;

	*f = (struct frame_line){ 0 };
	line = trimmed(line);
	while (n < line.len && isxdigit((unsigned char)line.s[n])) {
		int c = tolower((unsigned char)line.s[n++]);

		f->address = f->address << 4 | (isdigit(c) ? c - '0' : c - 'a' + 10);
	}
	if (!n || n > 16 || (n < line.len && !is_space(line.s[n])))
		return false;
	line = trimmed((struct span){ line.s + n, line.len - n });
	open = last_parenthesis(line);
	if (open && span__is((struct span){ open, line.s + line.len - open }, "(inlined)")) {
		f->inlined = true;
		line = trimmed((struct span){ line.s, open - line.s });
		open = NULL;
	}
	if (open) {
		f->dso = (struct span){ open + 1, line.s + line.len - 1 - (open + 1) };
		line = trimmed((struct span){ line.s, open - line.s });
	}
	/* Remove the offset in the function. */
	for (i = line.len; i && isxdigit((unsigned char)line.s[i - 1]); i--)
		;
	if (i > 3 && i < line.len && !memcmp(line.s + i - 3, "+0x", 3))
		line.len = i - 3;
	f->name = line;
	return true;
}

static struct span last_part(struct span path)
{
	const char *slash = path.len ? memrchr(path.s, '/', path.len) : NULL;

	if (!slash || slash + 1 == path.s + path.len)
		return path;
	return (struct span){ slash + 1, path.s + path.len - (slash + 1) };
}

/* Adds a name. Replaces semicolons and line ends, because these separate frames and lines. */
static int reader__put(struct script_reader *r, struct span s)
{
	size_t i;
	int err = array_reserve(&r->text, r->text.nr + s.len);

	for (i = 0; i < s.len && !err; i++)
		r->text.v[r->text.nr++] = s.s[i] == ';' ? ':' : s.s[i] && s.s[i] != '\n' ? s.s[i] :
					  '?';
	return err;
}

static int reader__put_text(struct script_reader *r, const char *s)
{
	return reader__put(r, span__of(s));
}

static bool dso__is_kernel(const struct frame_line *f)
{
	return f->address >> 63 || span__starts(f->dso, "[kernel.") ||
	       span__starts(f->dso, "[guest.");
}

/* Adds a frame whose function is unknown, in the form described in the manual. */
static int reader__put_unknown(struct script_reader *r, const struct frame_line *f)
{
	struct span file = last_part(f->dso);
	bool memory = span__starts(f->dso, "//anon") || span__starts(f->dso, "/memfd:") ||
		      span__starts(f->dso, "/tmp/perf-") || span__starts(f->dso, "anon_inode:") ||
		      span__is(f->dso, "[heap]") || span__starts(f->dso, "[stack");
	char offset[32];
	int err;

	if (!f->dso.len || span__is(f->dso, "[unknown]"))
		return reader__put_text(r, f->address >> 63 ? "[kernel]_[k]" : "[unknown]");
	if (dso__is_kernel(f)) {
		if (span__starts(f->dso, "[kernel.") || span__starts(f->dso, "[guest.") ||
		    f->dso.s[0] != '[')
			return reader__put_text(r, "[kernel]_[k]");
		err = reader__put(r, f->dso);
		return err ?: reader__put_text(r, "_[k]");
	}
	if (memory)
		return reader__put_text(r, "[anon]");
	/* For "(libx.so+0x12)", perf printed the offset in the file. */
	if (memmem(file.s, file.len, "+0x", 3))
		return reader__put(r, file);
	if (f->address < FILE_ADDRESS) {
		snprintf(offset, sizeof(offset), "+0x%llx", (unsigned long long)f->address);
		err = reader__put(r, file);
		return err ?: reader__put_text(r, offset);
	}
	err = reader__put_text(r, "[");
	err = err ?: reader__put(r, file);
	return err ?: reader__put_text(r, "]");
}

static int reader__add_frame(struct script_reader *r, const struct frame_line *f)
{
	struct span file = last_part(f->dso);
	struct frame_text frame = {
		.at = r->text.nr,
		.cuda = span__starts(file, "libcuda.so") || span__starts(file, "libcudart"),
	};
	int err;

	if (!f->name.len || span__is(f->name, "[unknown]")) {
		err = reader__put_unknown(r, f);
	} else {
		err = reader__put(r, f->name);
		if (!err && f->inlined)
			err = reader__put_text(r, " (inlined)");
		if (!err && dso__is_kernel(f) &&
		    !(f->name.len > 4 && !memcmp(f->name.s + f->name.len - 4, "_[k]", 4)))
			err = reader__put_text(r, "_[k]");
	}
	frame.len = r->text.nr - frame.at;
	return err ?: array_push(&r->frames, frame);
}

/* Adds a source line such as " net.cc:41", which follows the line of its frame. */
static int reader__add_line(struct script_reader *r, struct span line)
{
	struct frame_text *f = r->frames.nr ? &r->frames.v[r->frames.nr - 1] : NULL;
	const char *colon;
	uint64_t number;
	int err;

	line = last_part(trimmed(line));
	colon = memrchr(line.s, ':', line.len);
	if (!r->srcline || !f || f->has_line || !colon || colon == line.s || *line.s == '?' ||
	    !read_number((struct span){ colon + 1, line.s + line.len - (colon + 1) }, &number))
		return 0;
	f->has_line = true;
	err = reader__put_text(r, " (");
	err = err ?: reader__put(r, line);
	err = err ?: reader__put_text(r, ")");
	f->len = r->text.nr - f->at;
	return err;
}

/* ---- samples --------------------------------------------------------------------------------- */

bool perf_event__launches(const char *event, const char **api, size_t *len)
{
	const char *name = strchr(event, ':'), *suffix;
	enum call_kind kind;

	if (!name || !cuda_api__parse(name + 1, strcspn(name + 1, ":"), api, len))
		return false;
	kind = cuda_api__kind(*api, *len);
	/*
	 * A return probe is not a launch. If another probe already has the name, perf appends a
	 * suffix such as _1: remove the suffix.
	 */
	suffix = memmem(*api, *len, "__return", 8);
	if (suffix || kind == CALL_OTHER)
		return false;
	while (*len && isdigit((unsigned char)(*api)[*len - 1]))
		--*len;
	if (*len && (*api)[*len - 1] == '_')
		--*len;
	return true;
}

static int reader__push_stack(struct script_reader *r, const char *s, size_t len)
{
	int err = r->stack.nr ? array_push(&r->stack, ';') : 0;

	err = err ?: array_reserve(&r->stack, r->stack.nr + len);
	if (err)
		return err;
	memcpy(r->stack.v + r->stack.nr, s, len);
	r->stack.nr += len;
	return 0;
}

/* Ends the current sample, if any. */
static int reader__end(struct script_reader *r)
{
	size_t i, first = 0, api_len, name_len;
	struct perf_event *event;
	const char *stack, *api, *name;
	bool launch;
	int err = 0;

	if (!r->in_sample)
		return 0;
	r->in_sample = false;
	event = &r->s->events.v[r->sample.event];
	launch = perf_event__launches(event->name, &api, &api_len);
	/* As in our own recordings, leave out CUDA's frames below the called function. */
	for (i = 0; launch && i < r->frames.nr && r->frames.v[i].cuda; i++)
		first = i;
	r->stack.nr = 0;
	for (i = r->frames.nr; i-- > first && !err;)
		err = reader__push_stack(r, r->text.v + r->frames.v[i].at, r->frames.v[i].len);
	if (!err && launch &&
	    (!r->frames.nr || !cuda_api__parse(r->text.v + r->frames.v[first].at,
					       r->frames.v[first].len, &name, &name_len)))
		err = reader__push_stack(r, api, api_len);
	if (err)
		return err;
	stack = strpool__intern(&r->s->stacks, r->stack.nr ? r->stack.v : "", r->stack.nr);
	if (!stack)
		return -ENOMEM;
	r->sample.stack = strpool__id(stack);
	if (r->sample.stack == r->s->stack_texts.nr)
		err = array_push(&r->s->stack_texts, stack);
	event->nr++;
	return err ?: array_push(&r->s->samples, r->sample);
}

/* Return: the index of the event, or NO_INDEX if memory is short. */
static uint32_t script__event(struct script *s, struct span name)
{
	const char *copy = strpool__intern(&s->event_names, name.s ?: "",
					   strnlen(name.s ?: "", name.len));
	uint32_t i;

	if (!copy)
		return NO_INDEX;
	i = strpool__id(copy);
	if (i == s->events.nr &&
	    array_push(&s->events, ((struct perf_event){
		.name = copy, .class = perf_event__class(copy),
	    })))
		return NO_INDEX;
	return i;
}

/* Return: the number that follows the last occurrence of @words in @line, or 0. */
static uint64_t comment__number(struct span line, const char *words)
{
	const char *p = memmem(line.s, line.len, words, strlen(words));
	struct span number;
	uint64_t value;

	if (!p)
		return 0;
	number = (struct span){ .s = p + strlen(words) };
	while (number.s + number.len < line.s + line.len &&
	       isdigit((unsigned char)number.s[number.len]))
		number.len++;
	return read_number(number, &value) ? value : 0;
}

static int reader__begin(struct script_reader *r, const struct header *h)
{
	struct script *s = r->s;
	struct frame_line frame;
	struct span comm = h->comm;

	if (header__is_perf_event(h)) {
		if (span__starts(h->event.len ? h->event : h->rest, "PERF_RECORD_LOST"))
			s->nr_lost += comment__number(h->rest, "lost ");
		return 0;
	}
	r->sample = (struct perf_sample){
		.time_ns = h->time_ns, .period = h->period, .pid = h->pid, .tid = h->tid,
		.cpu = h->cpu, .event = script__event(s, h->event),
		.comm = strpool__intern(&s->strings, comm.s ?: "", strnlen(comm.s ?: "", comm.len)),
	};
	if (r->sample.event == NO_INDEX || !r->sample.comm)
		return -ENOMEM;
	s->has_times |= h->has_time;
	s->has_ids |= h->has_id;
	s->has_pids |= h->has_pid;
	r->in_sample = true;
	r->frames.nr = r->text.nr = 0;
	/* Without call chains, a sample's only frame follows the event on the same line. */
	if (h->rest.len && frame_line__read(&frame, h->rest) && frame.dso.len)
		return reader__add_frame(r, &frame);
	return 0;
}

/*
 * Parses "# event : name = cycles, , ... { sample_period, sample_freq } = 4000, ... freq = 1, ...".
 */
static int script__read_comment(struct script *s, struct span line)
{
	const char *name = memmem(line.s, line.len, "name = ", 7);
	const char *comma = name ? memchr(name, ',', line.s + line.len - name) : NULL;
	uint32_t event;

	if (!span__starts(line, "# event :") || !comma)
		return 0;
	event = script__event(s, (struct span){ name + 7, comma - (name + 7) });
	if (event == NO_INDEX)
		return -ENOMEM;
	if (comment__number(line, ", freq = "))
		s->events.v[event].freq_hz = comment__number(line, "sample_freq } = ");
	s->clock = comment__number(line, "use_clockid = ") ?
		   (int)comment__number(line, ", clockid = ") : PERF_CLOCK_OWN;
	return 0;
}

static int reader__line(struct script_reader *r, struct span line)
{
	struct frame_line frame;
	struct header h;
	bool is_frame;
	int err;

	if (!trimmed(line).len)
		return reader__end(r);
	if (*line.s == '#')
		return script__read_comment(r->s, line);
	is_frame = r->in_sample && is_space(*line.s) && frame_line__read(&frame, line);
	/* An indented thread name such as "cafe" looks like an address, but no file follows it. */
	if (is_frame && frame.dso.len)
		return reader__add_frame(r, &frame);
	if (header__read(&h, line)) {
		err = reader__end(r);
		return err ?: reader__begin(r, &h);
	}
	if (is_frame)
		return reader__add_frame(r, &frame);
	if (r->in_sample && is_space(*line.s))
		return reader__add_line(r, line);
	r->s->nr_strange++;
	return 0;
}

static int perf_sample__compare(const void *a, const void *b, void *ctx __attribute__((unused)))
{
	const struct perf_sample *x = a, *y = b;

	return cmp3(x->time_ns, y->time_ns);
}

/* Reads the next line. Return: false at the end. */
static bool next_line(const char **p, const char *end, struct span *line)
{
	const char *eol;

	if (*p >= end)
		return false;
	eol = memchr(*p, '\n', end - *p) ?: end;
	*line = (struct span){ *p, eol - *p };
	*p = eol + 1;
	if (line->len && line->s[line->len - 1] == '\r')
		line->len--;
	return true;
}

bool script__is(const char *buf, size_t size)
{
	struct span text = span__text(buf, min_t(size_t, size, SNIFF_BYTES));
	const char *p = text.s, *end = text.s + text.len;
	struct frame_line frame;
	struct header h, before = { 0 };
	bool after_header = false;
	struct span line;
	int nr = 0;

	while (nr < SNIFF_LINES && next_line(&p, end, &line)) {
		if (line.len && *line.s == '#')
			continue;
		/*
		 * Stacks in the form of twofile.h have no time in perf's form, and no frames on
		 * separate lines.
		 */
		if (after_header && line.len && is_space(*line.s) &&
		    frame_line__read(&frame, line) && (frame.name.len || frame.dso.len))
			return true;
		if (after_header && before.has_time && before.event.len)
			return true;
		after_header = header__read(&h, line);
		if (after_header && header__is_perf_event(&h)) {
			after_header = false;
			continue;
		}
		before = h;
		nr += trimmed(line).len > 0;
	}
	return after_header && before.has_time && before.event.len;
}

int script__read(struct script *s, const char *buf, size_t size, bool srcline)
{
	struct script_reader r = { .s = s, .srcline = srcline };
	struct span text = span__text(buf, size);
	const char *p = text.s, *end = text.s + text.len;
	struct span line;
	int err = 0;

	memset(s, 0, sizeof(*s));
	s->clock = PERF_CLOCK_UNKNOWN;
	while (!err && next_line(&p, end, &line))
		err = reader__line(&r, line);
	err = err ?: reader__end(&r);
	array_free(&r.frames);
	array_free(&r.text);
	array_free(&r.stack);
	if (!err)
		array__sort(s->samples.v, s->samples.nr, sizeof(*s->samples.v),
			    perf_sample__compare, NULL);
	return err;
}

void script__exit(struct script *s)
{
	array_free(&s->stack_texts);
	array_free(&s->samples);
	array_free(&s->events);
	strpool__free(&s->stacks);
	strpool__free(&s->event_names);
	strpool__free(&s->strings);
}
