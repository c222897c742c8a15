// SPDX-License-Identifier: MIT
#include "nvtx/nvtx_injection.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/libc.h"
#include "nvtx/capture.h"
#include "nvtx/nvtx_abi.h"
#include "nvtx/payload.h"
#include "launch/ranges.h"
#include "wire/probe.h"
#include "xpu_record.h"

#define INJECTION_ENV	"NVTX_INJECTION64_PATH"

static const char *why_not;		/* why the program's NVTX will not find the shim */

/* ---- names ----------------------------------------------------------------------------------- */

#define NARROW(s, buf)	((s) ? ranges__narrow(s, buf, sizeof(buf)) : "")

/*
 * Return: the range that the attributes describe, with the members that the shim uses. @payload:
 * room for the range's payload
 */
static struct range describe(const void *domain, const struct nvtx_attributes *a,
			     struct xpu_range_payload *payload)
{
	struct range range = { .domain = domain, .name = "" };

	if (!a || a->size < sizeof(*a))
		return range;
	if (__builtin_expect(a->payload_type == NVTX_ABI_PAYLOAD_EXT && a->nr_payloads > 0, 0) &&
	    payload__read(domain, (const void *)(uintptr_t)a->payload, a->nr_payloads, payload,
			  NULL))
		range.payload = payload;
	if (!a->message.ascii)
		return range;
	switch (a->message_type) {
	case NVTX_ABI_MESSAGE_ASCII:
	case NVTX_ABI_MESSAGE_REGISTERED:	/* see register_string() */
		range.name = a->message.ascii;
		break;
	case NVTX_ABI_MESSAGE_UNICODE:
		range.wide = a->message.unicode;
		break;
	}
	return range;
}

/* ---- functions that modules call ------------------------------------------------------------- */

static int tracked(int level)
{
	return level < 0 ? NVTX_ABI_NO_TRACKING : level;
}

/* Whether ranges are wanted: for the recording, or because they open windows. */
static inline bool are_wanted(void)
{
	return ranges__wanted() || capture__watches_ranges();
}

static int push_range(struct range *range)
{
	if (capture__watches_ranges())
		capture__pushed(range);		/* must be first: the range itself is in the
						 * window */
	return ranges__wanted() ? tracked(ranges__push(range)) : NVTX_ABI_NO_TRACKING;
}

static __attribute__((noinline)) int push(const void *domain, const struct nvtx_attributes *a)
{
	struct xpu_range_payload payload;
	struct range range = describe(domain, a, &payload);

	return push_range(&range);
}

static __attribute__((noinline)) int popped(const void *domain)
{
	int level = ranges__wanted() ? tracked(ranges__pop(domain)) : NVTX_ABI_NO_TRACKING;

	if (capture__watches_ranges())
		capture__popped(domain);
	return level;
}

static uint64_t start_range(struct range *range)
{
	bool captures = capture__watches_ranges() && capture__starts(range);
	uint64_t id = ranges__wanted() ? ranges__start(range) : 0;

	if (captures)
		capture__started(id);
	return id;
}

static __attribute__((noinline)) uint64_t start(const void *domain, const struct nvtx_attributes *a)
{
	struct xpu_range_payload payload;
	struct range range = describe(domain, a, &payload);

	return start_range(&range);
}

static __attribute__((noinline)) void ended(uint64_t id)
{
	if (ranges__wanted())
		ranges__end(id);
	if (capture__watches_ranges())
		capture__ended(id);
}

static __attribute__((noinline)) void mark(const void *domain, const struct nvtx_attributes *a)
{
	struct xpu_range_payload payload;
	struct range range = describe(domain, a, &payload);

	ranges__mark(&range);
}

#define ATTRIBUTES(type, field, s)						\
	(struct nvtx_attributes){ .size = sizeof(struct nvtx_attributes),	\
				  .message_type = (type), .message.field = (s) }
#define ASCII(s)	ATTRIBUTES(NVTX_ABI_MESSAGE_ASCII, ascii, s)
#define UNICODE(s)	ATTRIBUTES(NVTX_ABI_MESSAGE_UNICODE, unicode, s)

static int domain_push_ex(const void *domain, const struct nvtx_attributes *a)
{
	return are_wanted() ? push(domain, a) : NVTX_ABI_NO_TRACKING;
}

static int push_ex(const struct nvtx_attributes *a)
{
	return are_wanted() ? push(NULL, a) : NVTX_ABI_NO_TRACKING;
}

static int push_a(const char *s)
{
	return are_wanted() ? push(NULL, &ASCII(s)) : NVTX_ABI_NO_TRACKING;
}

