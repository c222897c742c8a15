// SPDX-License-Identifier: MIT
#include "gpu/cupti/names.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hot.h"
#include "xpu_record.h"

/*
 * The table takes about 7 MiB of address space, and memory only where it is used. CUPTI's own names
 * are used for kernels whose names do not fit, for nodes whose entry was taken by another node, and
 * for records that arrive NR_LAUNCHES launches late.
 */
#define NR_NAMES	16384		/* this and the next three: powers of two */
#define NR_PLACES	1024
#define NR_LAUNCHES	(256 * 1024)
#define NR_NODES	(64 * 1024)
#define NAMES_BYTES	(4 * 1024 * 1024)
#define MAX_PROBES	64

struct name {
	uint32_t index;			/* index in by_text */
	char text[];
};

struct node {
	atomic_uint_fast64_t id;	/* 0: empty, or being written */
	_Atomic(struct name *) name;
};

struct names {
	_Atomic(struct name *) by_text[NR_NAMES];
	_Atomic(struct name *) by_place[NR_PLACES];	/* names seen recently, hashed by the text's
							 * address in the driver */
	atomic_uint_fast64_t launches[NR_LAUNCHES];	/* correlation id and the name's index; 0:
							 * none */
	struct node nodes[NR_NODES];
	atomic_size_t used;
	_Alignas(8) char texts[NAMES_BYTES];
};

HOT_DATA struct names *_Atomic names__table;

void names__start(void)
{
	struct names *t, *none = NULL;

	if (names__wanted())
		return;
	t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (t != MAP_FAILED && !atomic_compare_exchange_strong(&names__table, &none, t))
		munmap(t, sizeof(*t));
}

static bool name__is(const struct name *n, const char *text)
{
	return !strncmp(n->text, text, XPU_STRING_MAX - 1);
}

static struct name *name__new(struct names *t, const char *text, size_t len)
{
	size_t bytes = (sizeof(struct name) + len + 1 + 7) & ~(size_t)7;
	size_t at = atomic_load(&t->used);
	struct name *n;

	do {
		if (bytes > sizeof(t->texts) - at)
			return NULL;
	} while (!atomic_compare_exchange_weak(&t->used, &at, at + bytes));
	n = (struct name *)(t->texts + at);
	memcpy(n->text, text, len);	/* the memory after it is zero */
	return n;
}

/*
 * Return: the name, added if it is new. Never calls malloc(), since the launch may be in a signal
 * handler that interrupted malloc().
 */
static struct name *names__find(struct names *t, const char *text)
{
	size_t len = strnlen(text, XPU_STRING_MAX - 1), i;
	struct name *n, *mine = NULL;
	uint32_t hash = 2166136261u, index;

	for (i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * 16777619;
	for (i = 0; i < MAX_PROBES; i++) {
		index = (hash + i) % NR_NAMES;
		n = atomic_load(&t->by_text[index]);
		if (!n) {
			if (!mine)
				mine = name__new(t, text, len);
			if (!mine)
				return NULL;
			mine->index = index;
			if (atomic_compare_exchange_strong(&t->by_text[index], &n, mine))
				return mine;
		}
		if (name__is(n, text))
			return n;
	}
	return NULL;
}

/* Whether @cbid launches a kernel: in callbacks of other calls symbolName is not valid. */
static bool launches_kernel(CUpti_CallbackId cbid)
{
	switch (cbid) {
	case CUPTI_DRIVER_TRACE_CBID_cuLaunch:
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchGrid:
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync:
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
		return true;
	default:
		return false;
	}
}

void names__launch(CUpti_CallbackId cbid, const CUpti_CallbackData *d)
{
	struct names *t = atomic_load(&names__table);
	_Atomic(struct name *) *place;
	struct name *n;

	if (!launches_kernel(cbid) || !d->symbolName)
		return;
	place = &t->by_place[((uintptr_t)d->symbolName >> 4) % NR_PLACES];
	n = atomic_load(place);
	if (!n || !name__is(n, d->symbolName)) {
		n = names__find(t, d->symbolName);
		if (!n)
			return;
		atomic_store(place, n);
	}
	atomic_store(&t->launches[d->correlationId % NR_LAUNCHES],
		     (uint64_t)d->correlationId << 32 | n->index);
}

static struct name *launch__name(struct names *t, uint32_t correlation_id)
{
	uint64_t launch = atomic_load(&t->launches[correlation_id % NR_LAUNCHES]);

	return launch >> 32 == correlation_id ? atomic_load(&t->by_text[(uint32_t)launch]) : NULL;
}

static struct node *node__place(struct names *t, uint64_t id)
{
	return &t->nodes[(id * 0x9e3779b97f4a7c15ull >> 32) % NR_NODES];
}

static void node__set(struct names *t, uint64_t id, struct name *name)
{
	struct node *node = node__place(t, id);

	if (!name)
		return;
	atomic_store(&node->id, 0);
	atomic_store(&node->name, name);
	atomic_store(&node->id, id);
}

static struct name *node__name(struct names *t, uint64_t id)
{
	struct node *node = node__place(t, id);
	struct name *name;

	if (atomic_load(&node->id) != id)
		return NULL;
	name = atomic_load(&node->name);
	return atomic_load(&node->id) == id ? name : NULL;
}

void names__captured(uint64_t node, uint32_t correlation_id)
{
	struct names *t = atomic_load(&names__table);

	node__set(t, node, launch__name(t, correlation_id));
}

void names__cloned(uint64_t node, uint64_t original)
{
	struct names *t = atomic_load(&names__table);

	node__set(t, node, node__name(t, original));
}

const char *names__of(uint64_t node, uint32_t correlation_id)
{
	struct names *t = atomic_load(&names__table);
	struct name *name;

	if (!t)
		return NULL;
	name = node ? node__name(t, node) : launch__name(t, correlation_id);
	return name ? name->text : NULL;
}
