// SPDX-License-Identifier: MIT
#include "python/python.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hot.h"
#include "python/interpreter.h"
#include "python/code_names.h"
#include "xpu_pyline.h"

#define MAX_FRAMES	XPU_MAX_FRAMES
#define MAX_WALK	(64 * 1024)	/* maximum number of frames, shown or not: ends a walk that
					 * goes in circles */
#define MAX_TABLE	(64u << 20)	/* maximum number of bytes of a line table */
#define PROBATION	64		/* number of walks that check memory before reading it */

#define OWNED_BY_GENERATOR	1	/* enum _frameowner, Include/internal/pycore_frame.h */
#define OWNED_BY_CSTACK		3	/* the evaluation loop's own frame; since 3.12 */

/* A known instruction; fills one cache line. */
struct known_line {
	uint64_t code;			/* 0: empty */
	uint32_t where;			/* byte offset in the code; odd in a generator's frame */
	uint32_t version;		/* unique version of the code object; if it has none, its
					 * first line */
	uint64_t word;			/* the frame's word in the chain; 0: not shown */
	/* If code objects have no versions, they are recognized by these members: */
	uint64_t name, filename, table;
	uint32_t prefix_bytes;		/* how many first bytes of @table determine the line */
	uint32_t reserved;
	const struct known *known;
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct known_line) == 64, "a cache line");

#define SETS	256			/* a power of two */
#define WAYS	4

struct group {				/* the Python frames of one evaluation loop */
	uint32_t end;			/* index after the group's last word */
	uint64_t anchor;		/* an address in the loop's stack frame, or 0 */
};

/* A frame of a walk. */
struct step {
	uint64_t frame;			/* the frame's address and, in the upper bits, its owner */
	uint64_t code;			/* 0: the loop's own frame, which has no code object */
	uint32_t instr;			/* byte offset in the code object */
	uint32_t version;		/* version of the code object */
};

#define STEP_OWNER_SHIFT	56	/* no address is that large */
#define STEP_FRAME(s)		((s)->frame & ((1ull << STEP_OWNER_SHIFT) - 1))

struct python_trace {
	uint64_t tstate;
	uint64_t first;			/* the first frame of tstate */
	uint64_t nr;
	uint64_t reserved;
	struct step steps[];		/* innermost first */
};

struct python {
	struct known_line entries[SETS][WAYS];
	unsigned int nr_filled;
	unsigned int nr_words, nr_groups;
	bool cut;			/* frames are missing */
	bool failed;
	bool traced;			/* the steps are complete, so they can be a trace */
	unsigned int nr_steps;
	uint64_t tstate, first;		/* as in struct python_trace */
	struct step steps[MAX_FRAMES + 1];
	struct group groups[MAX_FRAMES];
	uint64_t words[MAX_FRAMES];	/* innermost first */
	uint64_t merged[MAX_FRAMES];
};

static atomic_uint nr_walks;		/* number of walks, counted up to PROBATION */

/* Whether the code object at @code is still the object for which @e was made. */
static inline bool entry__holds(const struct known_line *e, uint64_t code)
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

static struct known_line *python__set(struct python *p, uint64_t code, uint32_t where)
{
	return p->entries[((code >> 4) * 0x9e3779b97f4a7c15ull + where * 0x2545f4914f6cdd1dull) >>
			  56];
}

_Static_assert(SETS == 1 << (64 - 56), "the hash's shift");

/*
 * Reads the code object @code into @fresh and @want. Return: false if the object is not as
 * expected.
 */
static bool code__read(uint64_t code, struct known_line *fresh, struct known *want)
{
	if (!readable(code, L.co_bytes) || load64(code + OB_TYPE) != py.code_type)
		return false;
	fresh->name = load64(code + L.co_name);
	fresh->filename = load64(code + L.co_filename);
	fresh->table = load64(code + L.co_linetable);
	want->first_line = load32(code + L.co_firstlineno);
	fresh->version = L.co_version ? load32(code + L.co_version) : want->first_line;
	if (!readable(fresh->table, BYTES_DATA) ||
	    load64(fresh->table + OB_TYPE) != py.bytes_type ||
	    load64(fresh->table + BYTES_SIZE) > MAX_TABLE)
		return false;
	want->table_bytes = load64(fresh->table + BYTES_SIZE);
	want->table = (const uint8_t *)(uintptr_t)(fresh->table + BYTES_DATA);
	return readable(fresh->table + BYTES_DATA, want->table_bytes);
}

/*
 * Return: the line of the instruction @where. *@stop: set to the end of the part of the line table
 * that was read
 */
static int known__line(const struct known *k, uint32_t where, const uint8_t **stop)
{
	const uint8_t *end = k->table + k->table_bytes;

	if (L.minor <= 9)
		return line__lnotab(k->table, end, k->first_line, (int)where, stop);
	if (L.minor == 10)
		return line__linetable(k->table, end, k->first_line, (int)where, stop);
	return line__locations(k->table, end, k->first_line, (int)(where & ~1u), stop);
}

/*
 * Stores @fresh in an outdated entry of the same instruction, or else in a free entry, or else in
 * any entry.
 */