static int push_w(const wchar_t *s)
{
	return are_wanted() ? push(NULL, &UNICODE(s)) : NVTX_ABI_NO_TRACKING;
}

static int domain_pop(const void *domain)
{
	return are_wanted() ? popped(domain) : NVTX_ABI_NO_TRACKING;
}

static int pop(void)
{
	return are_wanted() ? popped(NULL) : NVTX_ABI_NO_TRACKING;
}

static uint64_t domain_start_ex(const void *domain, const struct nvtx_attributes *a)
{
	return are_wanted() ? start(domain, a) : 0;
}

static uint64_t start_ex(const struct nvtx_attributes *a)
{
	return are_wanted() ? start(NULL, a) : 0;
}

static uint64_t start_a(const char *s)
{
	return are_wanted() ? start(NULL, &ASCII(s)) : 0;
}

static uint64_t start_w(const wchar_t *s)
{
	return are_wanted() ? start(NULL, &UNICODE(s)) : 0;
}

static void end(uint64_t id)
{
	if (are_wanted())
		ended(id);
}

static void domain_end(const void *domain, uint64_t id)
{
	(void)domain;
	if (are_wanted())
		ended(id);
}

static void domain_mark_ex(const void *domain, const struct nvtx_attributes *a)
{
	if (ranges__wanted())
		mark(domain, a);
}

static void mark_ex(const struct nvtx_attributes *a)
{
	if (ranges__wanted())
		mark(NULL, a);
}

static void mark_a(const char *s)
{
	if (ranges__wanted())
		mark(NULL, &ASCII(s));
}

static void mark_w(const wchar_t *s)
{
	if (ranges__wanted())
		mark(NULL, &UNICODE(s));
}

/* ---- the payload extension ------------------------------------------------------------------- */

static struct range describe_payload(const void *domain, const struct nvtx_payload_data *data,
				     size_t nr, struct xpu_range_payload *payload)
{
	struct range range = { .domain = domain, .name = "" };

	if (payload__read(domain, data, nr, payload, &range.name))
		range.payload = payload;
	return range;
}

static int push_payload(const void *domain, const struct nvtx_payload_data *data, size_t nr)
{
	struct xpu_range_payload payload;
	struct range range;

	if (!are_wanted())
		return NVTX_ABI_NO_TRACKING;
	range = describe_payload(domain, data, nr, &payload);
	return push_range(&range);
}

static int pop_payload(const void *domain, const struct nvtx_payload_data *data, size_t nr)
{
	struct xpu_range_payload payload;

	if (!are_wanted())
		return NVTX_ABI_NO_TRACKING;
	if (ranges__wanted() && payload__read(domain, data, nr, &payload, NULL))
		ranges__mark_payload(domain, &payload);
	return popped(domain);
}

static uint64_t start_payload(const void *domain, const struct nvtx_payload_data *data, size_t nr)
{
	struct xpu_range_payload payload;
	struct range range;

	if (!are_wanted())
		return 0;
	range = describe_payload(domain, data, nr, &payload);
	return start_range(&range);
}

static void end_payload(const void *domain, uint64_t id, const struct nvtx_payload_data *data,
			size_t nr)
{
	(void)data;
	(void)nr;
	domain_end(domain, id);
}

static void mark_payload(const void *domain, const struct nvtx_payload_data *data, size_t nr)
{
	struct xpu_range_payload payload;
	struct range range;

	if (!ranges__wanted())
		return;
	range = describe_payload(domain, data, nr, &payload);
	ranges__mark(&range);
}

/* Programs keep handles for later, so these functions work even while nobody listens. */
static const void *domain_create_a(const char *s)
{
	return ranges__domain(s ? s : "");
}

static const void *domain_create_w(const wchar_t *s)
{
	char buf[XPU_RANGE_DOMAIN_MAX];

	return ranges__domain(NARROW(s, buf));
}

static const void *register_string_a(const void *domain, const char *s)
{
	(void)domain;
	return ranges__string(s ? s : "");
}

static const void *register_string_w(const void *domain, const wchar_t *s)
{
	char buf[XPU_RANGE_NAME_MAX];

	(void)domain;
	return ranges__string(NARROW(s, buf));
}

/* ---- tables ---------------------------------------------------------------------------------- */

struct callback {
	unsigned int id;
	void *fn;
};

