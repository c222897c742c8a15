/* SPDX-License-Identifier: MIT */
/*
 * nvtx_abi.h - the part of NVTX 2 and 3 that the shim uses; its binary interface is fixed
 *
 * It is spelled out here because only some packages of CUPTI have the toolkit's headers.
 * test/t2/shim_nvtx.c compares the two where the headers exist. Source: nvToolsExt.h and
 * nvtxDetail/nvtxTypes.h of NVTX 3.
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
	int32_t reserved;
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
	 * An array of pointers to function pointers, by callback id. Returns whether the module has
	 * such a table.
	 */
	int (*get_module_function_table)(int module, void ***table, unsigned int *size);
};

typedef const void *(*nvtx_get_export_table_fn)(uint32_t id);

#endif /* XPU_PRELOAD_NVTX_ABI_H */
