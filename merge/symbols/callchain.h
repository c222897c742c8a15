/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * callchain.h - turns return addresses into the frames of a call path, trimmed for reading
 *
 * The stack of a launch has, innermost first, the shim, CUPTI, the CUDA driver, the runtime, and
 * then the program. The first four are not part of the program: they are replaced by one frame, the
 * API function that the program called.
 *
 * If Python runs, the recording has Python frames instead of frames of the evaluation loop. The
 * interpreter's other frames, between one Python function and the next, are trimmed, too.
 */
#ifndef MERGE_CALLCHAIN_H
#define MERGE_CALLCHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "xpu_record.h"
#include "symbols/dso.h"
#include "symbols/kallsyms.h"
#include "model/machine.h"
#include "symbols/srcline.h"
#include "util.h"

struct name_keeper;
struct recorded_names;
struct recorded_place;

struct frame {
	const char *name;		/* demangled, interned; "libfoo.so+0x1a2b", "[unknown]" */
	struct dso *dso;		/* NULL: unknown, or the frame is not in a file */
	bool symbolized;
};

/* How Python frames are shown. */
enum python_style {
	PYTHON_SHORT,			/* for example train.py:step:41 */
	PYTHON_FULL,			/* for example /home/me/train.py:step:41 */
	PYTHON_NO_LINE,			/* for example train.py:step */
};

struct pycode {				/* a Python code object */
	const char *name;
	const char *filename;
};

/* A call path, root first. Equal paths are one object. */
struct stack {
	uint32_t nr;
	const struct frame *frames[];
};

/* A frame of the call path that is being resolved. */
struct chain_frame {
	const struct frame *f;
	uint64_t word;			/* as recorded */
	uint64_t vaddr;			/* address in f->dso, if the file is known */
	uint64_t offset;		/* file offset in f->dso */
	const struct recorded_place *place;	/* the recording's entry for the place; or NULL */
};

/* An address that was looked up in the recording whose paths are being resolved. */
struct known_address {
	const struct image *image;	/* NULL: the slot is empty */
	uint64_t addr;
	struct chain_frame frame;
	uint32_t epoch;
};

struct frame_entry;
struct stack_entry;
struct place_entry;

struct callchains {
	struct dsos *dsos;		/* owned by the caller */
	struct strpool *strings;	/* owned by the caller */
	bool trim;
	enum python_style python_style;
	/* Looks up a code object of the process whose path is being resolved; may be NULL. */
	bool (*pycode)(void *ctx, uint32_t id, struct pycode *code);
	/* If not NULL, returns the name of generated code in the image's process, or NULL. */
	const char *(*jit)(void *ctx, const struct image *image, bool ran_before, uint64_t addr);
	const struct kallsyms *kallsyms;	/* owned by the caller; NULL: kernel functions have
						 * no names */
	/*
	 * Returns a string of the process whose path is being resolved, or NULL. This function
	 * pointer may itself be NULL.
	 */
	const char *(*string)(void *ctx, uint32_t id);
	void *lookup_ctx;
	/* The names in the recording whose paths are being resolved; or NULL. */
	const struct recorded_names *names;
	bool files_first;		/* search files before @names, because the user gave
					 * paths of files */
	struct name_keeper *keeper;	/* keeps the names that are looked up; may be NULL */
	bool show_inline;		/* show inlined functions as frames: "f (inlined)" */
	bool show_srcline;		/* show source lines in frames: "f (file.c:12)" */
	struct srclines srclines;
	struct frame_entry *frames;
	struct stack_entry *stacks;
	struct place_entry *places;	/* places whose lines were looked up */
	struct known_address *known;	/* a cache by address; each slot keeps the latest address.
					 * NULL: not allocated yet */
	struct arena arena;
	ARRAY(struct chain_frame) chain;
	ARRAY(const struct frame *) scratch;
	uint64_t nr_frames;		/* number of frames shown in all call paths */
	uint64_t nr_unsymbolized;	/* number of frames shown without a function name */
	uint64_t nr_uncertain;		/* number of frames that may belong to another function */
};

void callchains__init(struct callchains *c, struct dsos *dsos, struct strpool *strings, bool trim);
void callchains__exit(struct callchains *c);

/* Begins another recording, whose addresses have other meanings. */
void callchains__next(struct callchains *c);

/**
 * callchains__resolve - name the frames of one call path
 * @c: all call paths
 * @rec: addresses, innermost first, or NULL for a launch without a call path
 * @image: address space of the addresses, or NULL if unknown
 * @epoch: remap epoch of @image
 * @api: name of the API call, found by its callback id, or NULL
 *
 * All frames of a bpf_get_stack() chain except the innermost are return addresses, which follow the
 * call instruction, so the lookup uses the byte before. The chain of a sample may have two
 * innermost frames: one in the kernel and one in the program. From a sample's chain only frames of
 * the Python interpreter are trimmed. Kernel functions are shown as name_[k].
 *
 * Return: the path, owned by @c, or NULL if memory is short.
 */
const struct stack *callchains__resolve(struct callchains *c,
					const struct xpu_record_callchain *rec,
					struct image *image, uint32_t epoch, const char *api);

/*
 * Return: the path that begins with @a, continues with a frame called @name and ends with @b, or
 * NULL.
 */
const struct stack *callchains__concat(struct callchains *c, const struct stack *a,
				       const char *name, const struct stack *b);

/* Return: whether the frame is a Python function, by the form of its name. */
bool frame__is_python(const struct frame *f);

/* Return: whether a frame has the name of a CUDA API function, such as a launch or a wait. */
bool frame__is_call(const struct frame *f);

/* How well a frame names the place of a call path. */
enum frame_place {
	PLACE_ANYBODYS,			/* in the kernel, the C library or CUDA; or without a
					 * name */
	PLACE_OWN,
	PLACE_PYTHON,
};

enum frame_place frame__place(const struct frame *f);

/*
 * Return: the frame that best names the place of @stack, or NULL if @stack has no frames. This is
 * the innermost Python frame. If there are no Python frames, it is the innermost frame that has a
 * name and is outside of the kernel, the C library and CUDA. Otherwise it is the innermost frame.
 */
const struct frame *stack__place(const struct stack *stack);

/* Return: the path with only one frame, called @name, such as "[no launch]"; or NULL. */
const struct stack *callchains__label(struct callchains *c, const char *name);

#endif /* MERGE_CALLCHAIN_H */
