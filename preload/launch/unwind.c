// SPDX-License-Identifier: MIT
#include "launch/unwind.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "launch/cfi.h"
#include "launch/generation.h"
#include "launch/objects.h"
#include "base/hot.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/environment.h"
#include "launch/rule.h"
#include "xpu_record.h"

static bool enabled;
static unsigned int max_frames = XPU_DEFAULT_FRAMES;
static int message_level;
static char message[256];

static __attribute__((format(printf, 2, 3))) void complain(int level, const char *fmt, ...)
{
	va_list args;

	message_level = level;
	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
}

const char *unwind__message(int *level)
{
	*level = message_level;
	return message[0] ? message : NULL;
}

struct known_rule {
	uint64_t key;		/* the address, with the generation in the upper bits; 0: empty */
	rule_t rule;
};

_Static_assert(sizeof(struct known_rule) == 16, "four in a cache line");

#define MAX_OTHERS	4		/* maximum number of other traces to compare before the
					 * stack is walked */
#define MIN_SHARED	16		/* traces share at least this many words, or none: two
					 * cache lines */
#define WAYS	4
#define SETS	2048		/* a power of two; 8192 addresses in 128 KB */

_Static_assert(WAYS * SETS <= 1 << 16, "the bits of next");

/* The step of a walk from a frame to the caller's frame. */
struct step {
	uint64_t bp;			/* value of bp in the frame where the step begins */
	uint64_t bp_at;			/* where the caller's bp was read; 0: bp is unchanged */
	uint64_t cfa_at;		/* where the caller's sp was read; 0: it was computed from
					 * sp or bp */
	uint64_t end;			/* if the walk ends with return address 0: where it was
					 * read */
	struct return_word ra;
	bool by_bp;			/* bp was used to find one of the words */
	bool unusual;			/* the step may also have read words that this struct does
					 * not have */
};

/* A word of the stack that a walk has read. */
struct word {
	uint64_t addr, value;
};

/*
 * A frame of the last walk. A later walk may reach this frame through other inner frames. The later
 * walk then continues as the last walk did if two conditions hold: the walks have the same sp and
 * ip here, and also the same bp if bp_matters; and all words that the last walk read from here
 * outwards are unchanged.
 */
struct outer {
	uint64_t bp;
	uint32_t nr_words;		/* number of words that the last walk read from here to its
					 * end */
	bool bp_matters;
};

#define MAX_WORDS	3		/* maximum number of words in a step */

struct last_walk {
	uint64_t *frames, *stack;	/* like the chain's arrays, but @stack has one more entry
					 * at the end */
	unsigned int nr;		/* number of frames; 0: nothing to compare with */
	unsigned int nr_outer;		/* number of outermost frames that the next walk can be
					 * compared with */
	/*
	 * The start of the walk, as if the start were a frame. whole.nr_words is 0 if the start
	 * cannot be compared.
	 */
	uint64_t sp;
	struct outer whole;
};

struct unwinder {
	struct known_rule rules[SETS * WAYS];
	struct readables spans;
	uint64_t generation;
	unsigned int nr_filled;
	struct last_walk last;
	uint64_t *spare[2];		/* frames and stack for the next walk */
	uint64_t *stack;		/* the stack pointers of the last walk at level 0, even if
					 * that walk was incomplete */
	struct step *steps;		/* steps of the current walk: one step to the first frame,
					 * and one step from each frame */
	struct outer *outer;		/* frames of the last walk, outermost first */
	struct word *words;		/* words of the last walk, outermost first */
	uint64_t chains[];		/* see unwinder__start() */
};

struct walk {
	struct unwinder *u;
	struct readables *spans;
	struct readable *span;		/* the span in use */
	uint64_t lo, bytes;		/* 8 bytes at any address from lo to lo + bytes are in the
					 * span */
	uint64_t *frames, *stack;
	unsigned int nr, max;
	uint64_t cfa;			/* see walk__unusual() */
	uint64_t generation;		/* the generation, shifted to the upper bits, as in a key */
	bool guessed;			/* with RA_BY_RULE: sp after the last step is unknown */
	bool remember;			/* whether to keep new rules; false if this walk interrupted
					 * another walk */
	unsigned int joined;		/* 1 + index of the frame where this walk met the last walk;
					 * 0: nowhere */
	unsigned int join;		/* index of a frame of the last walk: where the walks met,
					 * or the next frame to compare with */
	uint32_t nr_same;		/* valid if compared: how many words of the last walk are
					 * unchanged, counted from the outside */
	bool compared;
	struct known_rule unkept;		/* a rule that must not be remembered */
};

enum outcome { COMPLETE, CUT, NEEDS_FULL, GOES_ON };

static const char *unavailable(void)
{
	if (!generation__find())
		return "this C library is unknown";
	return objects__init() ? NULL : "the shim's own unwind table cannot be found";
}

/* ---- reading --------------------------------------------------------------------------------- */

static void walk__use(struct walk *w, struct readable *s)
{
	w->span = s;
	w->lo = s->lo;
	w->bytes = s->hi - 8 - s->lo;
}

