// SPDX-License-Identifier: GPL-3.0-or-later
/* trace_text.c - reads the text that NVIDIA's sample programs print */
#include <ctype.h>
#include <string.h>

#include "import/trace_event.h"

/* Reads a decimal number at *@p and moves *@p to its end. */
static bool read_number(const char **p, const char *end, uint64_t *value)
{
	const char *q = *p;

	for (*value = 0; q < end && isdigit((unsigned char)*q); q++)
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, *q - '0', value))
			return false;
	if (q == *p)
		return false;
	*p = q;
	return true;
}

/* Return: the number that follows the first @word in [@p, @end), or 0. */
static uint64_t number_after(const char *p, const char *end, const char *word)
{
	uint64_t value;

	p = memmem(p, end - p, word, strlen(word));
	if (!p)
		return 0;
	p += strlen(word);
	return read_number(&p, end, &value) ? value : 0;
}

/* Return: the last @needle in [@p, @end), or NULL. */
static const char *last_of(const char *p, const char *end, const char *needle)
{
	size_t len = strlen(needle);
	const char *at = end - len;

	for (; at >= p; at--)
		if (!memcmp(at, needle, len))
			return at;
	return NULL;
}

/* Reads the times of "KIND [ start, end ] duration N, "name", ..." and moves *@p to their end. */
static bool text__head(const char **p, const char *end, uint64_t *start_ns, uint64_t *end_ns)
{
	const char *q = *p;

	if (end - q < 2 || memcmp(q, "[ ", 2))
		return false;
	q += 2;
	if (!read_number(&q, end, start_ns))
		return false;
	/* CUDA before 11.5 wrote "-" */
	if (end - q > 2 && !memcmp(q, ", ", 2))
		q += 2;
	else if (end - q > 3 && !memcmp(q, " - ", 3))
		q += 3;
	else
		return false;
	if (!read_number(&q, end, end_ns) || end - q < 2 || memcmp(q, " ]", 2))
		return false;
	*p = q + 2;
	return true;
}

/* Reads the second or third line of a record, which continues the last activity record. */
static void text__continue(struct gpu_work *w, const char *p, const char *end)
{
	w->device = number_after(p, end, "deviceId ") ?: number_after(p, end, " device ");
	w->context = number_after(p, end, "contextId ") ?: number_after(p, end, " context ");
	w->stream = number_after(p, end, "streamId ") ?: number_after(p, end, " stream ");
}

/*
 * Return: the name of a launch, copy or wait. Used for a line that has only CUPTI's function
 * number.
 */
static struct span text__callback(uint32_t cbid, bool driver)
{
	static const struct {
		uint32_t cbid;
		const char *name;
	} runtime[] = {
		{ 13, "cudaLaunch" }, { 31, "cudaMemcpy" }, { 41, "cudaMemcpyAsync" },
		{ 49, "cudaMemset" }, { 51, "cudaMemsetAsync" }, { 131, "cudaStreamSynchronize" },
		{ 165, "cudaDeviceSynchronize" }, { 211, "cudaLaunchKernel" },
	};
	size_t i;

	if (driver)
		return span__of(cbid == 307 ? "cuLaunchKernel" : "[unknown]");
	for (i = 0; i < ARRAY_SIZE(runtime); i++)
		if (runtime[i].cbid == cbid)
			return span__of(runtime[i].name);
	return span__of("[unknown]");
}

/*
 * Reads the "name" that follows the times of a line, with or without a comma between them. Return:
 * whether the line has a name.
 */
static bool text__name(const char **p, const char *end, struct span *name)
{
	const char *at = memmem(*p, end - *p, " \"", 2), *last;

	/* A name may contain quotes: it ends where the next field begins. */
	last = at ? last_of(at + 2, end, "\", c") : NULL;
	if (!last)
		return false;
	*name = (struct span){ at + 2, last - at - 2 };
	*p = last;
	return true;
}

static int gputrace__text_call(struct gputrace *t, bool driver, uint64_t start_ns, uint64_t end_ns,
			       struct span name, const char *p, const char *end)
{
	struct gpu_call c = {
		.start_ns = start_ns, .end_ns = end_ns, .driver = driver,
		.pid = number_after(p, end, "processId ") ?: number_after(p, end, " process "),
		.tid = number_after(p, end, "threadId ") ?: number_after(p, end, " thread "),
		.correlation_id = number_after(p, end, "correlationId ") ?:
				  number_after(p, end, " correlation "),
	};

	return gputrace__add_call(t, &c, name);
}

