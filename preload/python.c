// SPDX-License-Identifier: MIT
#include "hot.h"
#include "python.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "libc.h"
#include "memory.h"
#include "options.h"
#include "probe.h"
#include "wire.h"
#include "xpu_pylayout.h"
#include "xpu_pyline.h"
#include "xpu_utf8.h"
#include "xpu_record.h"

#define MAX_FRAMES	XPU_MAX_FRAMES
#define MAX_WALK	(64 * 1024)	/* frames, shown or not: there may be a circle */
#define MAX_STRING	(64 * 1024)	/* bytes of a name; the wire has less */
#define MAX_TABLE	(64u << 20)	/* bytes of a line table */
#define MAX_KEPT	(64u << 20)	/* bytes of names and line tables, in the process */
#define PROBATION	64		/* walks that try whatever they read */
#define LOOK_S		1		/* between looks for an interpreter */

#define OWNED_BY_GENERATOR	1	/* enum _frameowner, Include/internal/pycore_frame.h */
#define OWNED_BY_CSTACK		3	/* from 3.12 on: no frame of Python's, but the loop's own */

/* A string of Python's, and what was made of it. */
struct text {
	uint64_t length;		/* characters */
	int64_t hash;			/* Python's, of 64 bits, or -1 */
	uint32_t shape;			/* STATE_SHAPE */
	uint32_t bytes;
	const uint8_t *raw;		/* NULL: it is none that can be compared */
	const char *utf8;
};

/* A code object that was met, by what is in it. Stays for ever. */
struct known {
	struct known *next;		/* in its bucket */
	struct known *next_unsent;
	uint64_t hash;
	uint32_t id;
	uint32_t first_line;
	uint32_t table_bytes;
	struct text name, filename;
	const uint8_t *table;		/* lines; NULL where the code object has a version */
};

/* An instruction that was met: one cache line. */
struct entry {
	uint64_t code;			/* 0: empty */
	uint32_t where;			/* bytes into the code; odd in a generator's frame */
	uint32_t version;		/* of the code object, unique in the process; or its line */
	uint64_t word;			/* for the chain; 0: such a frame is not shown */
	/* Without versions, all else by which a code object is known: */
	uint64_t name, filename, table;
	uint32_t prefix_bytes;		/* of the line table, which give the line */
	uint32_t reserved;
	const struct known *known;
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct entry) == 64, "a cache line");

#define SETS	256			/* a power of two */
#define WAYS	4

struct group {				/* the Python frames of one evaluation loop */
	uint32_t end;			/* behind its last word */
	uint64_t anchor;		/* an address in the loop's frame on the stack, or 0 */
};

/* A frame of a walk. */
struct step {
	uint64_t frame;			/* where it is, and in the upper bits, its owner */
	uint64_t code;			/* 0: the loop's own frame, which has none */
	uint32_t instr;			/* bytes into the code object */
	uint32_t version;		/* of that */
};

#define STEP_OWNER_SHIFT	56	/* no address is that large */
#define STEP_FRAME(s)		((s)->frame & ((1ull << STEP_OWNER_SHIFT) - 1))

struct python_trace {
	uint64_t tstate;
	uint64_t first;			/* where tstate leads to */
	uint64_t nr;
	uint64_t reserved;
	struct step steps[];		/* innermost first */
};

struct python {
	struct entry entries[SETS][WAYS];
	unsigned int nr_filled;
	unsigned int nr_words, nr_groups;
	bool cut;			/* there are more */
	bool failed;
	bool traced;			/* the steps are those of the whole walk */
	unsigned int nr_steps;
	uint64_t tstate, first;		/* as in the trace */
	struct step steps[MAX_FRAMES + 1];
	struct group groups[MAX_FRAMES];
	uint64_t words[MAX_FRAMES];	/* innermost first */
	uint64_t merged[MAX_FRAMES];
};

HOT_DATA _Atomic enum python_mode python__mode;

static HOT_DATA struct py_layout L;			/* written before python__mode, then read only */
static HOT_DATA void *(*get_tstate)(void);
static uint64_t code_type, unicode_type, bytes_type, loop_start, loop_bytes;

static atomic_uint nr_walks;		/* up to PROBATION */
static const char *_Atomic trouble;	/* why there are no Python frames, to be told */
static int trouble_level;

/* ---- reading --------------------------------------------------------------------------------- */

typedef uint64_t __attribute__((may_alias, aligned(1))) u64_alias;
typedef uint32_t __attribute__((may_alias, aligned(1))) u32_alias;