static const struct callback core[] = {
	{ NVTX_ABI_MARK_EX, mark_ex },
	{ NVTX_ABI_MARK_A, mark_a },
	{ NVTX_ABI_MARK_W, mark_w },
	{ NVTX_ABI_START_EX, start_ex },
	{ NVTX_ABI_START_A, start_a },
	{ NVTX_ABI_START_W, start_w },
	{ NVTX_ABI_END, end },
	{ NVTX_ABI_PUSH_EX, push_ex },
	{ NVTX_ABI_PUSH_A, push_a },
	{ NVTX_ABI_PUSH_W, push_w },
	{ NVTX_ABI_POP, pop },
};

static const struct callback core2[] = {
	{ NVTX_ABI_DOMAIN_MARK_EX, domain_mark_ex },
	{ NVTX_ABI_DOMAIN_START_EX, domain_start_ex },
	{ NVTX_ABI_DOMAIN_END, domain_end },
	{ NVTX_ABI_DOMAIN_PUSH_EX, domain_push_ex },
	{ NVTX_ABI_DOMAIN_POP, domain_pop },
	{ NVTX_ABI_REGISTER_STRING_A, register_string_a },
	{ NVTX_ABI_REGISTER_STRING_W, register_string_w },
	{ NVTX_ABI_DOMAIN_CREATE_A, domain_create_a },
	{ NVTX_ABI_DOMAIN_CREATE_W, domain_create_w },
};

/* Like the functions that return handles, these functions work even while nobody listens. */
static const struct callback payload_slots[] = {
	{ NVTX_ABI_SCHEMA_REGISTER, payload__register },
	{ NVTX_ABI_MARK_PAYLOAD, mark_payload },
	{ NVTX_ABI_PUSH_PAYLOAD, push_payload },
	{ NVTX_ABI_POP_PAYLOAD, pop_payload },
	{ NVTX_ABI_START_PAYLOAD, start_payload },
	{ NVTX_ABI_END_PAYLOAD, end_payload },
};

static void fill(const struct nvtx_callbacks *callbacks, int module, const struct callback *from,
		 size_t nr)
{
	unsigned int size = 0;
	void **table = NULL;
	size_t i;

	if (!callbacks->get_module_function_table(module, &table, &size) || !table)
		return;
	for (i = 0; i < nr; i++)
		if (from[i].id < size && table[from[i].id])
			*(void **)table[from[i].id] = from[i].fn;
}

static void watch_forks(void)
{
	__register_atfork(ranges__forking, ranges__has_forked, ranges__forked, &__dso_handle);
}

int nvtx__fill(nvtx_get_export_table_fn get)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const struct nvtx_callbacks *callbacks = get ? get(NVTX_ABI_TABLE_CALLBACKS) : NULL;

	if (!callbacks || callbacks->struct_size < sizeof(*callbacks))
		return 0;
	if (!libc__is_glibc())
		return 0;
	pthread_once(&once, watch_forks);
	fill(callbacks, NVTX_ABI_CORE, core, sizeof(core) / sizeof(core[0]));
	fill(callbacks, NVTX_ABI_CORE2, core2, sizeof(core2) / sizeof(core2[0]));
	return 1;
}

int nvtx__fill_extension(const struct nvtx_ext_module *module)
{
	const struct nvtx_ext_segment *segment;
	size_t i;

	if (!module || module->size < sizeof(*module) ||
	    module->module_id != NVTX_ABI_PAYLOAD_MODULE ||
	    module->compat_id >> 8 != NVTX_ABI_PAYLOAD_MAJOR || !module->nr_segments)
		return 0;
	segment = module->segments;
	if (!libc__is_glibc() || !segment || !segment->slots)
		return 0;
	for (i = 0; i < sizeof(payload_slots) / sizeof(payload_slots[0]); i++)
		if (payload_slots[i].id < segment->nr_slots)
			segment->slots[payload_slots[i].id] = (intptr_t)payload_slots[i].fn;
	return 1;
}

/* ---- making NVTX find the shim --------------------------------------------------------------- */

void nvtx__init(const char *path, bool may_set)
{
	const char *users = getenv(INJECTION_ENV);

	if (!probe__live() && !probe__ranges_wanted())
		return;
	if (users && !strcmp(users, path))
		return;
	if (users && users[0])
		why_not = "NVTX ranges are not recorded: " INJECTION_ENV " names another library";
	else if (!may_set)
		why_not = "NVTX ranges are not recorded: the program had threads before the shim "
			  "was loaded, so that " INJECTION_ENV " could not be set";
	else
		setenv(INJECTION_ENV, path, 1);
}

const char *nvtx__message(void)
{
	return probe__ranges_wanted() ? why_not : NULL;
}