/* Extends the span in use until it includes 8 bytes at @addr. Return: whether they are readable. */
static __attribute__((noinline, cold)) bool walk__extend(struct walk *w, uint64_t addr)
{
	if (!readable__extend(w->span, addr))
		return false;
	walk__use(w, w->span);
	return true;
}

/*
 * Switches to the span that contains the 8 bytes at @addr. The span may belong to any stack. Called
 * for the first frame, and where a signal or a call switched to another stack. Return: whether the
 * bytes can be read.
 */
static __attribute__((noinline)) bool walk__enter(struct walk *w, uint64_t addr)
{
	struct readable *s = readables__find(w->spans, addr);

	if (!s)
		s = readables__add(w->spans, addr);
	if (s)
		walk__use(w, s);
	return s;
}

static __attribute__((noinline, cold)) bool walk__reach(struct walk *w, uint64_t addr)
{
	return (!readables__find(w->spans, addr) && walk__extend(w, addr)) || walk__enter(w, addr);
}

static inline bool walk__has(const struct walk *w, uint64_t addr)
{
	return __builtin_expect(addr - w->lo <= w->bytes, 1);
}

static inline bool walk__read(struct walk *w, uint64_t addr, uint64_t *value)
{
	if (!walk__has(w, addr) && !walk__reach(w, addr))
		return false;
	*value = load(addr);
	return true;
}

static bool read_for_eval(void *ctx, uint64_t addr, uint64_t *value)
{
	return walk__read(ctx, addr, value);
}

/*
 * Whether @bp is a frame pointer: code without unwind information may use the register for other
 * values. A frame pointer points to readable memory, usually further up the same stack. An @bp that
 * points far away is accepted, too, if the return address next to its target follows a call: Go
 * calls C from its own stack, through code without unwind information.
 */
static bool walk__is_frame_pointer(struct walk *w, uint64_t sp, uint64_t bp)
{
	if (bp % 8)
		return false;
	if (sp - bp >= STACK_MAX && bp - sp >= STACK_MAX)
		return bp >= PAGE && bp < USER_MAX && memory__readable_span(bp, bp + 16) &&
		       rule__follows_call(arch__strip(load(bp + FRAME_RA_OFF)));
	if (bp < sp)
		return false;
	if (!walk__has(w, bp + 8) && !walk__extend(w, bp + 8))
		return false;
	return w->span->own || memory__readable_span(bp, bp + 16);
}

/* ---- rules ----------------------------------------------------------------------------------- */

static struct known_rule *unwinder__set(struct unwinder *u, uint64_t pc)
{
	return &u->rules[(pc * 0x9e3779b97f4a7c15ull >> 53) * WAYS];
}

_Static_assert(SETS == 1 << (64 - 53), "the hash's shift");

/* Finds the rule of a new address, and remembers it. */
static __attribute__((noinline, cold)) struct known_rule *walk__learn(struct walk *w, uint64_t ip,
								      bool exact, uint64_t key)
{
	struct known_rule *e = unwinder__set(w->u, ip - !exact);
	struct cfi_row row;
	rule_t rule = rule__pack(rule__describe(ip, exact, &row), &row);
	unsigned int i;

	if (!w->remember || ip < 2 * PAGE || ip >= USER_MAX) {
		w->unkept.key = 0;
		w->unkept.rule = rule;
		return &w->unkept;
	}
	for (i = 0; i < WAYS && (e[i].key && e[i].key >> 48 == w->generation >> 48); i++)
		;
	if (i == WAYS)
		i = w->u->nr_filled++ % WAYS;
	/*
	 * A signal handler that launches reads the entries, so each must be complete or empty at
	 * any time.
	 */
	e[i].key = 0;
	atomic_signal_fence(memory_order_seq_cst);
	e[i].rule = rule;
	atomic_signal_fence(memory_order_seq_cst);
	e[i].key = key;
	return &e[i];
}

static struct known_rule *walk__find(struct walk *w, uint64_t ip, bool exact)
{
	uint64_t pc = ip - !exact, key = pc + w->generation;
	struct known_rule *e = unwinder__set(w->u, pc);
	unsigned int i;

	if (__builtin_expect(pc - PAGE < USER_MAX - PAGE, 1))
		for (i = 0; i < WAYS; i++)
			if (e[i].key == key)
				return &e[i];
	return walk__learn(w, ip, exact, key);
}

/* ---- walking --------------------------------------------------------------------------------- */

static inline bool walk__push(struct walk *w, uint64_t ip, uint64_t sp)
{
	if (w->nr == w->max)
		return false;
	w->stack[w->nr] = sp;
	w->frames[w->nr++] = ip;
	return true;
}

/* Marks the last address: it is the address of an interrupted instruction, not a return address. */
static void walk__not_a_return(struct walk *w)
{
	if (w->nr)
		w->frames[w->nr - 1]++;
}