static void python__remember(struct python *p, const struct known_line *fresh)
{
	struct known_line *e = python__set(p, fresh->code, fresh->where);
	unsigned int i;

	for (i = 0; i < WAYS && (e[i].code != fresh->code || e[i].where != fresh->where); i++)
		;
	if (i == WAYS)
		for (i = 0; i < WAYS && e[i].code; i++)
			;
	if (i == WAYS)
		i = p->nr_filled++ % WAYS;
	e[i] = *fresh;
}

/*
 * Return: the word of a new instruction; 0 if its frame is not shown. On failure, sets p->failed
 * and returns 0.
 */
static __attribute__((noinline, cold)) uint64_t python__learn(struct python *p, uint64_t code,
							      uint32_t where)
{
	struct known_line fresh = { .code = code, .where = where };
	struct known want = { 0 };
	const uint8_t *stop;
	int line;

	if (!code__read(code, &fresh, &want)) {
		p->failed = true;
		interpreter__give_up(XPU_MESSAGE_WARNING, "Python's code objects are not as "
				     "expected: call chains have no Python frames");
		return 0;
	}
	line = known__line(&want, where, &stop);
	fresh.prefix_bytes = stop - want.table;
	if (L.co_version) {
		want.table = NULL;
		want.table_bytes = 0;
	}
	want.name = text__read(fresh.name);
	want.filename = text__read(fresh.filename);
	fresh.known = known__intern(&want);
	/* Like _PyFrame_IsIncomplete(), hide frames that have not begun to run. */
	if (L.minor < 11 || where & 1 ||
	    (int)where >= (int)load32(code + L.co_firsttraceable) * 2) {
		if (line < 0 || line > XPU_FRAME_LINE_MAX)
			line = 0;
		fresh.word = XPU_FRAME_PYTHON | (uint64_t)line << 32 |
			     (fresh.known ? fresh.known->id : XPU_CODE_UNKNOWN);
	}
	if (fresh.known)
		python__remember(p, &fresh);
	return fresh.word;
}

/* ---- walking --------------------------------------------------------------------------------- */

static inline void python__push(struct python *p, uint64_t code, uint32_t where)
{
	struct known_line *e = python__set(p, code, where);
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

/* Ends a group: the frames added since the previous call belong to one loop. */
static inline void python__end_group(struct python *p, uint64_t anchor)
{
	if (p->nr_groups == MAX_FRAMES) {
		p->cut = true;
		return;
	}
	p->groups[p->nr_groups].end = p->nr_words;
	p->groups[p->nr_groups++].anchor = anchor;
}

/* With @probation, checks whether memory can be read. Return: false if it cannot. */
static bool python__try(struct python *p, bool probation, uint64_t addr, uint64_t bytes)
{
	if (__builtin_expect(!probation, 1))
		return true;
	if (!(addr % 8) && readable(addr, bytes))
		return true;
	p->failed = true;
	interpreter__give_up(XPU_MESSAGE_WARNING, "Python's frames are not where they are "
			     "expected: call chains have no Python frames");
	return false;
}

/* Walks the frames of CPython 3.8 to 3.10: PyFrameObjects, each with an evaluation loop. */
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
			lasti *= 2;	/* f_lasti counts code units */
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

/* Walks the frames of CPython 3.11 and later: an evaluation loop has many _PyInterpreterFrames. */
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
		*step = (struct step){ frame | (uint64_t)owner << STEP_OWNER_SHIFT, code,
				       instr - code, load32(code + L.co_version) };
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

/* Fills in the words and groups of the calling thread. Return: whether this succeeded. */
static bool python__walk(struct python *p)
{
	uint64_t tstate = (uintptr_t)py.get_tstate();
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

bool python__same(const struct python_trace *a, const struct python_trace *b)
{
	return a->nr == b->nr && !memcmp(a, b, sizeof(*a) + a->nr * sizeof(a->steps[0]));
}

HOT_CODE bool python__holds(const struct python_trace *trace)
{
	const struct step *s = trace->steps, *end = s + trace->nr;
	uint64_t frame = trace->first, next;

	if ((uintptr_t)py.get_tstate() != trace->tstate)
		return false;
	if (!trace->tstate)
		return true;
	if (load64(trace->tstate + L.ts_frame) != frame)
		return false;
	next = trace->nr ? STEP_FRAME(s) : 0;
	if (L.has_cframe && frame && load64(frame + L.cframe_frame) != next)
		return false;
	/*
	 * A frame is read only after the previous frame was found to lead to it, so its address is
	 * valid. The address is taken from the trace, not from the previous frame, so that loads
	 * need not wait for each other.
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
	return ret - 1 - py.loop_start < py.loop_bytes;
}

/* Appends words to the merged chain, as many as fit. */
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
 * Return: the index of @group's evaluation loop in the native chain, at or after @i;
 * slot->nr_frames if it is not found. A function's own part of the stack lies between the end of
 * its callee's frame and the end of its own frame. The end of the last frame is unknown.
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
 * Merges the native frames with the groups of Python frames. Both have the same order, so one pass
 * suffices. If the native chain was cut before the loops of some groups, these groups are added at
 * the outer end of the chain.
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
			continue;	/* the frames of this group are added with the next group */
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
		p = *where = memory__map(sizeof(*p));
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

bool python__drain(void)
{
	bool any = known__drain();

	return interpreter__tell_trouble() || any;
}
