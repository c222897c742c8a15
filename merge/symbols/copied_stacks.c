// SPDX-License-Identifier: GPL-3.0-or-later
#include "symbols/copied_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

#include "symbols/file_cfi.h"
#include "symbols/processor.h"

struct unwind_tables {			/* The unwind tables of a file. */
	const struct dso *dso;
	struct file_cfi *cfi;		/* NULL: the file has no tables */
	UT_hash_handle hh;
};

struct unwind_stack {			/* The last copy of a thread's stack. */
	uint32_t thread_id;
	uint64_t start;			/* the address of the copy, a multiple of XPU_STACK_BLOCK */
	uint64_t from, to;		/* the known part of the stack: [from, to) */
	size_t nr_blocks;
	uint8_t *blocks;
	UT_hash_handle hh;
};

void copied_stacks__init(struct copied_stacks *u, struct dsos *dsos)
{
	memset(u, 0, sizeof(*u));
	u->dsos = dsos;
}

void copied_stacks__next(struct copied_stacks *u)
{
	struct unwind_stack *s, *next;

	HASH_ITER(hh, u->stacks, s, next) {
		HASH_DEL(u->stacks, s);
		free(s->blocks);
		free(s);
	}
}

void copied_stacks__exit(struct copied_stacks *u)
{
	struct unwind_tables *t, *next;

	copied_stacks__next(u);
	HASH_ITER(hh, u->tables, t, next) {
		HASH_DEL(u->tables, t);
		file_cfi__free(t->cfi);
		free(t);
	}
}

static struct unwind_stack *copied_stacks__stack(struct copied_stacks *u, uint32_t thread_id)
{
	return HASH_GET(u->stacks, thread_id, thread_id);
}

/* Updates @s with a record. Return: like copied_stacks__record(). */
static int unwind_stack__update(struct unwind_stack *s, const struct xpu_record_stack *rec)
{
	uint64_t sp = rec->regs[XPU_REG_SP], start = sp & -(uint64_t)XPU_STACK_BLOCK, at;
	size_t nr = !rec->bytes ? 0 :
		    (sp - start + rec->bytes + XPU_STACK_BLOCK - 1) / XPU_STACK_BLOCK;
	const __u64 *bitmap = rec->data + rec->nr_python;
	const uint8_t *from = (const uint8_t *)(bitmap + (nr + 63) / 64);
	size_t i, old;
	int bad = 0;
	uint8_t *blocks = calloc(nr ?: 1, XPU_STACK_BLOCK);

	if (!blocks)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		if (bitmap[i / 64] & 1ull << i % 64) {
			memcpy(blocks + i * XPU_STACK_BLOCK, from, XPU_STACK_BLOCK);
			from += XPU_STACK_BLOCK;
			continue;
		}
		at = start + i * XPU_STACK_BLOCK;
		old = (at - s->start) / XPU_STACK_BLOCK;
		if (!(rec->hdr.misc & XPU_MISC_STACK_DELTA) || at < s->start || old >= s->nr_blocks)
			bad = 1;
		else
			memcpy(blocks + i * XPU_STACK_BLOCK, s->blocks + old * XPU_STACK_BLOCK,
			       XPU_STACK_BLOCK);
	}
	free(s->blocks);
	s->blocks = blocks;
	s->nr_blocks = nr;
	s->start = start;
	s->from = sp;
	s->to = sp + rec->bytes;
	return bad;
}

static bool unwind_stack__read(void *ctx, uint64_t addr, uint64_t *value)
{
	const struct unwind_stack *s = ctx;

	if (addr < s->from || s->to < s->from || addr >= s->to || s->to - addr < sizeof(*value))
		return false;
	memcpy(value, s->blocks + (addr - s->start), sizeof(*value));
	return true;
}

static struct file_cfi *copied_stacks__cfi(struct copied_stacks *u, const struct dso *dso)
{
	struct unwind_tables *t;

