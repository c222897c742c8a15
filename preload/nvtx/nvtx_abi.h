/* SPDX-License-Identifier: MIT */
/*
 * nvtx_abi.h - the part of NVTX 2 and 3 that the shim uses; its binary interface is fixed
 *
 * It is declared here because only some packages of CUPTI include the toolkit's headers. Where the
 * headers exist, test/t2/shim_nvtx.c compares them with these declarations. Source: nvToolsExt.h
 * and nvtxDetail/nvtxTypes.h of NVTX 3.
 */
#ifndef XPU_PRELOAD_NVTX_ABI_H
#define XPU_PRELOAD_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

struct nvtx_attributes {		/* nvtxEventAttributes_t */
	uint16_t version;
	uint16_t size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t nr_payloads;		/* reserved0; used with NVTX_ABI_PAYLOAD_EXT */
	uint64_t payload;
	int32_t message_type;
	union {
		const char *ascii;
		const wchar_t *unicode;
		const void *registered;
	} message;
};

enum {
	NVTX_ABI_MESSAGE_ASCII		= 1,
	NVTX_ABI_MESSAGE_UNICODE	= 2,
	NVTX_ABI_MESSAGE_REGISTERED	= 3,
	NVTX_ABI_NO_TRACKING		= -2,	/* NVTX_NO_PUSH_POP_TRACKING */
};

enum { NVTX_ABI_TABLE_CALLBACKS = 1 };	/* NvtxExportTableID */

enum { NVTX_ABI_CORE = 1, NVTX_ABI_CORE2 = 5 };	/* NvtxCallbackModule */

enum {					/* NvtxCallbackIdCore */
	NVTX_ABI_MARK_EX		= 1,
	NVTX_ABI_MARK_A			= 2,
	NVTX_ABI_MARK_W			= 3,
	NVTX_ABI_START_EX		= 4,
	NVTX_ABI_START_A		= 5,
	NVTX_ABI_START_W		= 6,
	NVTX_ABI_END			= 7,
	NVTX_ABI_PUSH_EX		= 8,
	NVTX_ABI_PUSH_A			= 9,
	NVTX_ABI_PUSH_W			= 10,
	NVTX_ABI_POP			= 11,
};

enum {					/* NvtxCallbackIdCore2 */
	NVTX_ABI_DOMAIN_MARK_EX		= 1,
	NVTX_ABI_DOMAIN_START_EX	= 2,
	NVTX_ABI_DOMAIN_END		= 3,
	NVTX_ABI_DOMAIN_PUSH_EX		= 4,
	NVTX_ABI_DOMAIN_POP		= 5,
	NVTX_ABI_REGISTER_STRING_A	= 10,
	NVTX_ABI_REGISTER_STRING_W	= 11,
	NVTX_ABI_DOMAIN_CREATE_A	= 12,
	NVTX_ABI_DOMAIN_CREATE_W	= 13,
};

struct nvtx_callbacks {			/* NvtxExportTableCallbacks */
	size_t struct_size;
	/*
	 * Sets *@table to an array of pointers to function pointers, by callback id. Return:
	 * whether the module has a table.
	 */
	int (*get_module_function_table)(int module, void ***table, unsigned int *size);
};

typedef const void *(*nvtx_get_export_table_fn)(uint32_t id);

/* ---- the payload extension; source: nvToolsExtPayload.h, nvtxDetail/nvtxExtTypes.h ----------- */

enum {
	NVTX_ABI_PAYLOAD_MODULE		= 2,	/* NVTX_EXT_PAYLOAD_MODULEID */
	NVTX_ABI_PAYLOAD_MAJOR		= 1,	/* the upper byte of NVTX_EXT_PAYLOAD_COMPATID */
	NVTX_ABI_PAYLOAD_EXT		= (int32_t)0xdfbd0009,	/* NVTX_PAYLOAD_TYPE_EXT */
};

enum {					/* NVTX3EXT_CBID_* */
	NVTX_ABI_SCHEMA_REGISTER	= 0,
	NVTX_ABI_MARK_PAYLOAD		= 2,
	NVTX_ABI_PUSH_PAYLOAD		= 3,
	NVTX_ABI_POP_PAYLOAD		= 4,
	NVTX_ABI_START_PAYLOAD		= 5,
	NVTX_ABI_END_PAYLOAD		= 6,
};

struct nvtx_schema_entry {		/* nvtxPayloadSchemaEntry_t */
	uint64_t flags;
	uint64_t type;
	const char *name;
	const char *description;
	uint64_t array_or_union;
	uint64_t offset;
	const void *semantics;
	const void *reserved;
};

/* Flags of entries that hold no plain value: pointers, offsets, arrays. */
#define NVTX_ABI_ENTRY_NO_VALUE		0x7eull
#define NVTX_ABI_ENTRY_MESSAGE		(1ull << 10)	/* NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE */

enum {					/* NVTX_PAYLOAD_ENTRY_TYPE_* */
	NVTX_ABI_ENTRY_SHORT		= 3,
	NVTX_ABI_ENTRY_UINT64		= 18,
	NVTX_ABI_ENTRY_SIZE		= 22,
	NVTX_ABI_ENTRY_CSTRING		= 75,
	NVTX_ABI_ENTRY_CSTRING_UTF8	= 76,
	NVTX_ABI_ENTRY_REGISTERED	= 80,
};

#define NVTX_ABI_SCHEMA_ID_STATIC	(1ull << 24)
#define NVTX_ABI_SCHEMA_ID_DYNAMIC	(1ull << 32)

struct nvtx_schema_attributes {		/* nvtxPayloadSchemaAttr_t */
	uint64_t field_mask;
	const char *name;
	uint64_t type;
	uint64_t flags;
	const struct nvtx_schema_entry *entries;
	size_t nr_entries;
	size_t static_size;
	size_t pack_align;
	uint64_t schema_id;
	void *extension;
};

#define NVTX_ABI_SCHEMA_HAS_ENTRIES	(1ull << 4)
#define NVTX_ABI_SCHEMA_HAS_NR_ENTRIES	(1ull << 5)
#define NVTX_ABI_SCHEMA_HAS_ID		(1ull << 8)

struct nvtx_payload_data {		/* nvtxPayloadData_t */
	uint64_t schema_id;
	size_t size;
	const void *payload;
};

struct nvtx_ext_segment {		/* nvtxExtModuleSegment_t */
	size_t segment_id;
	size_t nr_slots;
	intptr_t *slots;
};

struct nvtx_ext_module {		/* nvtxExtModuleInfo_t */
	uint16_t version;
	uint16_t size;
	uint16_t module_id;
	uint16_t compat_id;
	size_t nr_segments;
	struct nvtx_ext_segment *segments;
	intptr_t (*get_export_function)(uint32_t id);
	const void *info;
};

#endif /* XPU_PRELOAD_NVTX_ABI_H */