/* Reads a record. @p: the text after the word that names the kind */
static int gputrace__text_record(struct gputrace *t, enum record_kind kind, const char *p,
				 const char *end)
{
	bool call = kind == RECORD_RUNTIME || kind == RECORD_DRIVER;
	struct span name = { "", 0 };
	struct gpu_work w = { 0 };
	uint64_t start_ns, end_ns, cbid;
	const char *at = p + 5;

	if (call && end - p > 5 && !memcmp(p, "cbid=", 5) && read_number(&at, end, &cbid)) {
		/*
		 * CUDA before 11.5 wrote: RUNTIME cbid=211 [ start - end ] process 1, thread 2, ...
		 */
		name = text__callback(min_t(uint64_t, cbid, UINT32_MAX), kind == RECORD_DRIVER);
		p = at + (at < end);
	} else if (*p == '"') {
		/*
		 * A copy has the form MEMCPY "HtoD" [ start, end ]. A kernel may have the form
		 * KERNEL "name" [ start - end ].
		 */
		at = last_of(p + 1, end, "\" [ ");
		name = (struct span){ p + 1, at ? at - p - 1 : 0 };
		p = at ? at + 2 : p;
	} else if (*p != '[') {
		at = memmem(p, end - p, " [ ", 3);
		name = (struct span){ p, at ? at - p : 0 };
		p = at ? at + 1 : p;
	}
	if (!text__head(&p, end, &start_ns, &end_ns)) {
		t->nr_strange++;
		return 0;
	}
	if (!name.len && (call || kind == RECORD_KERNEL) && !text__name(&p, end, &name)) {
		t->nr_strange++;
		return 0;
	}
	if (call)
		return gputrace__text_call(t, kind == RECORD_DRIVER, start_ns, end_ns, name, p,
					   end);
	w.kind = kind == RECORD_KERNEL ? WORK_KERNEL :
		 kind == RECORD_MEMCPY ? WORK_MEMCPY : WORK_MEMSET;
	w.w.start_ns = start_ns;
	w.w.bytes = kind == RECORD_KERNEL ? 0 : number_after(p, end, "size ");
	w.w.correlation_id = number_after(p, end, "correlationId ") ?:
			     number_after(p, end, " correlation ");
	text__continue(&w, p, end);
	return gputrace__add_work(t, &w, end_ns, name);
}

/*
 * Return: whether the text after the word that names a kind continues like a record of that kind.
 */
static bool text__begins(enum record_kind kind, const char *p, const char *end)
{
	if (p == end)
		return false;
	if (kind == RECORD_MEMCPY && isupper((unsigned char)*p))	/* HtoD [ start - end ] */
		return memmem(p, min_t(size_t, end - p, 8), " [ ", 3);
	return *p == '[' || *p == '"' || (end - p > 5 && !memcmp(p, "cbid=", 5));
}

int gputrace__text_line(struct gputrace *t, const char *s, size_t len, bool *continues)
{
	static const struct {
		const char *word;
		enum record_kind kind;
	} words[] = {	/* if one word is a suffix of another word, the longer word comes first */
		{ "RUNTIME ", RECORD_RUNTIME }, { "DRIVER ", RECORD_DRIVER },
		{ "CONCURRENT_KERNEL ", RECORD_KERNEL }, { "KERNEL ", RECORD_KERNEL },
		{ "MEMCPY ", RECORD_MEMCPY }, { "MEMCPY2 ", RECORD_MEMCPY },
		{ "MEMSET ", RECORD_MEMSET },
	};
	const char *end = s + len, *p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		p = memmem(s, len, words[i].word, strlen(words[i].word));
		if (!p || (p > s && (isalnum((unsigned char)p[-1]) || p[-1] == '_')))
			continue;
		p += strlen(words[i].word);
		if (!text__begins(words[i].kind, p, end))
			continue;
		*continues = words[i].kind >= RECORD_KERNEL;
		return gputrace__text_record(t, words[i].kind, p, end);
	}
	if (*continues && t->works.nr && isblank((unsigned char)*s)) {
		if (memmem(s, len, "deviceId ", 9))
			text__continue(&t->works.v[t->works.nr - 1], s, end);
		return 0;
	}
	*continues = false;
	/*
	 * Records of other kinds have the same form; all other lines are the program's own output.
	 */
	if (memmem(s, len, " [ ", 3)) {
		struct span word = { s, (const char *)memchr(s, ' ', len) - s };

		return gputrace__pass_over(t, record__kind(word), word);
	}
	t->nr_strange++;
	return 0;
}