/* Applies a rule of an unusual kind. Return: whether the walk continues, with w->cfa set. */
static __attribute__((noinline)) enum outcome walk__unusual(struct walk *w, rule_t rule,
							    uint64_t sp, uint64_t bp)
{
	switch (rule__kind(rule)) {
	case RULE_BP_DEREF:
		return walk__read(w, bp + rule__cfa_off(rule), &w->cfa) ? GOES_ON : CUT;
	case RULE_GUESS:
		if (!bp)
			return COMPLETE;	/* the ABI's mark of the outermost frame */
		w->cfa = bp + rule__cfa_off(rule);
		return walk__is_frame_pointer(w, sp, bp) ? GOES_ON : CUT;
	case RULE_START:
		walk__not_a_return(w);
		return COMPLETE;
	case RULE_FULL:
		return NEEDS_FULL;
	case RULE_UNCALLED:
		if (!bp) {		/* Go's goexit is the outermost frame of a goroutine */
			walk__not_a_return(w);
			return COMPLETE;
		}
		/* fall through */
	default:
		w->nr -= !!w->nr;
		return CUT;
	}
}

/*
 * Return: how many of the @nr words are unchanged, counted from the outermost up to the first
 * change.
 */
static uint32_t nr_same_words(const struct word *w, uint32_t nr)
{
	uint32_t i = 0;

	for (; i + 4 <= nr; i += 4)
		if ((load(w[i].addr) ^ w[i].value) | (load(w[i + 1].addr) ^ w[i + 1].value) |
		    (load(w[i + 2].addr) ^ w[i + 2].value) | (load(w[i + 3].addr) ^ w[i + 3].value))
			break;
	for (; i < nr && load(w[i].addr) == w[i].value; i++)
		;
	return i;
}

/*
 * Whether the walk will continue outwards from the frame just pushed in the same way as the last
 * walk. Launches that follow one another share their outer frames. Comparing words at known
 * addresses takes a third as long as computing each address from the previous one.
 *
 * This is exact. How a walk continues from a frame depends on ip, sp and bp there, on the rules,
 * which are fixed in a generation, and on the words that it reads. All of them are compared, except
 * bp if the walk did not use it. The words are between this frame and the end of the span in use,
 * so they can be read. They are compared once, from the outside inwards; frames that are further in
 * than the first changed word are walked again.
 */
static inline bool walk__joins(struct walk *w, uint64_t ip, uint64_t sp, uint64_t bp)
{
	const struct unwinder *u = w->u;
	const struct last_walk *last = &u->last;
	const struct outer *o;
	unsigned int place;

	while (last->stack[w->join] < sp)
		w->join++;
	if (last->stack[w->join] != sp || last->frames[w->join] != ip)
		return false;
	place = last->nr - 1 - w->join;
	o = &u->outer[place];
	if (place >= last->nr_outer || (o->bp_matters && o->bp != bp) ||
	    w->nr - 1 + last->nr - w->join > w->max)
		return false;
	if (!w->compared) {
		/* The first word is the outermost, with the highest address. */
		if (o->nr_words && !walk__has(w, u->words[0].addr))
			return false;
		w->nr_same = nr_same_words(u->words, o->nr_words);
		w->compared = true;
	}
	if (o->nr_words > w->nr_same)
		return false;
	w->joined = w->nr;
	return true;
}

/* Lists the words that a step to the caller's frame at @cfa has read. Return: their number. */
static unsigned int step__words(const struct step *s, uint64_t ip, uint64_t cfa, uint64_t bp,
				bool bp_matters, struct word *words)
{
	unsigned int nr = 0;

	words[nr++] = (struct word){ return_word__at(&s->ra, cfa), return_word__value(&s->ra, ip) };
	if (s->bp_at && bp_matters)
		words[nr++] = (struct word){ s->bp_at, bp };
	if (s->cfa_at)
		words[nr++] = (struct word){ s->cfa_at, cfa };
	return nr;
}

/*
 * Notes in @o the words that are read in the step from @sp to frame @to of the last walk, and in
 * all further steps outwards.
 * @outside: the note of frame @to; NULL if the walk ended with this step
 *
 * Return: whether the step can be compared.
 */
static inline bool walk__note_step(struct unwinder *u, const struct step *s, uint64_t sp,
				   unsigned int to, const struct outer *outside, struct outer *o)
{
	const struct last_walk *last = &u->last;
	unsigned int nr = outside ? outside->nr_words : 0, nr_more;
	struct word *words = u->words + nr;

	if (s->unusual)
		return false;
	*o = (struct outer){ .bp = s->bp, .bp_matters = s->by_bp };
	if (s->end) {
		words[0] = (struct word){ s->end, 0 };
		nr++;
	} else if (outside) {
		o->bp_matters |= !s->bp_at && outside->bp_matters;
		nr_more = step__words(s, last->frames[to], last->stack[to], outside->bp,
				      outside->bp_matters, words);
		nr += nr_more;
		while (nr_more--)
			if (words[nr_more].addr < sp ||
			    words[nr_more].addr > last->stack[to] - 8)
				return false;
	}
	o->nr_words = nr;
	return true;
}

/*
 * Notes the frames that the next walk can be compared with: this walk's own frames, followed by the
 * previous walk's frames that are farther out on the stack. @sp: where this walk began
 */
