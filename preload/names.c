// SPDX-License-Identifier: MIT
#include "names.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "xpu_record.h"

/*
 * Some 6 MiB of addresses, of which what is used is touched. Names that find no room, and launches
 * whose records take so long that as many others have come since, are left to CUPTI.
 */
#define NR_NAMES	16384		/* these four are powers of two */
#define NR_PLACES	1024
#define NR_LAUNCHES	(256 * 1024)
#define NAMES_BYTES	(4 * 1024 * 1024)
#define MAX_PROBES	64

struct name {
	uint32_t index;			/* in by_text */
	char text[];
};

struct names {
	_Atomic(struct name *) by_text[NR_NAMES];
	_Atomic(struct name *) by_place[NR_PLACES];	/* where the driver had it last */
	atomic_uint_fast64_t launches[NR_LAUNCHES];	/* correlation id and index; 0: none */
	atomic_size_t used;
	_Alignas(8) char texts[NAMES_BYTES];
};

struct names *_Atomic names__table;

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
	memcpy(n->text, text, len);	/* what follows is zero */
	return n;
}

/* Without malloc(), which a launch in a signal handler may have interrupted. */
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

/* For others the callback's symbolName may be anything. */
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

const char *names__launched(uint32_t correlation_id)
{
	struct names *t = atomic_load(&names__table);
	uint64_t launch;

	if (!t)
		return NULL;
	launch = atomic_load(&t->launches[correlation_id % NR_LAUNCHES]);
	if (launch >> 32 != correlation_id)
		return NULL;
	return atomic_load(&t->by_text[(uint32_t)launch])->text;
}
