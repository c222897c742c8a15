// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * fuzz_memory - fuzzes the memory views of two recordings of one device
 *
 * The first bytes choose the view, and say how many of the records are in the first recording.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "gen.h"
#include "gen_merge.h"
#include "memory/views.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

#define HEAD	8			/* bytes before the records */

static void check(bool right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

/* Return: whether each line has a value that is possible for memory. */
static bool is_possible(const char *folded)
{
	const char *line = folded, *end, *value;

	for (; (end = strchr(line, '\n')); line = end + 1) {
		for (value = end; value > line && value[-1] != ' ';)
			value--;
		if (strtoull(value, NULL, 10) > INT64_MAX)
			return false;
	}
	return true;
}

static void show(struct session *s)
{
	struct folded_opts folded_opts = { .unit = UNIT_BYTES };
	struct text_opts text_opts = { .unit = UNIT_NS, .max_rows = 20 };
	struct folded_result result;
	char *folded = NULL, *text = NULL;
	FILE *f = merged__open(&folded);
	int err = folded__write(s, f, &folded_opts, &result);

	fclose(f);
	check(!err && folded__valid(folded) && is_possible(folded), "invalid folded stacks");
	f = merged__open(&text);
	check(!text__write(s, f, &text_opts, &(bool){ false }), "no text");
	fclose(f);
	free(folded);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t moments[] = { 500, 9500, 10500, 11000, 12500, 1000000000 };
	enum memory_view view = data && size ? MEMORY_LIVE + data[0] % 5 : MEMORY_LIVE;
	bool at = size > 1 && view == MEMORY_LIVE && data[1] % 4;
	struct memory_opts values = {
		.view = view, .nr_at = !at ? 0 : data[1] % 4 == 1 ? 1 : ARRAY_SIZE(moments),
	};
	struct session_opts opts = {
		.trim = true, .stats = true, .values[FEATURE_memory] = &values,
		.with_made = size > 2 && data[2] % 2,
	};
	size_t bytes = size > HEAD ? (size - HEAD) & ~(size_t)7 : 0, first = 0, i;
	const struct xpu_record *rec;
	struct gen g[2] = { 0 };
	struct reader r[2];
	struct session s;
	int err = 0;

	memcpy(values.at_ns, moments, sizeof(moments));
	values.at_failure[0] = at && data[1] % 4 == 1;
	memory_options.apply(&values, &opts);
	/* Takes records while their sizes lead to a next record. */
	for (i = 0; size > 3 && i < data[3] && first + sizeof(*rec) <= bytes; i++) {
		rec = (const void *)(data + HEAD + first);
		if (rec->size < sizeof(*rec) || rec->size % 8 || rec->size > bytes - first)
			break;
		first += rec->size;
	}
	for (i = 0; i < 2; i++) {
		gen__header(&g[i]);
		((struct xpu_file_header *)g[i].v)->start_mono_ns += i;
		if (bytes)
			gen__bytes(&g[i], data + HEAD + (i ? first : 0), i ? bytes - first : first);
		err = err ?: reader__open_mem(&r[i], g[i].v, g[i].nr, i ? "second" : "first");
	}
	check(!err && !session__init(&s, &opts), "cannot begin");
	err = session__process(&s, r, 2);
	check(err != -ENOMEM, "out of memory");
	if (!err)
		show(&s);
	session__exit(&s);
	for (i = 0; i < 2; i++) {
		reader__close(&r[i]);
		gen__free(&g[i]);
	}
	return 0;
}

/*
 * Usually corrects the sizes of records. With wrong sizes, nothing after the first record would be
 * read.
 */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	struct xpu_record *rec;
	size_t at;

	size = LLVMFuzzerMutate(data, size, max_size) & ~(size_t)7;
	for (at = HEAD; at + sizeof(*rec) <= size && seed % 8; at += rec->size) {
		rec = (struct xpu_record *)(data + at);
		if (rec->size < sizeof(*rec) || rec->size % 8 || rec->size > size - at)
			rec->size = size - at;
		rec->type %= 96;
	}
	return size;
}