static void walk__note(struct walk *w, uint64_t sp)
{
	struct unwinder *u = w->u;
	struct last_walk *last = &u->last;
	unsigned int nr_own = w->nr, shared = 0, place, k;
	struct outer *o;

	last->whole.nr_words = 0;
	if (w->joined) {
		nr_own = w->joined - 1;
		shared = last->nr - w->join;
		if (nr_own != w->join) {
			memmove(last->frames + nr_own, last->frames + w->join,
				shared * sizeof(*last->frames));
			memmove(last->stack + nr_own, last->stack + w->join,
				(shared + 1) * sizeof(*last->stack));
		}
		memcpy(last->frames, w->frames, nr_own * sizeof(*last->frames));
		memcpy(last->stack, w->stack, nr_own * sizeof(*last->stack));
	} else {
		u->spare[0] = last->frames;
		u->spare[1] = last->stack;
		last->frames = w->frames;
		last->stack = w->stack;
		last->stack[nr_own] = UINT64_MAX;
		last->nr_outer = 0;
	}
	last->nr = nr_own + shared;
	last->nr_outer = shared;
	for (k = nr_own; k--;) {
		place = last->nr - 1 - k;
		o = &u->outer[place];
		if (!walk__note_step(u, &u->steps[k + 1], last->stack[k], k + 1,
				     place ? o - 1 : NULL, o))
			return;
		last->nr_outer = place + 1;
	}
	last->sp = sp;
	if (!last->nr ||
	    !walk__note_step(u, u->steps, sp, 0, &u->outer[last->nr - 1], &last->whole))
		last->whole.nr_words = 0;
}

/*
 * Finds @cfa, the end of the frame whose code has @rule.
 * @s: filled in unless NULL
 *
 * Return: GOES_ON; otherwise how the walk ends.
 */
static inline __attribute__((always_inline)) enum outcome walk__leave(struct walk *w, rule_t rule,
								      uint64_t sp, uint64_t bp,
								      uint64_t *cfa, struct step *s)
{
	enum outcome outcome;

	switch (rule__kind(rule)) {
	case RULE_SP:
		*cfa = sp + rule__cfa_off(rule);
		return GOES_ON;
	case RULE_BP:
		*cfa = bp + rule__cfa_off(rule);
		if (s)
			s->by_bp = true;
		return GOES_ON;
	default:
		if (s) {
			s->by_bp = true;
			s->cfa_at = bp + rule__cfa_off(rule);
			s->unusual = rule__kind(rule) != RULE_BP_DEREF;
		}
		outcome = walk__unusual(w, rule, sp, bp);
		*cfa = w->cfa;
		return outcome;
	}
}

/*
 * Corrects *@cfa, the end of a frame whose callee was walked by its frame pointer. With RA_BY_RULE
 * it is unknown where the callee's frame ended. However, @bp is this function's frame pointer,
 * which points to the caller's saved bp. Return: whether @rule says where the caller's bp is saved.
 */
static inline bool walk__settle(struct walk *w, rule_t rule, uint64_t bp, uint64_t *cfa,
				struct step *s)
{
	bool guessed = w->guessed;

	w->guessed = rule__kind(rule) == RULE_GUESS;
	if (!guessed || rule__kind(rule) != RULE_SP)
		return true;
	*cfa = bp - rule__bp_off(rule);
	if (s)
		s->by_bp = true;
	return rule__bp_how(rule) == BP_CFA;
}

/*
 * Steps from a signal handler's frame to the interrupted code. Return: false if the frame is
 * incomplete.
 */
static inline __attribute__((always_inline)) bool walk__leave_signal(struct walk *w, uint64_t *ip,
								     uint64_t *sp, uint64_t *bp)
{
	uint64_t frame = *sp;

	walk__not_a_return(w);
	return walk__read(w, frame + SIGNAL_IP, ip) && walk__read(w, frame + SIGNAL_BP, bp) &&
	       walk__read(w, frame + SIGNAL_SP, sp) && walk__enter(w, *sp) &&
	       walk__push(w, *ip + 1, *sp);
}

/* Restores the caller's bp from the place that @rule gives. @s: filled in unless NULL. */
static inline __attribute__((always_inline)) bool walk__restore_bp(struct walk *w, rule_t rule,
								   uint64_t cfa, uint64_t *bp,
								   struct step *s)
{
	uint64_t slot;

	if (rule__bp_how(rule) == BP_SAME)
		return true;
	slot = (rule__bp_how(rule) == BP_CFA ? cfa : *bp) + rule__bp_off(rule);
	if (!walk__read(w, slot, bp))
		return false;
	if (s) {
		s->bp_at = slot;
		s->by_bp |= rule__bp_how(rule) == BP_BP;
	}
	return true;
}

/* Return: the rule for the caller at @ip. Last time, another caller followed @e. */
static inline __attribute__((always_inline)) struct known_rule *walk__follow(struct walk *w,
									     struct known_rule *e,
									     uint64_t ip)
{
	struct known_rule *next = walk__find(w, ip, false);

	if (w->remember && next != &w->unkept)
		e->rule = (e->rule & ~0xffffull) | (next - w->u->rules);
	return next;
}

