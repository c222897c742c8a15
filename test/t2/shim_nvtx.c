// SPDX-License-Identifier: MIT
/*
 * NVTX ranges, made as programs make them, through tables like NVTX's own tables. Each launch is in
 * the ranges that are open on its thread, and ranges that cannot be recorded are counted.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device.h"
#include "listener.h"
#include "nvtx/nvtx_abi.h"
#include "launch/ranges.h"
#include "tap.h"
#include "xpu_slot.h"

/* NVIDIA's own headers, if they are installed. */
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#if __has_include(<nvtx3/nvToolsExtPayload.h>)
#include <nvtx3/nvToolsExtPayload.h>
#define HAVE_PAYLOAD_HEADER
#endif
#define SAME(a, b)	_Static_assert((int)(a) == (int)(b), #a)
#define SAME_FIELD(ours, theirs)						\
	_Static_assert(offsetof(struct nvtx_attributes, ours) ==		\
		       offsetof(nvtxEventAttributes_t, theirs), #ours)
_Static_assert(sizeof(struct nvtx_attributes) == sizeof(nvtxEventAttributes_t), "attributes");
_Static_assert(sizeof(struct nvtx_callbacks) == sizeof(NvtxExportTableCallbacks), "callbacks");
SAME_FIELD(size, size);
SAME_FIELD(color_type, colorType);
SAME_FIELD(color, color);
SAME_FIELD(message_type, messageType);
SAME_FIELD(message, message);
SAME(NVTX_ABI_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII);
SAME(NVTX_ABI_MESSAGE_UNICODE, NVTX_MESSAGE_TYPE_UNICODE);
SAME(NVTX_ABI_MESSAGE_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
SAME(NVTX_ABI_NO_TRACKING, NVTX_NO_PUSH_POP_TRACKING);
SAME(NVTX_ABI_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(NVTX_ABI_CORE, NVTX_CB_MODULE_CORE);
SAME(NVTX_ABI_CORE2, NVTX_CB_MODULE_CORE2);
SAME(NVTX_ABI_MARK_EX, NVTX_CBID_CORE_MarkEx);
SAME(NVTX_ABI_MARK_A, NVTX_CBID_CORE_MarkA);
SAME(NVTX_ABI_MARK_W, NVTX_CBID_CORE_MarkW);
SAME(NVTX_ABI_START_EX, NVTX_CBID_CORE_RangeStartEx);
SAME(NVTX_ABI_START_A, NVTX_CBID_CORE_RangeStartA);
SAME(NVTX_ABI_START_W, NVTX_CBID_CORE_RangeStartW);
SAME(NVTX_ABI_END, NVTX_CBID_CORE_RangeEnd);
SAME(NVTX_ABI_PUSH_EX, NVTX_CBID_CORE_RangePushEx);
SAME(NVTX_ABI_PUSH_A, NVTX_CBID_CORE_RangePushA);
SAME(NVTX_ABI_PUSH_W, NVTX_CBID_CORE_RangePushW);
SAME(NVTX_ABI_POP, NVTX_CBID_CORE_RangePop);
SAME(NVTX_ABI_DOMAIN_MARK_EX, NVTX_CBID_CORE2_DomainMarkEx);
SAME(NVTX_ABI_DOMAIN_START_EX, NVTX_CBID_CORE2_DomainRangeStartEx);
SAME(NVTX_ABI_DOMAIN_END, NVTX_CBID_CORE2_DomainRangeEnd);
SAME(NVTX_ABI_DOMAIN_PUSH_EX, NVTX_CBID_CORE2_DomainRangePushEx);
SAME(NVTX_ABI_DOMAIN_POP, NVTX_CBID_CORE2_DomainRangePop);
SAME(NVTX_ABI_REGISTER_STRING_A, NVTX_CBID_CORE2_DomainRegisterStringA);
SAME(NVTX_ABI_REGISTER_STRING_W, NVTX_CBID_CORE2_DomainRegisterStringW);
SAME(NVTX_ABI_DOMAIN_CREATE_A, NVTX_CBID_CORE2_DomainCreateA);
SAME(NVTX_ABI_DOMAIN_CREATE_W, NVTX_CBID_CORE2_DomainCreateW);
#endif

#ifdef HAVE_PAYLOAD_HEADER
#define SAME_OF(ours, a, theirs, b)						\
	_Static_assert(offsetof(struct ours, a) == offsetof(theirs, b), #ours "." #a)
SAME_OF(nvtx_attributes, nr_payloads, nvtxEventAttributes_t, reserved0);
SAME_OF(nvtx_schema_entry, flags, nvtxPayloadSchemaEntry_t, flags);
SAME_OF(nvtx_schema_entry, type, nvtxPayloadSchemaEntry_t, type);
SAME_OF(nvtx_schema_entry, name, nvtxPayloadSchemaEntry_t, name);
SAME_OF(nvtx_schema_entry, offset, nvtxPayloadSchemaEntry_t, offset);
_Static_assert(sizeof(struct nvtx_schema_entry) == sizeof(nvtxPayloadSchemaEntry_t), "entry");
SAME_OF(nvtx_schema_attributes, entries, nvtxPayloadSchemaAttr_t, entries);
SAME_OF(nvtx_schema_attributes, nr_entries, nvtxPayloadSchemaAttr_t, numEntries);
SAME_OF(nvtx_schema_attributes, schema_id, nvtxPayloadSchemaAttr_t, schemaId);
SAME_OF(nvtx_payload_data, schema_id, nvtxPayloadData_t, schemaId);
SAME_OF(nvtx_payload_data, size, nvtxPayloadData_t, size);
SAME_OF(nvtx_payload_data, payload, nvtxPayloadData_t, payload);
SAME_OF(nvtx_ext_module, module_id, nvtxExtModuleInfo_t, moduleId);
SAME_OF(nvtx_ext_module, compat_id, nvtxExtModuleInfo_t, compatId);
SAME_OF(nvtx_ext_module, segments, nvtxExtModuleInfo_t, segments);
SAME_OF(nvtx_ext_segment, slots, nvtxExtModuleSegment_t, functionSlots);
_Static_assert(sizeof(struct nvtx_ext_module) == sizeof(nvtxExtModuleInfo_t), "module");
SAME(NVTX_ABI_PAYLOAD_MODULE, NVTX_EXT_PAYLOAD_MODULEID);
SAME(NVTX_ABI_PAYLOAD_MAJOR, NVTX_EXT_PAYLOAD_COMPATID >> 8);
SAME(NVTX_ABI_PAYLOAD_EXT, NVTX_PAYLOAD_TYPE_EXT);
SAME(NVTX_ABI_SCHEMA_REGISTER, NVTX3EXT_CBID_nvtxPayloadSchemaRegister);
SAME(NVTX_ABI_MARK_PAYLOAD, NVTX3EXT_CBID_nvtxMarkPayload);
SAME(NVTX_ABI_PUSH_PAYLOAD, NVTX3EXT_CBID_nvtxRangePushPayload);
SAME(NVTX_ABI_POP_PAYLOAD, NVTX3EXT_CBID_nvtxRangePopPayload);
SAME(NVTX_ABI_START_PAYLOAD, NVTX3EXT_CBID_nvtxRangeStartPayload);
SAME(NVTX_ABI_END_PAYLOAD, NVTX3EXT_CBID_nvtxRangeEndPayload);
SAME(NVTX_ABI_ENTRY_SHORT, NVTX_PAYLOAD_ENTRY_TYPE_SHORT);
SAME(NVTX_ABI_ENTRY_UINT64, NVTX_PAYLOAD_ENTRY_TYPE_UINT64);
SAME(NVTX_ABI_ENTRY_SIZE, NVTX_PAYLOAD_ENTRY_TYPE_SIZE);
SAME(NVTX_ABI_ENTRY_CSTRING, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING);
SAME(NVTX_ABI_ENTRY_CSTRING_UTF8, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8);
SAME(NVTX_ABI_ENTRY_REGISTERED, NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE);
SAME(NVTX_ABI_ENTRY_MESSAGE, NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE);
SAME(NVTX_ABI_SCHEMA_HAS_ENTRIES, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES);
SAME(NVTX_ABI_SCHEMA_HAS_NR_ENTRIES, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES);
SAME(NVTX_ABI_SCHEMA_HAS_ID, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID);
SAME(NVTX_ABI_SCHEMA_ID_STATIC, NVTX_PAYLOAD_SCHEMA_ID_STATIC_START);
_Static_assert(NVTX_ABI_SCHEMA_ID_DYNAMIC == NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START, "dynamic");
#endif

int InitializeInjectionNvtx2(nvtx_get_export_table_fn get);
int InitializeInjectionNvtxExtension(const struct nvtx_ext_module *module);

static CUcontext context;
static CUfunction function;
static CUstream stream;

/* ---- NVTX's tables in a module --------------------------------------------------------------- */

#define NR_CORE		16
#define NR_CORE2	16

static void *core_fns[NR_CORE], *core2_fns[NR_CORE2];
static void *core[NR_CORE + 1], *core2[NR_CORE2 + 1];

static int get_table(int module, void ***table, unsigned int *size)
{
	if (module != NVTX_ABI_CORE && module != NVTX_ABI_CORE2)
		return 0;
	*table = module == NVTX_ABI_CORE ? core : core2;
	*size = module == NVTX_ABI_CORE ? NR_CORE : NR_CORE2;
	return 1;
}

static const void *get_export_table(uint32_t id)
{
	static const struct nvtx_callbacks callbacks = { sizeof(callbacks), get_table };

	return id == NVTX_ABI_TABLE_CALLBACKS ? &callbacks : NULL;
}

static const void *no_export_table(uint32_t id)
{
	(void)id;
	return NULL;
}

static int push(const char *s)
{
	return ((int (*)(const char *))core_fns[NVTX_ABI_PUSH_A])(s);
}

static int push_w(const wchar_t *s)
{
	return ((int (*)(const wchar_t *))core_fns[NVTX_ABI_PUSH_W])(s);
}

static int pop(void)
{
	return ((int (*)(void))core_fns[NVTX_ABI_POP])();
}

static int domain_push(const void *domain, const struct nvtx_attributes *a)
{
	return ((int (*)(const void *, const struct nvtx_attributes *))
		core2_fns[NVTX_ABI_DOMAIN_PUSH_EX])(domain, a);
}

static int domain_pop(const void *domain)
{
	return ((int (*)(const void *))core2_fns[NVTX_ABI_DOMAIN_POP])(domain);
}

static uint64_t start(const char *s)
{
	return ((uint64_t (*)(const char *))core_fns[NVTX_ABI_START_A])(s);
}

static void end(uint64_t id)
{
	((void (*)(uint64_t))core_fns[NVTX_ABI_END])(id);
}

static void mark(const char *s)
{
	((void (*)(const char *))core_fns[NVTX_ABI_MARK_A])(s);
}

static const void *create_domain(const char *s)
{
	return ((const void *(*)(const char *))core2_fns[NVTX_ABI_DOMAIN_CREATE_A])(s);
}

static const void *register_string(const void *domain, const char *s)
{
	return ((const void *(*)(const void *, const char *))
		core2_fns[NVTX_ABI_REGISTER_STRING_A])(domain, s);
}

/* ---- the payload extension, and NCCL's schemas ----------------------------------------------- */

#define NR_EXT_SLOTS	63

static intptr_t ext_slots[NR_EXT_SLOTS];

static uint64_t register_schema(const void *domain, const struct nvtx_schema_attributes *attr)
{
	return ((uint64_t (*)(const void *, const struct nvtx_schema_attributes *))
		ext_slots[NVTX_ABI_SCHEMA_REGISTER])(domain, attr);
}

static int push_payload(const void *domain, const struct nvtx_payload_data *data, size_t nr)
{
	return ((int (*)(const void *, const struct nvtx_payload_data *, size_t))
		ext_slots[NVTX_ABI_PUSH_PAYLOAD])(domain, data, nr);
}

static int pop_payload(const void *domain, const struct nvtx_payload_data *data, size_t nr)
{
	return ((int (*)(const void *, const struct nvtx_payload_data *, size_t))
		ext_slots[NVTX_ABI_POP_PAYLOAD])(domain, data, nr);
}

struct all_reduce {
	uint64_t comm;
	size_t bytes;
	int op;
};

struct init_rank {
	uint64_t comm;
	int nr_ranks, rank, device;
};

#define ENTRY(t, s, field, text, f)						\
	{ .type = (t), .name = (text), .offset = offsetof(struct s, field), .flags = (f) }
#define INT		5		/* NVTX_PAYLOAD_ENTRY_TYPE_INT */
#define SCHEMA(number, e)							\
	(struct nvtx_schema_attributes){ .field_mask = NVTX_ABI_SCHEMA_HAS_ENTRIES |	\
		NVTX_ABI_SCHEMA_HAS_NR_ENTRIES | NVTX_ABI_SCHEMA_HAS_ID,	\
		.entries = (e), .nr_entries = sizeof(e) / sizeof((e)[0]), .schema_id = (number) }

static const struct nvtx_schema_entry all_reduce_entries[] = {
	ENTRY(NVTX_ABI_ENTRY_UINT64, all_reduce, comm, "NCCL communicator ID", 0),
	ENTRY(NVTX_ABI_ENTRY_SIZE, all_reduce, bytes, "Message size [bytes]", 0),
	ENTRY(NVTX_ABI_SCHEMA_ID_STATIC + 24, all_reduce, op, "Reduction operation", 0),
};

static const struct nvtx_schema_entry init_rank_entries[] = {
	ENTRY(NVTX_ABI_ENTRY_UINT64, init_rank, comm, "NCCL communicator ID", 0),
	{ .type = INT, .name = "No. of ranks" },	/* without offsets */
	{ .type = INT, .name = "Rank" },
	{ .type = INT, .name = "CUDA device" },
};

struct split {
	uint64_t comm, parent;
	int nr_ranks, rank, device, color, key;
};

static const struct nvtx_schema_entry split_entries[] = {
	ENTRY(NVTX_ABI_ENTRY_UINT64, split, comm, "NCCL communicator ID", 0),
	ENTRY(NVTX_ABI_ENTRY_UINT64, split, parent, "Parent NCCL communicator ID", 0),
	ENTRY(INT, split, nr_ranks, "No. of ranks", 0),
	ENTRY(INT, split, rank, "Rank", 0),
	ENTRY(INT, split, device, "CUDA device", 0),
	ENTRY(INT, split, color, "Color", 0),
	ENTRY(INT, split, key, "Key", 0),
};

static const struct nvtx_schema_entry foreign_entries[] = {
	ENTRY(NVTX_ABI_ENTRY_UINT64, all_reduce, comm, "step", 0),
	ENTRY(NVTX_ABI_ENTRY_CSTRING, all_reduce, bytes, "text", NVTX_ABI_ENTRY_MESSAGE),
};

enum { ALL_REDUCE = 5, INIT_RANK = 0, OTHER = 9, SPLIT = 13 };
#define STATIC_ID(n)	(NVTX_ABI_SCHEMA_ID_STATIC + (n))

static const void *nccl;

/* Pushes a range with the payload of an all-reduce. */
static int push_all_reduce(uint64_t comm, size_t bytes, int op, size_t size)
{
	struct all_reduce fields = { comm, bytes, op };
	struct nvtx_payload_data data = { STATIC_ID(ALL_REDUCE), size, &fields };
	struct nvtx_attributes a = {
		.size = sizeof(a), .payload_type = NVTX_ABI_PAYLOAD_EXT, .nr_payloads = 1,
		.payload = (uintptr_t)&data, .message_type = NVTX_ABI_MESSAGE_ASCII,
		.message.ascii = "ncclAllReduce",
	};

	return domain_push(nccl, &a);
}

static void test_extension(void)
{
	struct nvtx_ext_segment segment = { 0, NR_EXT_SLOTS, ext_slots };
	struct nvtx_ext_module module = {
		.version = 3, .size = sizeof(module), .module_id = 1, .compat_id = 0x0104,
		.nr_segments = 1, .segments = &segment,
	};

	is_int(InitializeInjectionNvtxExtension(&module), 0,
	       "an extension that the shim does not use is refused");
	module.module_id = NVTX_ABI_PAYLOAD_MODULE;
	module.compat_id = 0x0200;
	is_int(InitializeInjectionNvtxExtension(&module), 0,
	       "a later version of the payload extension is refused");
	module.compat_id = 0x0103;
	segment.nr_slots = 2;
	is_int(InitializeInjectionNvtxExtension(&module), 1,
	       "a module with few functions is accepted");
	is_int(ext_slots[NVTX_ABI_POP_PAYLOAD], 0, "other functions of the module are unchanged");
	segment.nr_slots = NR_EXT_SLOTS;
	is_int(InitializeInjectionNvtxExtension(&module), 1, "a module with payloads is accepted");
}

/* ---- launches -------------------------------------------------------------------------------- */

static uint32_t nr_made;

static void launch(void)
{
	device__launch(function, stream, 1);
	__atomic_fetch_add(&nr_made, 1, __ATOMIC_SEQ_CST);
}

/* Return: the path of range @id, such as "outer;domain:inner". */
static const char *path_of(uint32_t id)
{
	static char text[2][16384];
	static int flip;
	const char *below = NULL;

	for (; id; id = listener.ranges[id].parent) {
		const struct listener_range *r = &listener.ranges[id];

		flip = !flip;
		if (snprintf(text[flip], sizeof(text[flip]), "%s%s%s%s%s", r->domain,
			     *r->domain ? ":" : "", r->name, below ? ";" : "", below ?: "") < 0)
			return NULL;
		below = text[flip];
	}
	return below ?: "";
}

static const char *last_path(void)
{
	listener__wait(&listener.nr_launches, nr_made);
	return path_of(listener.launches[nr_made - 1].range_id);
}

static const struct xpu_range_payload *last_payload(void)
{
	listener__wait(&listener.nr_launches, nr_made);
	return &listener.ranges[listener.launches[nr_made - 1].range_id].payload;
}

static void test_payloads(void)
{
	struct nvtx_schema_attributes attr = SCHEMA(STATIC_ID(ALL_REDUCE), all_reduce_entries);
	static const char message[] = "a message";
	struct all_reduce text = { 7, (uintptr_t)message, 0 };
	struct nvtx_payload_data data = { 0, sizeof(text), &text };
	struct init_rank init = { 0xc0ffee, 4, 3, 1 };
	struct split split = { 0xfeed, 0xc0ffee, 4, 2, 0, 1, -7 };
	const struct xpu_range_payload *payload;
	uint32_t nr, first, second;
	uint64_t id;
	const void *domain;

	nccl = create_domain("NCCL");
	is_int(register_schema(nccl, &attr), STATIC_ID(ALL_REDUCE),
	       "a schema with a static number keeps it");
	is_int(register_schema(nccl, &attr), STATIC_ID(ALL_REDUCE),
	       "an equal schema of a second module keeps its static number");
	attr = SCHEMA(STATIC_ID(INIT_RANK), init_rank_entries);
	register_schema(nccl, &attr);
	attr = SCHEMA(0, foreign_entries);
	attr.field_mask &= ~NVTX_ABI_SCHEMA_HAS_ID;
	id = register_schema(nccl, &attr);
	ok(id > NVTX_ABI_SCHEMA_ID_DYNAMIC,
	   "a schema without a static number gets a dynamic number");

	is_int(push_all_reduce(0x1234567890abcdef, 1u << 20, 2, sizeof(struct all_reduce)), 0,
	       "a range with a payload is pushed");
	launch();
	payload = last_payload();
	is_str(last_path(), "early;NCCL:ncclAllReduce",
	       "a launch is in the range with the payload");
	is_int(payload->comm, 0x1234567890abcdef, "the communicator of a payload is received");
	is_int(payload->bytes, 1 << 20, "the bytes of a payload are received");
	is_int(payload->op, 2, "the operation of a payload is received");
	is_int(payload->fields, XPU_COLLECTIVE_COMM | XPU_COLLECTIVE_BYTES | XPU_COLLECTIVE_OP,
	       "a payload names the fields that it has");
	first = listener.launches[nr_made - 1].range_id;
	domain_pop(nccl);
	push_all_reduce(0x1234567890abcdef, 1u << 21, 2, sizeof(struct all_reduce));
	launch();
	last_path();
	second = listener.launches[nr_made - 1].range_id;
	domain_pop(nccl);
	push_all_reduce(0x1234567890abcdef, 1u << 20, 2, sizeof(struct all_reduce));
	launch();
	last_path();
	ok(second != first, "a payload with other bytes makes another range");
	is_int(listener.launches[nr_made - 1].range_id, first,
	       "a payload with the earlier bytes makes the earlier range");
	domain_pop(nccl);
	push_all_reduce(1, 2, 3, offsetof(struct all_reduce, op));
	launch();
	is_int(last_payload()->fields, XPU_COLLECTIVE_COMM | XPU_COLLECTIVE_BYTES,
	       "a payload that ends before a field lacks that field");
	domain_pop(nccl);
	push_all_reduce(1, 2, 3, 4);
	launch();
	is_int(last_payload()->fields, 0,
	       "a payload that ends before the communicator has no fields");
	domain_pop(nccl);

	/* The range of ncclCommInitRank gets its payload only at its end. */
	data = (struct nvtx_payload_data){ id, sizeof(text), &text };
	is_int(push_payload(nccl, &data, 1), 0,
	       "a range with a payload and no other attribute is pushed");
	launch();
	is_str(last_path(), "early;NCCL:a message",
	       "a range without a name is named by the message in its payload");
	is_int(last_payload()->fields, 0,
	       "a payload that the program itself defines is sent without fields");
	listener__settle();
	nr = heard(nr_range_events);
	data = (struct nvtx_payload_data){ STATIC_ID(INIT_RANK), sizeof(init), &init };
	is_int(pop_payload(nccl, &data, 1), 0, "a range is popped with a payload");
	launch();
	is_str(last_path(), "early", "the popped range is closed");
	listener__settle();
	is_int(listener.range_events[nr].what, XPU_RANGE_MARK, "the payload of the pop is a mark");
	payload = &listener.ranges[listener.range_events[nr].range_id].payload;
	is_int(payload->comm, 0xc0ffee, "the mark has the communicator of the popped payload");
	is_int(payload->nr_ranks * 10 + payload->rank, 43,
	       "the mark has the number of ranks and the rank of the popped payload");

	attr = SCHEMA(STATIC_ID(SPLIT), split_entries);
	is_int(register_schema(nccl, &attr), STATIC_ID(SPLIT), "a schema of splits is registered");
	nr = heard(nr_range_events);
	data = (struct nvtx_payload_data){ STATIC_ID(SPLIT), sizeof(split), &split };
	domain_push(nccl, &(struct nvtx_attributes){
		.size = sizeof(struct nvtx_attributes), .message_type = NVTX_ABI_MESSAGE_ASCII,
		.message = { .ascii = "ncclCommSplit" },
	});
	pop_payload(nccl, &data, 1);
	listener__settle();
	while (nr < heard(nr_range_events) && listener.range_events[nr].what != XPU_RANGE_MARK)
		nr++;
	payload = &listener.ranges[listener.range_events[nr].range_id].payload;
	ok(payload->comm == 0xfeed && payload->bytes == 0xc0ffee && payload->root == -7 &&
	   payload->rank == 2 && payload->nr_ranks == 4,
	"a split has the parent communicator and the key");
	is_int(payload->fields,
	       XPU_COLLECTIVE_COMM | XPU_COLLECTIVE_RANK | XPU_COLLECTIVE_NR_RANKS |
		       XPU_COLLECTIVE_KEY | XPU_COLLECTIVE_PARENT,
	       "a split has neither bytes nor a root");

	domain = create_domain("other");
	data = (struct nvtx_payload_data){ STATIC_ID(ALL_REDUCE), sizeof(text), &text };
	push_payload(domain, &data, 1);
	launch();
	is_int(last_payload()->fields, 0, "a schema's number is valid in its domain only");
	pop_payload(domain, NULL, 0);
	attr = SCHEMA(STATIC_ID(ALL_REDUCE), foreign_entries);
	register_schema(nccl, &attr);
	push_all_reduce(1, 2, 3, sizeof(struct all_reduce));
	launch();
	is_int(last_payload()->fields, 0, "two schemas with one number are both ignored");
	domain_pop(nccl);
}

static uint32_t sort_launches(uint32_t from)
{
	listener__settle();
	return listener__sort_launches(from);
}

static void *end_it(void *id)
{
	end((uintptr_t)id);
	return NULL;
}

static void on_thread(void *(*fn)(void *), void *arg)
{
	pthread_t thread;

	pthread_create(&thread, NULL, fn, arg);
	pthread_join(thread, NULL);
}

static void *hide_and_seek(void *arg)
{
	(void)arg;
	cuCtxSetCurrent(context);
	push("of a thread");
	launch();
	return NULL;
}

static void *only_ranges(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 1000; i++) {
		push("no launches");
		pop();
	}
	return NULL;
}

/* Pushes a range during a launch, as a signal handler does. */
static void interrupt(void)
{
	if (gettid() != getpid()) {		/* only on the program's threads: the shim's
						 * thread blocks signals */
		listener__interrupt_log = interrupt;
		return;
	}
	push("in a handler");
	device__call_back(0x70000000);
	__atomic_fetch_add(&nr_made, 1, __ATOMIC_SEQ_CST);
	pop();
}

/* Tests that a child, forked before CUDA is used, does not have its parent's ranges. */
static void test_early_fork(void)
{
	int status = -1, level;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		level = push("child");
		_exit(level);
	}
	waitpid(pid, &status, 0);
	is_int(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0,
	       "a forked child starts without ranges");
}

static void test_many_names(void)
{
	uint32_t before, i, wrong = 0;
	char name[3000], want[32];

	before = listener__settle();
	push("kept");
	for (i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "name %04u %2900s", i, "");
		push(name);
		launch();
		pop();
	}
	launch();
	pop();
	is_int(sort_launches(before), 2001,
	       "more names than a thread can keep: all launches are received");
	for (i = 0; i < 2000; i++) {
		snprintf(want, sizeof(want), "early;kept;name %04u ", i);
		wrong += strncmp(path_of(listener.launches[before + i].range_id), want,
				 strlen(want)) != 0;
	}
	is_int(wrong, 0, "more names than a thread can keep: each launch is in its own range");
	is_str(path_of(listener.launches[before + 2000].range_id), "early;kept",
	       "more names than a thread can keep: an open range stays the same");
}

static void test_depth(void)
{
	uint64_t dropped = ranges__nr_dropped();
	char name[16];
	int i;

	for (i = 0; i < XPU_RANGE_DEPTH + 10; i++) {
		snprintf(name, sizeof(name), "%d", i);
		push(name);
	}
	launch();
	for (i = 0; i < 12; i++)
		pop();
	launch();
	ok(strstr(last_path(), ";125") && !strstr(last_path(), ";126"),
	   "ranges deeper than the limit: pops close the right ranges");
	is_int(ranges__nr_dropped() - dropped, 22, "ranges deeper than the limit are counted");
	for (; i < XPU_RANGE_DEPTH + 10; i++)
		pop();
	is_int(domain_pop(ranges__domain("other")), -2, "pops without a push are ignored");
	launch();
	is_str(last_path(), "early", "pops without a push change nothing");
}

static void test_handler(void)
{
	uint64_t dropped = ranges__nr_dropped();
	uint32_t before = listener__settle();
	int i;

	listener__interrupt_log = interrupt;
	push("interrupted");
	for (i = 0; i < XPU_LOG_ENTRIES; i++)
		launch();
	pop();
	is_int(sort_launches(before), XPU_LOG_ENTRIES + 1,
	       "a signal handler interrupts launches: all launches are received");
	is_int(ranges__nr_dropped() - dropped, 2,
	       "the handler's ranges are not recorded, and are counted");
	for (i = 0; i < XPU_LOG_ENTRIES + 1; i++)
		if (strcmp(path_of(listener.launches[before + i].range_id), "early;interrupted"))
			break;
	is_int(i, XPU_LOG_ENTRIES + 1, "all launches are in the range that was open");
}

#define NR_HELD		(2u * XPU_LOG_ENTRIES)	/* launches */
#define NR_EVENTS	(2 * NR_HELD + 2)

/* Tests a log that stays full for a long time, because another thread is sending it. */
static void test_held(void)
{
	uint64_t dropped = ranges__nr_dropped();
	uint32_t before = listener__settle(), nr = heard(nr_range_events), nr_before, i, wrong = 0;
	uint64_t last_ns = 0;
	bool opens;

	listener__interrupt_log = listener__hold;
	push("held");
	listener__wait_held();
	for (i = 0; i < NR_HELD; i++) {
		push(i % 2 ? "odd" : "even");
		launch();
		pop();
	}
	nr_before = heard(nr_launches) - before;
	ok(nr_before >= NR_HELD - XPU_LOG_ENTRIES,
	   "a log is being sent: %u of %u launches are received meanwhile", nr_before, NR_HELD);
	listener__let_go();
	listener__settle();
	pop();
	is_int(sort_launches(before), NR_HELD,
	       "a log is being sent: all launches are received at last");
	for (i = 0; i < NR_HELD; i++)
		wrong += strcmp(path_of(listener.launches[before + i].range_id),
				i % 2 ? "early;held;odd" : "early;held;even") != 0;
	is_int(wrong, 0, "a log is being sent: each launch is in its range");
	is_int(heard(nr_range_events) - nr, NR_EVENTS,
	       "a log is being sent: all events are received");
	is_int(ranges__nr_dropped() - dropped, 0, "a log is being sent: no event is dropped");
	for (i = nr; i < nr + NR_EVENTS; i++) {
		wrong += listener.range_events[i].time_ns < last_ns;
		opens = i == nr || (i < nr + NR_EVENTS - 1 && (i - nr) % 2);
		wrong += listener.range_events[i].what != (opens ? XPU_RANGE_PUSH : XPU_RANGE_POP);
		last_ns = listener.range_events[i].time_ns;
	}
	is_int(wrong, 0, "a log is being sent: events are in order");
}

/* Tests events that wait for room in the log when recording stops. */
static void test_stopped(void)
{
	uint64_t dropped = ranges__nr_dropped();
	uint32_t nr, i;

	listener__settle();
	nr = heard(nr_range_events);
	listener__interrupt_log = listener__hold;
	push("held");
	listener__wait_held();
	for (i = 0; i < NR_HELD; i++) {
		push("inner");
		pop();
	}
	ranges__set_mode(RANGES_OFF);
	ranges__set_mode(RANGES_RECORD);
	pop();				/* a pop without a push is ignored */
	listener__let_go();
	listener__settle();
	nr = heard(nr_range_events) - nr;
	dropped = ranges__nr_dropped() - dropped;
	ok(dropped > 0 && nr + dropped == 2 * NR_HELD + 1,
	   "recording stops while %u of %u events wait: these are counted", (unsigned int)dropped,
	   2 * NR_HELD + 1);
}

/* A range whose only attribute is a payload opens a capture window. */
static int in_window(void)
{
	struct nvtx_ext_segment segment = { 0, NR_EXT_SLOTS, ext_slots };
	struct nvtx_ext_module module = {
		.version = 3, .size = sizeof(module), .module_id = NVTX_ABI_PAYLOAD_MODULE,
		.compat_id = 0x0103, .nr_segments = 1, .segments = &segment,
	};
	const void *domain;
	CUmodule code;
	uint32_t i;

	for (i = 1; i < NR_CORE2; i++)
		core2[i] = &core2_fns[i];
	if (!InitializeInjectionNvtx2(get_export_table) ||
	    !InitializeInjectionNvtxExtension(&module))
		return 2;
	listener__attach();
	device__start(&context, &code, &function);
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	domain = create_domain("net");
	launch();
	for (i = 0; i < 3; i++) {
		push_payload(domain, NULL, 0);
		launch();
		pop_payload(domain, NULL, 0);
		launch();
	}
	listener__settle();
	return heard(nr_launches) == 3 ? 0 : 3;
}

int main(int argc, char **argv)
{
	struct nvtx_attributes a = {
		.version = 3, .size = sizeof(a), .color_type = 1, .color = 0xff112233,
		.payload_type = 5,
		.payload = 7,
	};
	const void *domain, *string;
	char longer[10001];
	uint64_t id, other;
	CUmodule module;
	uint32_t before, nr;
	int i;

	if (argc > 1)
		return in_window();
	for (i = 0; i < NR_CORE; i++)
		core[i] = i ? &core_fns[i] : NULL;
	for (i = 0; i < NR_CORE2; i++)
		core2[i] = i ? &core2_fns[i] : NULL;
	is_int(InitializeInjectionNvtx2(no_export_table), 0,
	       "an unknown version of NVTX is refused");
	is_int(InitializeInjectionNvtx2(get_export_table), 1, "NVTX finds the shim");
	is_int(InitializeInjectionNvtx2(get_export_table), 1,
	       "NVTX of a second module finds the shim");
	test_extension();
	domain = create_domain("net");
	ok(domain && create_domain("net") == domain, "domains with equal names are one domain");

	/* No listener is attached. */
	is_int(push("nobody"), -2, "without a listener a push does nothing");
	pop();

	/* A listener attaches before CUDA is used. */
	listener__attach();
	listener__want_ranges(true);
	is_int(push("early"), 0, "a range is pushed before CUDA is initialized");
	test_early_fork();
	push("closed early");
	pop();
	is_int(heard(nr_ranges), 0, "no probe is called before CUDA is used");

	device__start(&context, &module, &function);
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	launch();
	is_str(last_path(), "early", "a launch is in a range that was opened before CUDA was used");
	listener__settle();
	is_int(heard(nr_range_events), 4,
	       "three events from before CUDA's start, and one of an open range, are received");
	launch();
	is_str(last_path(), "early",
		"the next launch, which is logged, is in the range opened before CUDA");

	is_int(push("one"), 1, "push returns the level of the new range");
	launch();
	is_str(last_path(), "early;one", "a launch is in the pushed range");
	is_int(push_w(L"zw\x00f6lf \x4e16\x1f600"), 2, "a range with wide characters is pushed");
	launch();
	is_str(last_path(), "early;one;zw\xc3\xb6lf \xe4\xb8\x96\xf0\x9f\x98\x80",
	       "a name with wide characters is converted to UTF-8");
	is_int(pop(), 2, "pop returns the level of the closed range");
	string = register_string(domain, "registered");
	a.message_type = NVTX_ABI_MESSAGE_REGISTERED;
	a.message.registered = string;
	is_int(domain_push(domain, &a), 0, "the levels of a domain begin at 0");
	launch();
	is_str(last_path(), "early;one;net:registered", "a launch is in the domain's range");
	is_int(pop(), 1, "a pop in the default domain closes a range of the default domain");
	launch();
	is_str(last_path(), "early;net:registered", "ranges of other domains stay open");
	is_int(domain_pop(domain), 0, "the domain's range is closed by the domain's pop");
	a.size = 8;
	domain_push(domain, &a);
	launch();
	is_str(last_path(), "early;net:",
	       "attributes of an unknown size make a range without a name");
	domain_pop(domain);
	push(NULL);
	launch();
	is_str(last_path(), "early;", "a range without any name is recorded");
	pop();

	/* Ranges of start() and end() may end out of order, and another thread may end them. */
	id = start("first");
	other = start("second");
	ok(id && other && id != other, "two ranges are started");
	launch();
	is_str(last_path(), "early;first;second", "a launch is in both started ranges");
	end(id);
	end(id);
	end(12345);
	launch();
	is_str(last_path(), "early;second",
	       "after the end of the first range a launch is in the second");
	on_thread(end_it, (void *)(uintptr_t)other);
	launch();
	is_str(last_path(), "early", "another thread ends the second range");
	for (i = 0; i < 40; i++) {
		id = start("passed on");
		on_thread(end_it, (void *)(uintptr_t)id);
	}
	launch();
	is_str(last_path(), "early", "many ranges are started and ended");

	test_payloads();

	mark("a mark");
	launch();
	is_str(last_path(), "early", "a mark opens no range");
	listener__settle();
	nr = heard(nr_range_events);
	is_int(listener.range_events[nr - 1].what, XPU_RANGE_MARK, "a mark is received");
	is_str(path_of(listener.range_events[nr - 1].range_id), "early;a mark",
	       "a mark has its name");

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	longer[XPU_RANGE_NAME_MAX - 2] = '\xc3';
	longer[XPU_RANGE_NAME_MAX - 1] = '\xb6';
	push(longer);
	launch();
	is_int(strlen(last_path()), strlen("early;") + XPU_RANGE_NAME_MAX - 2,
	       "a name that is too long is cut between characters");
	pop();

	test_many_names();
	test_depth();
	test_handler();
	test_held();

	before = listener__settle();
	on_thread(hide_and_seek, NULL);
	listener__settle();
	is_str(path_of(listener.launches[before].range_id), "of a thread",
	       "a range of another thread is in that thread's last log");
	nr = heard(nr_range_events);
	is_int(listener.range_events[nr - 1].what, XPU_RANGE_SET,
	       "a range that a thread leaves open ends with the thread");
	on_thread(only_ranges, NULL);
	listener__settle();
	is_int(heard(nr_range_events) - nr, 2000,
	       "events of a thread that does not launch are received");

	nr = heard(nr_repeated_ranges);
	listener__hello(true);
	ok(listener__wait(&listener.nr_repeated_ranges, nr + 3),
	   "a second listener gets the names");
	listener__hello(false);
	nr = heard(nr_range_events);
	is_int(heard(counters.nr_dropped_ranges), ranges__nr_dropped(),
	       "the shim counts the dropped ranges");

	/* The listener detaches for a while: open ranges are removed. */
	listener__want_ranges(false);
	listener__detach();
	for (i = 0; i < 10; i++)
		push("unheard");
	listener__settle();
	is_int(heard(counters.nr_ranges), nr, "the shim counts the received ranges");
	before = heard(nr_repeated_paths);
	listener__attach();
	listener__want_ranges(true);
	listener__wait(&listener.nr_repeated_paths, before + 1);	/* the shim is awake */
	launch();
	is_str(last_path(), "", "after a time without listeners no range is open");
	is_int(pop(), -2, "the pop of a range that was removed is ignored");
	is_int(push("again"), 0, "a range is pushed again");
	launch();
	is_str(last_path(), "again", "a launch is in the range that was pushed again");

	/* Listeners detach and attach again before the shim's thread has noticed. */
	listener__settle();
	listener__want_ranges(false);
	pop();
	listener__want_ranges(true);
	launch();
	is_str(last_path(), "",
	       "a range that ends while there is no listener is no longer open");
	push("after that");
	launch();
	is_str(last_path(), "after that",
	       "a range that is opened after a listener came back is recorded");
	test_stopped();

	cuStreamSynchronize(stream);
	is_int(listener__run(argv[0], "window", "XPUSHIM_CAPTURE", "nvtx:^net:$"), 0,
	       "a range with a payload and no other attribute opens a capture window");
	is_int(heard(nr_bad), 0, "nothing ill-formed was sent");
	cuModuleUnload(module);
	return done_testing();
}