	HASH_FIND_PTR(u->tables, &dso, t);
	if (t)
		return t->cfi;
	t = HASH_NEW(u->tables, dso, dso);
	if (!t)
		return NULL;
	t->cfi = dso->state == DSO_LOADED ? file_cfi__new(&dso->file) : NULL;
	return t->cfi;
}

/* Steps to the caller by the frame pointer, if the pointer is plausible. */
static enum cfi_result step_by_frame_pointer(struct cfi_regs *regs, struct unwind_stack *s)
{
	uint64_t bp = regs->v[XPU_REG_BP], ip;

	/* By the ABI, the frame pointer is 0 where a stack begins. */
	if (regs->known & 1u << XPU_REG_BP && !bp)
		return CFI_ROOT;
	if (!(regs->known & 1u << XPU_REG_BP) || bp < regs->v[XPU_REG_SP] || bp % 8 ||
	    !unwind_stack__read(s, bp + 8, &ip) ||
	    !unwind_stack__read(s, bp, &regs->v[XPU_REG_BP]))
		return CFI_LOST;
	regs->v[XPU_REG_IP] = ip;
	regs->v[XPU_REG_SP] = bp + 16;
	regs->known = 1u << XPU_REG_IP | 1u << XPU_REG_SP | 1u << XPU_REG_BP;
	return CFI_STEPPED;
}

static enum cfi_result copied_stacks__step(struct copied_stacks *u, struct image *image,
					   uint32_t epoch, struct cfi_regs *regs, bool *exact,
					   bool *loop, struct unwind_stack *s)
{
	uint64_t addr = regs->v[XPU_REG_IP] - !*exact, vaddr;
	struct map *map = image__find_map(image, epoch, addr);
	enum cfi_result result = CFI_NO_TABLE;
	const struct dso_symbol *symbol = NULL;
	const struct processor *cpu;
	bool interrupted = *exact;
	struct file_cfi *cfi;

	*exact = false;
	if (map && !map->dso)
		map->dso = dsos__get(u->dsos, map->rec);
	if (map && map->dso) {
		/* This lookup also loads the file. */
		symbol = dsos__find_symbol(u->dsos, map->dso, addr - map->start + map->pgoff,
					   &vaddr);
		*loop = symbol && !strcmp(symbol->name, "_PyEval_EvalFrameDefault");
		u->misses_file |= map->dso->state != DSO_LOADED && !map->dso->is_memory;
		cfi = copied_stacks__cfi(u, map->dso);
		if (cfi)
			result = file_cfi__step(cfi, vaddr, regs, exact, unwind_stack__read, s);
	}
	if (result != CFI_NO_TABLE)
		return result;
	cpu = map && map->dso && map->dso->state == DSO_LOADED ?
	      processor__of(&map->dso->file) : NULL;
	if (cpu && cpu->ra != NO_REGISTER && interrupted && symbol && symbol->plt) {
		regs->v[XPU_REG_IP] = regs->v[cpu->ra] & cpu->address_bits;
		regs->known &= ~(1u << cpu->ra);
		return CFI_STEPPED;
	}
	result = step_by_frame_pointer(regs, s);
	if (cpu)
		regs->v[XPU_REG_IP] &= cpu->address_bits;
	return result;
}

static void copied_stacks__append(struct copied_stacks *u, uint16_t *nr, const uint64_t *words,
				  size_t nr_words)
{
	memcpy(u->frames + *nr, words, nr_words * sizeof(*words));
	*nr += nr_words;
}

/*
 * Merges frames of Python before 3.10. They are recorded without the address of the evaluation
 * loop's stack, but each loop has exactly one Python frame.
 */
static void copied_stacks__merge_by_name(struct copied_stacks *u,
					 const struct xpu_record_stack *rec, uint16_t nr_native,
					 uint16_t *nr)
{
	size_t i, done = 0;

	*nr = 0;
	for (i = 0; i < nr_native; i++)
		u->frames[(*nr)++] = u->loop[i] && done < rec->nr_python ? rec->data[done++] :
									   u->native[i];
	while (done < rec->nr_python)
		u->frames[(*nr)++] = rec->data[done++];
}