/*
 * Walks the stack with one-word rules only; tracks no registers except sp, bp and ip.
 *
 * Most functions have the same caller as last time. The known rule of a function has the index of
 * the last caller's known rule, so that the caller's rule can be fetched while the return address
 * is still being loaded. The return address must then confirm the caller.
 */
static inline __attribute__((always_inline)) enum outcome walk__fast(struct walk *w,
								     const struct context *c,
								     bool note)
{
	uint64_t ip = c->ip, sp = c->sp, bp = c->bp, cfa, ra_at, generation_bits = w->generation;
	struct known_rule *const rules = w->u->rules, *e, *next;
	struct step *s = NULL;
	enum outcome outcome;
	rule_t rule;

	if (!walk__enter(w, sp))
		return CUT;
	e = walk__find(w, ip, true);
	for (;;) {
		rule = e->rule;
		if (note) {
			s = &w->u->steps[w->nr];
			*s = (struct step){ .bp = bp };
		}
		switch (rule__kind(rule)) {
		case RULE_END:
			return COMPLETE;
		case RULE_SIGNAL:
			if (note)
				s->unusual = true;
			if (!walk__leave_signal(w, &ip, &sp, &bp))
				return CUT;
			e = walk__find(w, ip, true);
			continue;
		default:
			outcome = walk__leave(w, rule, sp, bp, &cfa, s);
			if (outcome != GOES_ON)
				return outcome;
		}
		if (RA_BY_RULE && !walk__settle(w, rule, bp, &cfa, s))
			return CUT;
		ra_at = cfa + rule__ra_off(rule);
		if (!walk__read(w, ra_at, &ip))
			return CUT;
		if (note)
			return_word__set(&s->ra, ra_at, ip);
		ip = arch__strip(ip);
		/* Callers are further up, unless the stack was switched. */
		if (__builtin_expect(cfa <= sp, 0)) {
			if (walk__has(w, sp))
				return CUT;
			if (note)
				s->unusual = true;
		}
		if (!walk__restore_bp(w, rule, cfa, &bp, s))
			return CUT;
		sp = cfa;

		next = &rules[(uint16_t)rule];
		if (next->key != ip - 1 + generation_bits) {
			if (!ip) {
				if (note)
					s->end = ra_at;
				return COMPLETE;
			}
			next = walk__follow(w, e, ip);
		}
		e = next;
		if (!walk__push(w, ip, sp))
			return CUT;
		if (note && walk__joins(w, ip, sp, bp))
			return COMPLETE;
	}
}

static void unwinder__forget(struct unwinder *u)
{
	u->last.nr = u->last.nr_outer = u->last.whole.nr_words = 0;
	u->last.stack[0] = UINT64_MAX;
}

static __attribute__((noinline)) enum outcome walk__alone(struct walk *w, const struct context *c)
{
	return walk__fast(w, c, false);
}

/*
 * Walks at level 0, compares this walk with the last walk, and notes this walk for the next
 * comparison. Compares only on the thread's own stack: the memory above a coroutine's stack may be
 * unmapped when another coroutine's stack is in the same place.
 */
static enum outcome walk__again(struct walk *w, const struct context *c)
{
	const struct readable *s = readables__find(w->spans, c->sp);
	struct unwinder *u = w->u;
	enum outcome outcome;

	w->frames = u->spare[0];
	w->stack = u->spare[1];
	w->join = 0;
	if (__builtin_expect(!s || !s->own, 0)) {
		unwinder__forget(u);
		return walk__alone(w, c);
	}
	outcome = walk__fast(w, c, true);
	if (outcome != COMPLETE) {
		unwinder__forget(u);
		return outcome;
	}
	walk__note(w, c->sp);
	w->frames = u->last.frames;
	w->stack = u->last.stack;
	w->nr = u->last.nr;
	return COMPLETE;
}

/* Computes all of the caller's registers from @row. */
static bool walk__apply(struct walk *w, const struct cfi_row *row, uint64_t *regs)
{
	uint64_t old[CFI_NR_REGS], cfa, slot;
	const struct cfi_rule *rule;
	size_t i;

	memcpy(old, regs, sizeof(old));
	if (!row->cfa_expr)
		cfa = old[row->cfa_reg] + row->cfa_off;
	else if (!cfi__eval(row->cfa_expr, old, NULL, read_for_eval, w, &cfa))
		return false;
	regs[CFI_SP] = cfa;
	for (i = 0; i < CFI_NR_REGS; i++) {
		rule = &row->regs[i];
		switch (rule->how) {
		case CFI_SAME:
		case CFI_UNDEFINED:
			break;
		case CFI_OFFSET:
			if (!walk__read(w, cfa + rule->v, &regs[i]))
				return false;
			break;
		case CFI_VAL_OFFSET:
			regs[i] = cfa + rule->v;
			break;
		case CFI_REGISTER:
			if ((uint64_t)rule->v >= CFI_NR_REGS)
				return false;
			regs[i] = old[rule->v];
			break;
		case CFI_EXPR:
			if (!cfi__eval(rule->v, old, &cfa, read_for_eval, w, &slot) ||
			    !walk__read(w, slot, &regs[i]))
				return false;
			break;
		case CFI_VAL_EXPR:
			if (!cfi__eval(rule->v, old, &cfa, read_for_eval, w, &regs[i]))
				return false;
			break;
		}
	}
	regs[CFI_IP] = arch__strip(regs[CFI_IP]);
	return true;
}