static inline uint64_t load64(uint64_t addr)
{
	return *(const u64_alias *)(uintptr_t)addr;
}

static inline uint32_t load32(uint64_t addr)
{
	return *(const u32_alias *)(uintptr_t)addr;
}

static inline uint8_t load8(uint64_t addr)
{
	return *(const uint8_t *)(uintptr_t)addr;
}

static bool readable(uint64_t addr, uint64_t bytes)
{
	return addr < USER_MAX && bytes <= USER_MAX - addr &&
	       memory__readable_span(addr, addr + bytes);
}

/* No more Python frames in this process. Any thread. */
static __attribute__((noinline, cold)) void give_up(int level, const char *why)
{
	atomic_store(&python__mode, PYTHON_OFF);
	trouble_level = level;
	atomic_store(&trouble, why);
}

/* ---- what is kept ---------------------------------------------------------------------------- */

/*
 * Launching threads add to these, perhaps in a signal handler that interrupted malloc(): so there
 * is no lock, and memory is the shim's own. The shim's thread sends what was added.
 */
#define CHUNK_BYTES	(1u << 20)
#define BUCKETS		4096		/* a power of two */

struct chunk {
	atomic_size_t used;
	uint8_t data[CHUNK_BYTES - sizeof(size_t)];
};

static struct chunk *_Atomic chunk;
static atomic_size_t nr_kept_bytes;
static struct known *_Atomic buckets[BUCKETS];
static struct known *_Atomic unsent;
static atomic_uint last_id;

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void *keep__alloc(size_t bytes)
{
	struct chunk *c, *fresh;
	size_t used;

	bytes = (bytes + 15) & ~15ul;
	if (atomic_fetch_add(&nr_kept_bytes, bytes) + bytes > MAX_KEPT)
		return NULL;
	if (bytes > sizeof(c->data) / 4)
		return map(bytes);
	for (;;) {
		c = atomic_load(&chunk);
		if (c) {
			used = atomic_fetch_add(&c->used, bytes);
			if (used + bytes <= sizeof(c->data))
				return c->data + used;
		}
		fresh = map(sizeof(*fresh));
		if (!fresh)
			return NULL;
		if (!atomic_compare_exchange_strong(&chunk, &c, fresh))
			munmap(fresh, sizeof(*fresh));
	}
}

static const void *keep__copy(const void *data, size_t bytes)
{
	void *copy = keep__alloc(bytes ? bytes : 1);

	return copy ? memcpy(copy, data, bytes) : NULL;
}

