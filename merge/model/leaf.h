/* SPDX-License-Identifier: GPL-3.0-or-later */
/* leaf.h - the work that ran, or the thread's activity: the end of a folded line */
#ifndef MERGE_LEAF_H
#define MERGE_LEAF_H

#include <stdbool.h>
#include <stdint.h>

#include "model/gpu.h"
#include "model/shape.h"
#include "util.h"

enum leaf_kind {
	LEAF_KERNEL,
	LEAF_MEMCPY,
	LEAF_MEMSET,
	LEAF_PENDING,			/* a launch whose device work was never seen */
	LEAF_CPU,			/* a thread ran; its stack shows where, and the name is
					 * "" */
	LEAF_OFF_CPU,			/* a thread was blocked: "lock", "io", "sleep", "runnable",
					 * ... */
	LEAF_GPU_WAIT,			/* a thread waited for the device; named like the work */
	LEAF_MEMORY,			/* held memory: "block", "pinned", ...; gpu is NO_INDEX for
					 * host memory */
	NR_LEAF_KINDS
};

/* Used instead of the index of a leaf, to say what the device did during a wait. */
enum {
	WAIT_LEAF_IDLE	= NO_INDEX - 1,	/* the device did nothing in that context */
	WAIT_LEAF_OTHER	= NO_INDEX - 2,	/* the device worked, but not in the stream that the thread
					 * waited for */
};

#define LEAVES_DEVICE	(1u << LEAF_KERNEL | 1u << LEAF_MEMCPY | 1u << LEAF_MEMSET | \
			 1u << LEAF_PENDING)
#define LEAVES_CPU	(1u << LEAF_CPU | 1u << LEAF_OFF_CPU | 1u << LEAF_GPU_WAIT)

#define LEAVES_WAIT	(1u << LEAF_OFF_CPU | 1u << LEAF_GPU_WAIT)

/*
 * Return: whether the kind is device work, which has a GPU. Of the other kinds, only memory may
 * have a GPU.
 */
static inline bool leaf_kind__is_device(enum leaf_kind kind)
{
	return kind <= LEAF_MEMSET;
}

struct leaf {
	enum leaf_kind kind;
	uint32_t gpu;			/* index in gpus.list; NO_INDEX if the leaf is neither
					 * device work nor device memory */
	const char *name;		/* demangled name of a kernel; "HtoD"; "" */
	uint32_t shape;			/* for a kernel: index in shapes, SHAPE_SEVERAL, or NO_INDEX
					 * if unknown */
	uint32_t part;			/* for a part of a kernel's time: index in parts; otherwise
					 * NO_INDEX */
};

#define LEAF_MAX_FRAMES	64		/* maximum number of frames of a place; functions inlined
					 * deeper are left out */

/* Where a kernel stalled, and the reason; both are shown as frames. */
struct leaf_place {
	const char *label;		/* shown before the reason: "[stall]" */
	const char *place;		/* interned: "+0x1a0", or "a.cu:9;f(int) at b.h:3" */
	const char *reason;		/* interned: "long_scoreboard" */
	uint32_t id;			/* the place's number among all places of its kind */
};

/*
 * Takes the next frame of a place, the outermost first. *@at: the place; moved to the next frame.
 * Return: a copy, which the caller frees. At the end, returns NULL and sets *@at to NULL. If memory
 * is short, returns NULL and leaves *@at as it is.
 */
char *leaf_place__frame(const char **at);

/* a part of a kernel's time */
struct leaf_part {
	const struct leaf_place *place;
	uint32_t kernel;		/* the leaf of the whole kernel */
};

/* All leaves, each once. */
struct leaves {
	struct leaf *v;
	size_t nr, cap;
	struct strpool *strings;	/* owned by the caller */
	struct hashes by_key;
	uint64_t secret;
	ARRAY(struct leaf_part) parts;
	struct idmap by_part;		/* maps (kernel, place) to a leaf */
	ARRAY(uint32_t) waits;		/* for each leaf: the leaf of waits for it, or NO_INDEX */
};

void leaves__init(struct leaves *l, struct strpool *strings);
void leaves__exit(struct leaves *l);

/**
 * leaves__get - find or make the leaf of a kind, device and name
 * @gpu: index in gpus.list, or NO_INDEX
 * @name: copied
 *
 * Return: 0 or -ENOMEM.
 */
int leaves__get(struct leaves *l, enum leaf_kind kind, uint32_t gpu, const char *name,
		uint32_t *idx);

/*
 * Finds or makes the leaf with the kind, device and name of @leaf and, with @split, its shape. The
 * name in @leaf is interned; NULL means that memory was short. Return: 0 or -ENOMEM.
 */
int leaves__add(struct leaves *l, const struct leaf *leaf, bool split, uint32_t *idx);

/*
 * Like leaves__get(), for a kernel with that shape. @split: kernels with other shapes get other
 * leaves
 */
int leaves__kernel(struct leaves *l, uint32_t gpu, const char *name, uint32_t shape, bool split,
		   uint32_t *idx);

/*
 * Finds or makes the leaf for the time that a kernel spent at a place. @place must outlive the
 * leaves.
 * Return: 0 or -ENOMEM.
 */
int leaves__part(struct leaves *l, uint32_t kernel, const struct leaf_place *place, uint32_t *idx);

/* Return: the part of a kernel's time that @leaf stands for; NULL if it stands for none. */
static inline const struct leaf_part *leaf__part(const struct leaves *l, const struct leaf *leaf)
{
	return leaf->part == NO_INDEX ? NULL : &l->parts.v[leaf->part];
}

/*
 * Finds or makes the leaf that stands for waiting for @leaf. @leaf is device work or WAIT_LEAF_*.
 * Return: 0 or -ENOMEM.
 */
int leaves__wait(struct leaves *l, uint32_t leaf, uint32_t *idx);

/**
 * leaf__label - make the label before the name: "[GPU_Kernel]", "[GPU1_Memcpy]", "[Off_CPU]"
 * @buf: at least LEAF_LABEL_MAX bytes; "" for LEAF_CPU
 * @numbered: show the device's number, because there are several devices
 */
#define LEAF_LABEL_MAX	32
void leaf__label(const struct gpus *gpus, const struct leaf *leaf, bool numbered, char *buf);

/* Return: "kernel", "memcpy", "off_cpu", ...: the kind's name in formats for programs. */
const char *leaf_kind__name(enum leaf_kind kind);

/*
 * Return: "memcpy ", "memset" or "". Put before a leaf's name, it distinguishes copies and memsets
 * from kernels: "memcpy HtoD", "memset".
 */
const char *leaf_kind__prefix(enum leaf_kind kind);

/* Return: "lock", "io", ...; NULL for an unknown kind. */
const char *off_kind__name(uint32_t kind);

/* Return: the short name of a CUpti_ActivityMemcpyKind: "HtoD", "PtoP", ... */
#define NR_MEMCPY_KINDS	11
const char *memcpy_kind__name(uint32_t kind);

#endif /* MERGE_LEAF_H */