/* Does the work of walk__settle() for a row. */
static bool row__settle(struct cfi_row *row)
{
	if (row->cfa_expr || row->cfa_reg != CFI_SP)
		return true;
	row->cfa_reg = CFI_BP;
	row->cfa_off = -row->regs[CFI_BP].v;
	return row->regs[CFI_BP].how == CFI_OFFSET;
}

/*
 * Whether the caller is lost, because the row says that the return address is in a register, which
 * a call has overwritten.
 */
static bool row__lost_caller(const struct cfi_row *row, bool exact)
{
	return CFI_RA_IN_REGISTER && !exact && row->regs[CFI_IP].how == CFI_REGISTER &&
	       row->regs[CFI_IP].v == CFI_RA;
}

/* Reads all registers of the code that a signal interrupted. */
static bool walk__apply_signal(struct walk *w, uint64_t *regs)
{
	uint64_t frame = regs[CFI_SP];
	size_t i;

	for (i = 0; i < CFI_NR_REGS; i++)
		if (!walk__read(w, frame + arch__signal_reg(i), &regs[i]))
			return false;
	return walk__enter(w, regs[CFI_SP]);
}

/* Walks with all registers that a row may use, and remembers nothing. Rarely needed. */
static __attribute__((noinline, cold)) enum outcome walk__full(struct walk *w,
							       const struct context *c)
{
	uint64_t regs[CFI_NR_REGS] = { 0 }, sp;
	bool exact = true, signal;
	struct cfi_row row;
	enum kind kind;

	context__registers(c, regs);
	w->nr = 0;
	w->guessed = false;
	if (!walk__enter(w, c->sp))
		return CUT;
	for (;;) {
		kind = rule__describe(regs[CFI_IP], exact, &row);
		if (kind == RULE_UNCALLED)
			kind = regs[CFI_BP] ? RULE_BAD : RULE_START;
		if (kind == RULE_START)
			walk__not_a_return(w);
		if (kind == RULE_END || kind == RULE_START)
			return COMPLETE;
		if (kind == RULE_BAD) {
			w->nr -= !!w->nr;
			return CUT;
		}
		if (kind == RULE_GUESS) {
			if (!regs[CFI_BP])
				return COMPLETE;
			if (!walk__is_frame_pointer(w, regs[CFI_SP], regs[CFI_BP]))
				return CUT;
		}
		if (RA_BY_RULE && w->guessed && kind == RULE_FULL && !row__settle(&row))
			return CUT;
		w->guessed = kind == RULE_GUESS;
		sp = regs[CFI_SP];
		signal = kind == RULE_SIGNAL || row.signal;
		if (signal)
			walk__not_a_return(w);
		if (kind == RULE_SIGNAL) {
			if (!walk__apply_signal(w, regs))
				return CUT;
		} else {
			if (row__lost_caller(&row, exact) || !walk__apply(w, &row, regs))
				return CUT;
			/*
			 * sp must not decrease. It may stay the same, since vfork() keeps its
			 * return address in a register.
			 */
			if (!signal && regs[CFI_SP] < sp && walk__has(w, sp))
				return CUT;
		}
		if (!regs[CFI_IP])
			return COMPLETE;
		exact = signal;
		if (!walk__push(w, regs[CFI_IP] + signal, regs[CFI_SP]))
			return CUT;
	}
}

/* ---- outside --------------------------------------------------------------------------------- */

/*
 * Return: the number of a chain's entries, including the caller's own frame and one entry after the
 * end.
 */
static size_t chain_frames(void)
{
	return (max_frames + 2 + 7) & ~7u;
}

/*
 * Number of arrays for chains: frames and stack for each of UNWIND_LEVELS walks and for the last
 * walk.
 */
#define NR_CHAINS	(2 * (UNWIND_LEVELS + 1))

size_t unwinder__bytes(void)
{
	struct unwinder *u;

	if (!enabled)
		return 0;
	return sizeof(*u) + chain_frames() * (NR_CHAINS * sizeof(u->chains[0]) +
					      sizeof(*u->steps) + sizeof(*u->outer) +
					      MAX_WORDS * sizeof(*u->words));
}

static uint64_t *unwinder__frames(const struct unwinder *u, unsigned int level)
{
	return (uint64_t *)u->chains + 2 * level * chain_frames();
}

/* Initializes the unwinder at the first walk of a thread. */
static __attribute__((noinline, cold)) void unwinder__start(struct unwinder *u)
{
	u->spare[0] = unwinder__frames(u, 0);
	u->spare[1] = u->spare[0] + chain_frames();
	u->last.stack = unwinder__frames(u, UNWIND_LEVELS) + chain_frames();
	u->last.stack[0] = UINT64_MAX;
	u->steps = (struct step *)unwinder__frames(u, UNWIND_LEVELS + 1);
	u->outer = (struct outer *)(u->steps + chain_frames());
	u->words = (struct word *)(u->outer + chain_frames());
	/* Must be last: a signal handler may interrupt this function. */
	u->last.frames = unwinder__frames(u, UNWIND_LEVELS);
}