/*
 * Replaces the evaluation loops in u->native by Python frames. Both are in the same order, so one
 * pass over both is enough. If the native chain was cut before some loops, the Python frames of
 * these loops are added outside of the chain.
 */
static void copied_stacks__merge(struct copied_stacks *u, const struct xpu_record_stack *rec,
				 uint16_t nr_native, bool truncated, uint16_t *nr)
{
	size_t i = 0, loop, word, done = 0;

	*nr = 0;
	for (word = 0; word < rec->nr_python; word++) {
		if (XPU_WORD_IS_PYTHON(rec->data[word]))
			continue;
		for (loop = i; loop + 1 < nr_native; loop++)
			if (u->sp[loop] <= rec->data[word] && rec->data[word] < u->sp[loop + 1])
				break;
		if (loop + 1 >= nr_native) {
			if (truncated)
				break;
			continue;	/* add the loop's Python frames with the frames of the next
					 * loop */
		}
		copied_stacks__append(u, nr, u->native + i, loop - i);
		for (; done < word; done++)
			if (XPU_WORD_IS_PYTHON(rec->data[done]))
				u->frames[(*nr)++] = rec->data[done];
		i = loop + 1;
	}
	copied_stacks__append(u, nr, u->native + i, nr_native - i);
	for (; done < rec->nr_python; done++)
		if (XPU_WORD_IS_PYTHON(rec->data[done]))
			u->frames[(*nr)++] = rec->data[done];
}

int copied_stacks__record(struct copied_stacks *u, const struct xpu_record_stack *rec,
			  struct image *image, uint32_t epoch, uint16_t *nr, uint16_t *flags,
			  const uint64_t *known, uint16_t nr_known)
{
	struct cfi_regs regs = { .known = (1u << XPU_NR_REGS) - 1 };
	struct unwind_stack *s = copied_stacks__stack(u, rec->thread_id);
	enum cfi_result result = CFI_STEPPED;
	uint32_t loops;
	uint16_t n;
	bool exact = true;
	int err;

	if (!s)
		return -ENOMEM;
	err = unwind_stack__update(s, rec);
	if (err < 0)
		return err;
	if (known) {
		*nr = min_t(uint16_t, nr_known, ARRAY_SIZE(u->frames));
		memcpy(u->frames, known, *nr * sizeof(*known));
		return err;
	}
	u->misses_file = false;
	memcpy(regs.v, rec->regs, sizeof(regs.v));
	u->native[0] = regs.v[XPU_REG_IP];
	u->sp[0] = regs.v[XPU_REG_SP];
	u->loop[0] = false;
	for (n = 1; n < UNWIND_MAX_FRAMES; n++) {
		result = CFI_LOST;
		if (image)
			result = copied_stacks__step(u, image, epoch, &regs, &exact,
						     &u->loop[n - 1], s);
		if (result != CFI_STEPPED || !regs.v[XPU_REG_IP])
			break;
		if (regs.v[XPU_REG_IP] >> 56) {		/* this is no address in user space */
			result = CFI_LOST;
			break;
		}
		/*
		 * All frames except the first are return addresses: look them up one byte earlier.
		 */
		u->native[n] = regs.v[XPU_REG_IP] + exact;
		u->sp[n] = regs.v[XPU_REG_SP];
		u->loop[n] = false;
	}
	if (result == CFI_LOST || n == UNWIND_MAX_FRAMES || rec->nr_python == XPU_MAX_PYTHON)
		*flags |= XPU_CHAIN_TRUNCATED;
	for (loops = 0; loops < rec->nr_python && XPU_WORD_IS_PYTHON(rec->data[loops]); loops++)
		;
	if (loops < rec->nr_python)
		copied_stacks__merge(u, rec, n, *flags & XPU_CHAIN_TRUNCATED, nr);
	else
		copied_stacks__merge_by_name(u, rec, n, nr);
	return err;
}