static uint64_t mix(uint64_t hash, const uint8_t *data, size_t bytes)
{
	uint64_t word;

	for (; bytes; data += bytes < 8 ? bytes : 8, bytes -= bytes < 8 ? bytes : 8) {
		word = 0;
		memcpy(&word, data, bytes < 8 ? bytes : 8);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	return hash;
}

/* ---- strings --------------------------------------------------------------------------------- */

static const struct text no_text = { .utf8 = "?" };

/* Reads the header of a string, so that it can be compared; no_text if it is an unusual one. */
static struct text text__read(uint64_t str)
{
	struct text t;
	uint32_t state;
	uint64_t data;

	if (!readable(str, L.compact_bytes) || load64(str + OB_TYPE) != unicode_type)
		return no_text;
	state = load32(str + STR_STATE);
	t.length = load64(str + STR_LENGTH);
	t.hash = load64(str + STR_HASH);
	t.shape = state & STATE_SHAPE;
	t.utf8 = NULL;
	data = str + (state & STATE_ASCII ? L.ascii_bytes : L.compact_bytes);
	if (!(state & STATE_COMPACT) || !STATE_KIND(state) || STATE_KIND(state) > 4 ||
	    t.length > MAX_STRING / 4)
		return no_text;
	t.bytes = t.length * STATE_KIND(state);
	t.raw = (const uint8_t *)(uintptr_t)data;
	return readable(data, t.bytes) ? t : no_text;
}

static uint32_t text__char(const struct text *t, size_t i)
{
	uint16_t c2;
	uint32_t c4;

	switch (STATE_KIND(t->shape)) {
	case 1:
		return t->raw[i];
	case 2:
		memcpy(&c2, t->raw + 2 * i, sizeof(c2));
		return c2;
	default:
		memcpy(&c4, t->raw + 4 * i, sizeof(c4));
		return c4;
	}
}

/* Makes @t last. */
static bool text__keep(struct text *t)
{
	char *utf8, *to;
	size_t i;

	if (!t->raw)
		return true;
	t->raw = keep__copy(t->raw, t->bytes);
	utf8 = keep__alloc(t->length * 4 + 1);
	if (!t->raw || !utf8)
		return false;
	for (i = 0, to = utf8; i < t->length; i++)
		to = utf8__put_python(to, text__char(t, i));
	*to = '\0';
	t->utf8 = utf8;
	return true;
}

static bool text__equal(const struct text *a, const struct text *b)
{
	if (!a->raw || !b->raw)
		return a->raw == b->raw;
	return a->length == b->length && a->shape == b->shape && !memcmp(a->raw, b->raw, a->bytes);
}

/* Whether the string at @str, one of a living code object's, still is @t. */
static inline bool text__is(const struct text *t, uint64_t str)
{
	uint32_t state = load32(str + STR_STATE);
	int64_t hash = load64(str + STR_HASH);

	if (load64(str + STR_LENGTH) != t->length || (state & STATE_SHAPE) != t->shape || !t->raw)
		return false;
	/* Two strings have the same one by an accident of 1 in 2^64. */
	if (hash != -1 && t->hash != -1)
		return hash == t->hash;
	return !memcmp(t->raw, (const void *)(uintptr_t)(str + (state & STATE_ASCII ?
		       L.ascii_bytes : L.compact_bytes)), t->bytes);
}

/* ---- code objects ---------------------------------------------------------------------------- */

/* The same as an unlike code object's is very unlike it: everything in it is compared. */
static struct known *known__find(struct known *from, const struct known *want)
{
	for (; from; from = from->next)
		if (from->hash == want->hash && from->first_line == want->first_line &&
		    from->table_bytes == want->table_bytes &&
		    text__equal(&from->name, &want->name) &&
		    text__equal(&from->filename, &want->filename) &&
		    (!want->table || !memcmp(from->table, want->table, want->table_bytes)))
			return from;
	return NULL;
}

/* The one that is like @want, which points into the interpreter. NULL without memory. */
static const struct known *known__intern(struct known *want)
{
	struct known *_Atomic *bucket;
	struct known *first, *k;
	uint64_t hash = want->first_line;

	hash = mix(hash, want->name.raw, want->name.raw ? want->name.bytes : 0);
	hash = mix(hash, want->filename.raw, want->filename.raw ? want->filename.bytes : 0);
	hash = mix(hash, want->table, want->table_bytes);
	want->hash = hash;
	bucket = &buckets[hash % BUCKETS];
	first = atomic_load(bucket);
	k = known__find(first, want);
	if (k)
		return k;

	k = keep__alloc(sizeof(*k));
	if (!k)
		return NULL;
	*k = *want;
	if (!text__keep(&k->name) || !text__keep(&k->filename))
		return NULL;
	if (k->table) {
		k->table = keep__copy(k->table, k->table_bytes);
		if (!k->table)
			return NULL;
	}
	k->id = atomic_fetch_add(&last_id, 1) + 1;
	do {
		struct known *other = known__find(first, want);

		if (other)
			return other;		/* another thread was quicker */
		k->next = first;
	} while (!atomic_compare_exchange_weak(bucket, &first, k));
	k->next_unsent = atomic_load(&unsent);
	while (!atomic_compare_exchange_weak(&unsent, &k->next_unsent, k))
		;
	return k;
}

bool python__drain(void)
{
	struct known *k, *next, *oldest = NULL, *all = atomic_exchange(&unsent, NULL);
	const char *why = atomic_exchange(&trouble, NULL);

	for (k = all; k; k = next) {
		next = k->next_unsent;
		k->next_unsent = oldest;
		oldest = k;
	}
	for (k = oldest; k; k = k->next_unsent)
		wire__pycode(k->id, k->name.utf8, k->filename.utf8, k->first_line);
	if (why)
		wire__message(trouble_level, why);
	return all || why;
}

/* Whether the code object that @e remembers is still there, not another one in its place. */
static inline bool entry__holds(const struct entry *e, uint64_t code)
{
	uint64_t table;

	if (L.co_version)
		return load32(code + L.co_version) == e->version && e->version;
	table = load64(code + L.co_linetable);
	return load32(code + L.co_firstlineno) == e->version &&
	       load64(code + L.co_name) == e->name &&
	       load64(code + L.co_filename) == e->filename && table == e->table &&
	       load64(table + BYTES_SIZE) == e->known->table_bytes &&
	       text__is(&e->known->name, e->name) && text__is(&e->known->filename, e->filename) &&
	       !memcmp((const void *)(uintptr_t)(table + BYTES_DATA), e->known->table,
		       e->prefix_bytes);
}

static struct entry *python__set(struct python *p, uint64_t code, uint32_t where)
{
	return p->entries[((code >> 4) * 0x9e3779b97f4a7c15ull + where * 0x2545f4914f6cdd1dull) >>
			  56];
}

_Static_assert(SETS == 1 << (64 - 56), "the hash's shift");

/* The word of an instruction not met before. 0 if its frame is not shown, or with p->failed. */
static __attribute__((noinline, cold)) uint64_t python__learn(struct python *p, uint64_t code,
							      uint32_t where)
{
	struct entry fresh = { .code = code, .where = where }, *e = python__set(p, code, where);
	const uint8_t *table, *stop;
	struct known want = { 0 };
	int saved_errno = errno, addr = (int)where, line;
	unsigned int i;

	if (!readable(code, L.co_bytes) || load64(code + OB_TYPE) != code_type)
		goto unexpected;
	fresh.name = load64(code + L.co_name);
	fresh.filename = load64(code + L.co_filename);
	fresh.table = load64(code + L.co_linetable);
	want.first_line = load32(code + L.co_firstlineno);
	fresh.version = L.co_version ? load32(code + L.co_version) : want.first_line;
	if (!readable(fresh.table, BYTES_DATA) || load64(fresh.table + OB_TYPE) != bytes_type ||
	    load64(fresh.table + BYTES_SIZE) > MAX_TABLE)
		goto unexpected;
	want.table_bytes = load64(fresh.table + BYTES_SIZE);
	table = (const uint8_t *)(uintptr_t)(fresh.table + BYTES_DATA);
	if (!readable(fresh.table + BYTES_DATA, want.table_bytes))
		goto unexpected;

	if (L.minor <= 9)
		line = line__lnotab(table, table + want.table_bytes, want.first_line, addr, &stop);
	else if (L.minor == 10)
		line = line__linetable(table, table + want.table_bytes, want.first_line, addr,
				       &stop);
	else
		line = line__locations(table, table + want.table_bytes, want.first_line,
				       (int)(where & ~1u), &stop);
	fresh.prefix_bytes = stop - table;
	want.table = table;
	if (L.co_version) {
		want.table = NULL;
		want.table_bytes = 0;
	}
	want.name = text__read(fresh.name);
	want.filename = text__read(fresh.filename);
	fresh.known = known__intern(&want);
	/* _PyFrame_IsIncomplete(): it does not run yet. */
	if (L.minor < 11 || where & 1 ||
	    (int)where >= (int)load32(code + L.co_firsttraceable) * 2) {
		if (line < 0 || line > XPU_FRAME_LINE_MAX)
			line = 0;
		fresh.word = XPU_FRAME_PYTHON | (uint64_t)line << 32 |
			     (fresh.known ? fresh.known->id : XPU_CODE_UNKNOWN);
	}
	if (fresh.known) {
		/* In the place of what it proved to be no more, or of none, or of any. */
		for (i = 0; i < WAYS && (e[i].code != code || e[i].where != where); i++)
			;
		if (i == WAYS)
			for (i = 0; i < WAYS && e[i].code; i++)
				;
		if (i == WAYS)
			i = p->nr_filled++ % WAYS;
		e[i] = fresh;
	}
	errno = saved_errno;
	return fresh.word;

unexpected:
	errno = saved_errno;
	p->failed = true;
	give_up(XPU_MESSAGE_WARNING, "Python's code objects are not as expected: call chains are "
		"without Python's frames");
	return 0;
}

/* ---- walking --------------------------------------------------------------------------------- */

static inline void python__push(struct python *p, uint64_t code, uint32_t where)
{
	struct entry *e = python__set(p, code, where);
	uint64_t word;
	int i;

	for (i = 0; i < WAYS; i++)
		if (e[i].code == code && e[i].where == where && entry__holds(&e[i], code))
			break;
	word = __builtin_expect(i < WAYS, 1) ? e[i].word : python__learn(p, code, where);
	if (!word)
		return;
	if (p->nr_words == MAX_FRAMES)
		p->cut = true;
	else
		p->words[p->nr_words++] = word;
}

/* The frames since the last call are of one loop. */
static inline void python__end_group(struct python *p, uint64_t anchor)
{
	if (p->nr_groups == MAX_FRAMES) {
		p->cut = true;
		return;
	}
	p->groups[p->nr_groups].end = p->nr_words;
	p->groups[p->nr_groups++].anchor = anchor;
}

/* While layouts are on probation, nothing is read that was not tried. */
static bool python__try(struct python *p, bool probation, uint64_t addr, uint64_t bytes)
{
	if (__builtin_expect(!probation, 1))
		return true;
	if (!(addr % 8) && readable(addr, bytes))
		return true;
	p->failed = true;
	give_up(XPU_MESSAGE_WARNING, "Python's frames are not where they are expected: call chains "
		"are without them");
	return false;
}

/* 3.8 to 3.10: PyFrameObjects, an evaluation loop each. */
static void python__walk_objects(struct python *p, uint64_t tstate, bool probation)
{
	uint64_t frame = load64(tstate + L.ts_frame), cframe = 0;
	unsigned int nr = 0;
	int32_t lasti;

	if (L.ts_cframe)
		cframe = load64(tstate + L.ts_cframe);
	for (; frame && nr < MAX_WALK; frame = load64(frame + L.f_previous), nr++) {
		if (!python__try(p, probation, frame, L.f_bytes))
			return;
		lasti = load32(frame + L.f_instr);
		if (L.minor == 10)
			lasti *= 2;	/* it counts code units */
		python__push(p, load64(frame + L.f_code), lasti);
		python__end_group(p, cframe);
		if (p->failed || p->cut)
			return;
		if (cframe) {
			if (!python__try(p, probation, cframe, L.cframe_previous + 8))
				return;
			cframe = load64(cframe + L.cframe_previous);
		}
	}
}

/* 3.11 and later: _PyInterpreterFrames, many to a loop. */
static void python__walk_frames(struct python *p, uint64_t tstate, bool probation)
{
	struct step *step = p->steps, *const end = step + MAX_FRAMES;
	bool traced = L.co_version && !probation;
	uint64_t frame, code, instr, cframe = 0;
	unsigned int nr = 0;
	uint8_t owner;

	frame = load64(tstate + L.ts_frame);
	p->first = frame;
	if (L.has_cframe) {
		cframe = frame;
		if (!cframe || !python__try(p, probation, cframe, 24))
			return;
		frame = load64(cframe + L.cframe_frame);
	}
	for (; frame && nr < MAX_WALK; frame = load64(frame + L.f_previous), nr++) {
		if (!python__try(p, probation, frame, L.f_bytes))
			return;
		owner = load8(frame + L.f_owner);
		if (owner == OWNED_BY_CSTACK) {
			*step = (struct step){ .frame = frame |
						(uint64_t)owner << STEP_OWNER_SHIFT };
			step += step != end;
			python__end_group(p, frame);
			continue;
		}
		code = load64(frame + L.f_code);
		instr = load64(frame + L.f_instr);
		python__push(p, code, (uint32_t)(instr - (code + L.co_code)) |
				      (owner == OWNED_BY_GENERATOR));
		if (p->failed || p->cut)
			return;
		*step = (struct step){ frame | (uint64_t)owner << STEP_OWNER_SHIFT, code, instr - code,
				       load32(code + L.co_version) };
		traced &= step->version && code + step->instr == instr;
		step += step != end;
		if (L.minor == 11 && load8(frame + L.f_entry)) {
			python__end_group(p, cframe);
			if (cframe) {
				if (!python__try(p, probation, cframe, 24))
					return;
				cframe = load64(cframe + L.cframe_previous);
			}
		}
	}
	p->nr_steps = step - p->steps;
	p->traced = traced && step != end;
}

/* Fills in the words and groups of the calling thread. Return: whether all is well. */
static bool python__walk(struct python *p)
{
	uint64_t tstate = (uintptr_t)get_tstate();
	bool probation = atomic_load_explicit(&nr_walks, memory_order_relaxed) < PROBATION;

	p->nr_words = 0;
	p->nr_groups = 0;
	p->nr_steps = 0;
	p->tstate = tstate;
	p->traced = !tstate;
	p->cut = false;
	p->failed = false;
	if (!tstate)
		return true;
	if (!python__try(p, probation, tstate, 128))
		return false;
	if (L.minor <= 10)
		python__walk_objects(p, tstate, probation);
	else
		python__walk_frames(p, tstate, probation);
	if (!p->failed && p->nr_words > (p->nr_groups ? p->groups[p->nr_groups - 1].end : 0))
		python__end_group(p, 0);
	if (probation && !p->failed && p->nr_words)
		atomic_fetch_add_explicit(&nr_walks, 1, memory_order_relaxed);
	return !p->failed;
}

/* ---- again ----------------------------------------------------------------------------------- */

size_t python__trace_bytes(const struct python *p)
{
	if (!p || !p->traced || p->cut || p->failed)
		return 0;
	return sizeof(struct python_trace) + p->nr_steps * sizeof(p->steps[0]);
}

uint64_t python__trace_key(const struct python *p)
{
	const struct step *s, *end = p->steps + p->nr_steps;
	uint64_t key = p->tstate;

	for (s = p->steps; s < end; s++)
		key = (key ^ s->frame ^ (s->code + s->instr) << 20) * 0x9e3779b97f4a7c15ull;
	return key;
}

void python__trace(const struct python *p, struct python_trace *trace)
{
	*trace = (struct python_trace){ .tstate = p->tstate, .first = p->first,
					.nr = p->nr_steps };
	memcpy(trace->steps, p->steps, p->nr_steps * sizeof(p->steps[0]));
}

HOT_CODE bool python__holds(const struct python_trace *trace)
{
	const struct step *s = trace->steps, *end = s + trace->nr;
	uint64_t frame = trace->first, next;

	if ((uintptr_t)get_tstate() != trace->tstate)
		return false;
	if (!trace->tstate)
		return true;
	if (load64(trace->tstate + L.ts_frame) != frame)
		return false;
	next = trace->nr ? STEP_FRAME(s) : 0;
	if (L.has_cframe && frame && load64(frame + L.cframe_frame) != next)
		return false;
	/*
	 * A frame is only read once the one before has led there, so it is one. What is known of
	 * the next one is not taken from what was read, or its loads would have to wait for it.
	 */
	for (; s < end; s++) {
		frame = STEP_FRAME(s);
		next = s + 1 < end ? STEP_FRAME(s + 1) : 0;
		if ((load64(frame + L.f_previous) ^ next) |
		    (load8(frame + L.f_owner) ^ s->frame >> STEP_OWNER_SHIFT))
			return false;
		if (!s->code)
			continue;
		if ((load64(frame + L.f_code) ^ s->code) |
		    (load64(frame + L.f_instr) ^ (s->code + s->instr)))
			return false;
		if (load32(s->code + L.co_version) != s->version)
			return false;
	}
	return true;
}

/* ---- merging --------------------------------------------------------------------------------- */

static inline bool in_loop(uint64_t ret)
{
	return ret - 1 - loop_start < loop_bytes;
}

/* Appends to the merged chain, as far as there is room. */
static inline void python__append(struct python *p, unsigned int *nr, const uint64_t *words,
				  unsigned int nr_more)
{
	if (nr_more > MAX_FRAMES - *nr) {
		nr_more = MAX_FRAMES - *nr;
		p->cut = true;
	}
	memcpy(p->merged + *nr, words, nr_more * sizeof(*words));
	*nr += nr_more;
}

/*
 * The first frame from @i on that is @group's evaluation loop; slot->nr_frames if there is none.
 * What a function keeps on the stack is between where its callee's frame ends and where its own
 * does. That is not known of the last frame.
 */
static unsigned int find_loop_frame(const struct xpu_slot *slot, const uint64_t *stack,
				    const struct group *group, unsigned int i)
{
	const uint64_t *frames = (const uint64_t *)(uintptr_t)slot->frames;
	const uint64_t anchor = group->anchor;
	const unsigned int nr = slot->nr_frames;

	if (L.anchored) {
		for (; i + 1 < nr; i++)
			if (anchor < stack[i + 1] && anchor >= stack[i])
				return i;
	} else {
		for (; i + 1 < nr; i++)
			if (in_loop(frames[i]))
				return i;
	}
	return i < nr && in_loop(frames[i]) ? i : nr;
}

/*
 * Native frames and groups are in the same order, so both are gone through once. Groups whose loops
 * are not met, because the native chain was cut short of them, are further out than all of it.
 */
static void python__merge(struct python *p, const uint64_t *stack, struct xpu_slot *slot)
{
	const uint64_t *frames = (const uint64_t *)(uintptr_t)slot->frames;
	unsigned int i = 0, loop, nr = 0, group, done = 0;

	for (group = 0; group < p->nr_groups; group++) {
		loop = find_loop_frame(slot, stack, &p->groups[group], i);
		if (loop == slot->nr_frames) {
			if (slot->flags & XPU_CHAIN_TRUNCATED)
				break;
			continue;	/* its frames go with the next one's */
		}
		python__append(p, &nr, frames + i, loop - i);
		python__append(p, &nr, p->words + done, p->groups[group].end - done);
		done = p->groups[group].end;
		i = loop + 1;
	}
	python__append(p, &nr, frames + i, slot->nr_frames - i);
	python__append(p, &nr, p->words + done, p->nr_words - done);
	slot->frames = (uintptr_t)p->merged;
	slot->nr_frames = nr;
	if (p->cut)
		slot->flags |= XPU_CHAIN_TRUNCATED;
}

static __attribute__((noinline, cold)) struct python *python__new(void)
{
	int saved_errno = errno;
	struct python *p = map(sizeof(*p));

	errno = saved_errno;
	return p;
}

void python__free(struct python *p)
{
	if (p)
		munmap(p, sizeof(*p));
}

void python__chain(struct python **where, unsigned int level, const uint64_t *stack,
		   struct xpu_slot *slot)
{
	static const uint64_t native = XPU_FRAME_PYTHON | XPU_CODE_NATIVE;
	bool only = atomic_load_explicit(&python__mode, memory_order_acquire) == PYTHON_ONLY;
	struct python *p = *where;

	if (only) {
		slot->frames = (uintptr_t)&native;
		slot->nr_frames = 1;
	}
	if (level || (!only && !slot->nr_frames))
		return;
	if (__builtin_expect(!p, 0)) {
		p = *where = python__new();
		if (!p)
			return;
	}
	if (!python__walk(p) || !p->nr_groups)
		return;
	if (!only) {
		python__merge(p, stack, slot);
	} else if (p->nr_words) {
		slot->frames = (uintptr_t)p->words;
		slot->nr_frames = p->nr_words;
		slot->flags = p->cut ? XPU_CHAIN_TRUNCATED : 0;
	}
}

/* ---- the interpreter ------------------------------------------------------------------------- */

static char trouble_text[256];
static bool asked_for_it;

static void refuse(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void refuse(int level, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(trouble_text, sizeof(trouble_text), fmt, args);
	va_end(args);
	give_up(level, trouble_text);
}

static int find_library(struct dl_phdr_info *info, size_t size, void *name)
{
	const char *base = strrchr(info->dlpi_name, '/');

	(void)size;
	base = base ? base + 1 : info->dlpi_name;
	if (strncmp(base, "libpython3.", strlen("libpython3.")))
		return 0;
	snprintf(name, PATH_MAX, "%s", info->dlpi_name);
	return 1;
}

/* Whether there is one, and a handle for dlsym(). */
static bool find_interpreter(void **handle)
{
	static char name[PATH_MAX];

	*handle = RTLD_DEFAULT;
	if (dlsym(RTLD_DEFAULT, "PyCode_Type"))
		return true;
	/* In a program that loaded it for itself alone. */
	if (dl_iterate_phdr(find_library, name) != 1)
		return false;
	*handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
	return *handle;
}

/* From 3.13 on it says itself where things are. */
static bool check_debug_offsets(const struct py_debug_offsets *d, unsigned long version)
{
	if (memcmp(d->cookie, "xdebugpy", sizeof(d->cookie)) || d->version != version) {
		refuse(XPU_MESSAGE_WARNING, "Python's _PyRuntime is not as expected: call chains "
		       "are without Python's frames");
		return false;
	}
	if (d->free_threaded) {
		refuse(XPU_MESSAGE_WARNING, "this Python runs without a GIL: call chains are "
		       "without Python's frames");
		return false;
	}
	if (!py_layout__debug(&L, d)) {
		refuse(XPU_MESSAGE_WARNING, "Python's code objects are laid out in an unknown way: "
		       "call chains are without Python's frames");
		return false;
	}
	return true;
}

/* The version as PY_VERSION_HEX has it; 0 if it cannot be told. */
static unsigned long get_version(void *handle)
{
	const unsigned long *py_version = dlsym(handle, "Py_Version");
	unsigned int major, minor, micro;
	const char *(*get)(void);
	char level = 0;

	if (py_version)
		return *py_version;
	*(void **)&get = dlsym(handle, "Py_GetVersion");
	if (!get || sscanf(get(), "%u.%u.%u%c", &major, &minor, &micro, &level) < 3)
		return 0;
	return (unsigned long)major << 24 | minor << 16 | micro << 8 |
	       (level == 'a' ? 0xa0 : level == 'b' ? 0xb0 : 0xf0);
}

static void find_loop(void *handle)
{
	const ElfW(Sym) *symbol = NULL;
	void *loop = dlsym(handle, "_PyEval_EvalFrameDefault");
	Dl_info info;

	if (!loop || !dladdr1(loop, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
		return;
	loop_start = (uintptr_t)loop;
	loop_bytes = symbol->st_size;
}

/*
 * Tells where the interpreter is, so that samples can have its frames: also one that has not begun
 * yet, and in a process that never uses CUDA. @handle: of who has it
 */
static void tell(void *handle, bool early)
{
	struct xpu_record_python r = { .hdr = { XPU_RECORD_PYTHON, 0, sizeof(r) } };
	const struct py_debug_offsets *d = dlsym(handle, "_PyRuntime");
	const char *asked = options__get(XPU_PYTHON_ENV);
	uintptr_t code = (uintptr_t)dlsym(handle, "PyCode_Type");
	uintptr_t unicode = (uintptr_t)dlsym(handle, "PyUnicode_Type");
	struct py_layout l;

	if (!d || !code || !unicode || (asked && !strcmp(asked, "off")) ||
	    !py_layout__find(get_version(handle), &l))
		return;
	if (l.minor == 13 && !py_layout__debug(&l, d))
		return;
	r.python = py_layout__wire(&l);
	r.python.runtime = (uintptr_t)d;
	r.python.code_type = code;
	r.python.unicode_type = unicode;
	if (early)
		xpu_early(&r, sizeof(r));
	else
		probe__batch(&r, sizeof(r));
}

void python__tell(bool early)
{
	int saved_errno = errno;
	void *handle;

	/* Who attaches later may take samples, too. */
	if ((probe__live || options__get(XPU_SAMPLES_ENV)) && find_interpreter(&handle))
		tell(handle, early);
	dlerror();
	errno = saved_errno;
}

static void prepare(void *handle, enum python_mode wanted, bool unwound)
{
	unsigned long version = get_version(handle);
	Dl_info info;

	code_type = (uintptr_t)dlsym(handle, "PyCode_Type");
	unicode_type = (uintptr_t)dlsym(handle, "PyUnicode_Type");
	bytes_type = (uintptr_t)dlsym(handle, "PyBytes_Type");
	*(void **)&get_tstate = dlsym(handle, "PyGILState_GetThisThreadState");
	if (sizeof(void *) != 8 || !py_layout__find(version, &L)) {
		refuse(XPU_MESSAGE_WARNING, "Python %lu.%lu is not known here: call chains are "
		       "without its frames (3.8 to 3.13 have them)", version >> 24,
		       version >> 16 & 0xff);
		return;
	}
	if (!code_type || !unicode_type || !bytes_type || !get_tstate) {
		refuse(XPU_MESSAGE_WARNING, "this Python does not export what is needed: call "
		       "chains are without its frames");
		return;
	}
	if (L.minor == 13) {
		const struct py_debug_offsets *runtime = dlsym(handle, "_PyRuntime");

		if (!runtime) {
			refuse(XPU_MESSAGE_WARNING, "this Python does not export _PyRuntime: call "
			       "chains are without its frames");
			return;
		}
		if (!check_debug_offsets(runtime, version))
			return;
	}
	find_loop(handle);
	if (wanted == PYTHON_ON && !unwound) {
		refuse(asked_for_it ? XPU_MESSAGE_WARNING : XPU_MESSAGE_INFO,
		       "call chains are without Python's frames: those go with --call-graph dwarf, "
		       "or alone, with --python only");
		return;
	}
	if (wanted == PYTHON_ON && !L.anchored && !loop_bytes) {
		refuse(XPU_MESSAGE_WARNING, "this Python does not say where its evaluation loop "
		       "is: its frames can be had with --python only");
		return;
	}
	/* It must not go away any more: launches call into it. */
	if (dladdr((const void *)(uintptr_t)code_type, &info) && info.dli_fname)
		dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	atomic_store(&python__mode, wanted);
}

void python__look(bool unwound)
{
	static enum python_mode wanted = PYTHON_ON;
	static bool begun, done;
	static time_t next;
	struct timespec now;
	const char *asked;
	void *handle;

	if (done)
		return;
	if (!begun) {
		begun = true;
		asked = options__get(XPU_PYTHON_ENV);
		asked_for_it = asked;
		if (asked && !strcmp(asked, "only"))
			wanted = PYTHON_ONLY;
		done = asked && !strcmp(asked, "off");
		if (done)
			return;
	}
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (now.tv_sec < next)
		return;
	next = now.tv_sec + LOOK_S;
	if (find_interpreter(&handle)) {
		done = true;
		prepare(handle, wanted, unwound);
		python__tell(false);
	}
	dlerror();			/* not for the application to see */
}