/*
 * Clears rules of old generations. A rule has the low 16 bits of its generation; when the higher
 * bits change, all rules are cleared.
 */
static __attribute__((noinline, cold)) void unwinder__renew(struct unwinder *u, uint64_t now)
{
	if (now >> 16 != u->generation >> 16)
		memset(u->rules, 0, sizeof(u->rules));
	unwinder__forget(u);
	u->generation = now;
	generation__meet();
}

size_t unwinder__trace_bytes(const struct unwinder *u)
{
	unsigned int nr = u->last.whole.nr_words, i;
	uint64_t at;

	for (i = 0; i < nr; i++) {
		at = u->words[i].addr - u->last.sp;
		if (at % sizeof(uint64_t) || at / sizeof(uint64_t) > UINT16_MAX)
			return 0;
	}
	return nr ? sizeof(struct unwind_trace) + nr * sizeof(uint64_t) +
		    (nr * sizeof(uint16_t) + 7) / 8 * 8 : 0;
}

uint64_t unwinder__trace_key(const struct unwinder *u)
{
	return u->last.sp;
}

uint64_t unwinder__generation(const struct unwinder *u)
{
	return u->generation;
}

void unwinder__trace(const struct unwinder *u, struct unwind_trace *trace)
{
	const struct last_walk *last = &u->last;
	unsigned int nr = last->whole.nr_words, i;
	uint16_t *at = (uint16_t *)(trace->words + nr);

	*trace = (struct unwind_trace){
		.generation = u->generation,
		.sp = last->sp,
		.bp = last->whole.bp,
		.top = u->words[0].addr + 8,
		.nr = nr,
		.bp_matters = last->whole.bp_matters,
	};
	for (i = 0; i < nr; i++) {
		trace->words[i] = u->words[nr - 1 - i].value;
		at[i] = (u->words[nr - 1 - i].addr - last->sp) / sizeof(uint64_t);
	}
}

/* Return: the offsets of the words of @trace. */
static inline uint16_t *trace__at(const struct unwind_trace *trace)
{
	return (uint16_t *)(trace->words + trace->nr);
}

/* Return: the address of word @i of @trace. */
static inline uint64_t trace__address(const struct unwind_trace *trace, unsigned int i)
{
	return trace->sp + trace__at(trace)[i] * sizeof(uint64_t);
}

bool unwind_trace__share(struct unwind_trace *trace, const struct unwind_trace *outer)
{
	const uint16_t *at = trace__at(trace);
	uint32_t i = trace->nr, k = outer->nr;

	for (; i && k && trace->nr - i < UINT16_MAX; i--, k--)
		if (trace->words[i - 1] != outer->words[k - 1] ||
		    trace__address(trace, i - 1) != trace__address(outer, k - 1))
			break;
	if (trace->nr - i < MIN_SHARED)
		return false;
	trace->nr_outer = trace->nr - i;
	trace->outer = outer;
	trace->nr = i;
	memmove(trace__at(trace), at, i * sizeof(*at));
	return true;
}

/* Whether the stack has the words of @trace, beginning with word @i. */
static inline __attribute__((always_inline)) bool
trace__words_hold(const struct unwind_trace *trace, uint64_t sp, unsigned int i)
{
	const uint64_t *v = trace->words + i, *end = trace->words + trace->nr;
	const uint16_t *at = trace__at(trace) + i;

	for (; v + 4 <= end; v += 4, at += 4)
		if ((load_word(sp, at[0]) ^ v[0]) | (load_word(sp, at[1]) ^ v[1]) |
		    (load_word(sp, at[2]) ^ v[2]) | (load_word(sp, at[3]) ^ v[3]))
			return false;
	for (; v < end; v++, at++)
		if (load_word(sp, *at) != *v)
			return false;
	return true;
}

/*
 * Whether a walk that begins with @c would equal the walk of @trace: see walk__joins(). All words
 * are between @c->sp and the end of one span, so they can be read.
 */
static HOT_CODE bool trace__holds(const struct unwind_trace *trace, struct unwinder *u,
				  const struct context *c)
{
	uint64_t sp = c->sp;
	const struct readable *s;
	unsigned int i = 0;

	if (trace->sp != sp || (trace->bp_matters && trace->bp != c->bp) ||
	    trace->generation != generation())
		return false;
	s = readables__find(&u->spans, sp);
	if (!s || trace->top > s->hi)
		return false;
	for (;;) {
		if (!trace__words_hold(trace, sp, i))
			return false;
		if (__builtin_expect(!trace->outer, 1))
			return true;
		i = trace->outer->nr - trace->nr_outer;
		trace = trace->outer;
		sp = trace->sp;
	}
}

/*
 * Finds the first word of @trace, beginning with word @i, that differs from the stack. Return:
 * whether any word differs.
 */
static bool trace__miss_word(const struct unwind_trace *trace, unsigned int i,
			     struct unwind_miss *miss)
{
	for (; i < trace->nr; i++) {
		miss->where = trace__address(trace, i);
		miss->value = load(miss->where);
		if (miss->value != trace->words[i])
			return true;
	}
	return false;
}

/*
 * Finds where the stack differs from @trace, which does not match. Return: whether the stack
 * differs at all.
 */
static bool trace__miss(const struct unwind_trace *trace, struct unwinder *u,
			const struct context *c, struct unwind_miss *miss)
{
	const struct unwind_trace *outer = trace->outer;
	const struct readable *s;

	*miss = (struct unwind_miss){ .value = c->sp };
	if (trace->sp != c->sp)
		return true;
	*miss = (struct unwind_miss){ .where = 1, .value = c->bp };
	if (trace->bp_matters && trace->bp != c->bp)
		return true;
	s = readables__find(&u->spans, c->sp);
	if (trace->generation != generation() || !s || trace->top > s->hi)
		return false;
	return trace__miss_word(trace, 0, miss) ||
	       (outer && trace__miss_word(outer, outer->nr - trace->nr_outer, miss));
}

/*
 * After @trace did not match, compares the stack with other traces. Return: whether one of them
 * matches.
 */
static __attribute__((noinline)) bool unwinder__is_other(struct unwinder *u,
							 const struct context *c,
							 const struct unwind_trace *trace,
							 unwind_other_fn other, void *ctx)
{
	struct unwind_miss miss = { .value = c->sp };
	int i;

	for (i = 0; i < MAX_OTHERS && (!trace || trace__miss(trace, u, c, &miss)); i++) {
		trace = other(ctx, &miss);
		if (!trace)
			return false;
		if (trace__holds(trace, u, c))
			return true;
	}
	return false;
}

/* Walks the stack, because no trace matches. */
static __attribute__((noinline)) void unwinder__walk(struct unwinder *u, unsigned int level,
						     struct xpu_slot *slot,
						     const struct context *c)
{
	struct walk w = { .u = u, .spans = &u->spans, .max = max_frames + 1 };
	struct readables no_spans;
	enum outcome outcome;
	uint64_t now;

	if (__builtin_expect(!level && !u->last.frames, 0))
		unwinder__start(u);
	w.frames = unwinder__frames(u, level);
	w.stack = w.frames + chain_frames();
	w.remember = !level;
	now = generation();
	if (__builtin_expect(now != u->generation, 0)) {
		if (level)
			return;
		unwinder__renew(u, now);
	}
	w.generation = now << 48;
	if (level) {
		memset(&no_spans, 0, sizeof(no_spans));
		w.spans = &no_spans;
	}
	outcome = level ? walk__alone(&w, c) : walk__again(&w, c);
	if (outcome == NEEDS_FULL)
		outcome = walk__full(&w, c);
	if (!level)
		u->stack = w.stack;
	if (w.nr < 2)
		return;
	slot->frames = (uintptr_t)(w.frames + 1);	/* without the caller's own frame */
	slot->nr_frames = w.nr - 1;
	if (outcome == CUT)
		slot->flags = XPU_CHAIN_TRUNCATED;
}

__attribute__((noinline)) HOT_CODE bool unwinder__chain(struct unwinder *u, unsigned int level,
					       struct xpu_slot *slot,
					       const struct unwind_trace *trace,
					       unwind_other_fn other, void *ctx)
{
	struct context c;

	slot->nr_frames = 0;
	slot->flags = 0;
	if (level >= UNWIND_LEVELS)
		return false;

	CONTEXT_TAKE(&c);

	if (trace && __builtin_expect(trace__holds(trace, u, &c), 1))
		return true;
	if (other && unwinder__is_other(u, &c, trace, other, ctx))
		return true;
	unwinder__walk(u, level, slot, &c);
	asm volatile("" : : "r"(&c) : "memory");	/* prevents a tail call: the frame must
							 * stay */
	return false;
}

const uint64_t *unwinder__stack(const struct unwinder *u, unsigned int level)
{
	if (!level)
		return u->stack + 1;
	return level < UNWIND_LEVELS ? unwinder__frames(u, level) + chain_frames() + 1 : NULL;
}

void unwind__init(void)
{
	const char *mode = environment__get(XPU_CALL_GRAPH_ENV), *why;
	const char *frames = environment__get(XPU_MAX_FRAMES_ENV);
	static bool done;
	unsigned int n;

	if (done)
		return;
	done = true;
	if (frames && number__read(&frames, &n) && n)
		max_frames = n < XPU_MAX_FRAMES ? n : XPU_MAX_FRAMES;
	if (mode && !strcmp(mode, "fp"))
		return;
	why = unavailable();
	enabled = !why;
	if (why && mode && !strcmp(mode, "dwarf"))
		complain(XPU_MESSAGE_WARNING, "--call-graph dwarf is not possible: %s; call chains "
			 "follow frame pointers", why);
	else if (why)
		complain(XPU_MESSAGE_INFO, "call chains follow frame pointers (--call-graph fp): "
			 "for dwarf, %s", why);
}
