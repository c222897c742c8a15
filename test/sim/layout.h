/* SPDX-License-Identifier: MIT */
/*
 * layout.h - the structures that the simulated CUPTI shares with its clients
 *
 * The constants are CUPTI's on 64-bit machines. The build fails if a header disagrees with them, or
 * if an older version of a record is not a prefix of the newest one: activity.c fills in the newest
 * version and delivers as much of it as the older version had.
 */
#ifndef TEST_SIM_LAYOUT_H
#define TEST_SIM_LAYOUT_H

#include <stddef.h>

#include <cupti.h>

#define SIZE(type, bytes)							\
	_Static_assert(sizeof(type) == (bytes), "size of " #type)
#define OFFSET(type, field, bytes)						\
	_Static_assert(offsetof(type, field) == (bytes), #type "." #field)

/* ---- kernel records -------------------------------------------------------------------------- */

#define KERNEL_LAYOUT(type, bytes)						\
	SIZE(type, bytes);							\
	OFFSET(type, kind, 0);							\
	OFFSET(type, registersPerThread, 6);					\
	OFFSET(type, start, 16);						\
	OFFSET(type, end, 24);							\
	OFFSET(type, completed, 32);						\
	OFFSET(type, deviceId, 40);						\
	OFFSET(type, contextId, 44);						\
	OFFSET(type, streamId, 48);						\
	OFFSET(type, gridX, 52);						\
	OFFSET(type, blockX, 64);						\
	OFFSET(type, staticSharedMemory, 76);					\
	OFFSET(type, dynamicSharedMemory, 80);					\
	OFFSET(type, localMemoryPerThread, 84);					\
	OFFSET(type, correlationId, 92);					\
	OFFSET(type, gridId, 96);						\
	OFFSET(type, name, 104);						\
	OFFSET(type, queued, 120);						\
	OFFSET(type, submitted, 128);						\
	OFFSET(type, launchType, 136)

KERNEL_LAYOUT(CUpti_ActivityKernel4, 144);
KERNEL_LAYOUT(CUpti_ActivityKernel5, 160);
KERNEL_LAYOUT(CUpti_ActivityKernel6, 168);
KERNEL_LAYOUT(CUpti_ActivityKernel7, 176);
KERNEL_LAYOUT(CUpti_ActivityKernel8, 200);
KERNEL_LAYOUT(CUpti_ActivityKernel9, 208);
KERNEL_LAYOUT(CUpti_ActivityKernel10, 216);
OFFSET(CUpti_ActivityKernel5, graphNodeId, 144);
OFFSET(CUpti_ActivityKernel6, graphNodeId, 144);
OFFSET(CUpti_ActivityKernel7, graphNodeId, 144);
OFFSET(CUpti_ActivityKernel8, graphNodeId, 144);
OFFSET(CUpti_ActivityKernel9, graphNodeId, 144);
OFFSET(CUpti_ActivityKernel10, graphNodeId, 144);
OFFSET(CUpti_ActivityKernel6, graphId, 156);
OFFSET(CUpti_ActivityKernel7, graphId, 156);
OFFSET(CUpti_ActivityKernel8, graphId, 156);
OFFSET(CUpti_ActivityKernel9, graphId, 156);
OFFSET(CUpti_ActivityKernel10, graphId, 156);
OFFSET(CUpti_ActivityKernel7, channelType, 172);
OFFSET(CUpti_ActivityKernel8, clusterX, 176);
OFFSET(CUpti_ActivityKernel9, clusterX, 176);
OFFSET(CUpti_ActivityKernel10, clusterX, 176);
OFFSET(CUpti_ActivityKernel10, channelType, 172);

/* ---- copies and sets ------------------------------------------------------------------------- */

#define MEMCPY_LAYOUT(type, bytes_)						\
	SIZE(type, bytes_);							\
	OFFSET(type, kind, 0);							\
	OFFSET(type, copyKind, 4);						\
	OFFSET(type, srcKind, 5);						\
	OFFSET(type, dstKind, 6);						\
	OFFSET(type, flags, 7);							\
	OFFSET(type, bytes, 8);							\
	OFFSET(type, start, 16);						\
	OFFSET(type, end, 24);							\
	OFFSET(type, deviceId, 32);						\
	OFFSET(type, contextId, 36);						\
	OFFSET(type, streamId, 40);						\
	OFFSET(type, correlationId, 44);					\
	OFFSET(type, runtimeCorrelationId, 48);					\
	OFFSET(type, graphNodeId, 64)

MEMCPY_LAYOUT(CUpti_ActivityMemcpy3, 72);
MEMCPY_LAYOUT(CUpti_ActivityMemcpy4, 80);
MEMCPY_LAYOUT(CUpti_ActivityMemcpy5, 88);
MEMCPY_LAYOUT(CUpti_ActivityMemcpy6, 96);
OFFSET(CUpti_ActivityMemcpy4, graphId, 72);
OFFSET(CUpti_ActivityMemcpy5, graphId, 72);
OFFSET(CUpti_ActivityMemcpy6, graphId, 72);
OFFSET(CUpti_ActivityMemcpy5, channelType, 80);
OFFSET(CUpti_ActivityMemcpy6, channelType, 80);
OFFSET(CUpti_ActivityMemcpy6, copyCount, 88);

#define PEER_LAYOUT(type, bytes_)						\
	SIZE(type, bytes_);							\
	OFFSET(type, kind, 0);							\
	OFFSET(type, copyKind, 4);						\
	OFFSET(type, flags, 7);							\
	OFFSET(type, bytes, 8);							\
	OFFSET(type, start, 16);						\
	OFFSET(type, end, 24);							\
	OFFSET(type, deviceId, 32);						\
	OFFSET(type, contextId, 36);						\
	OFFSET(type, streamId, 40);						\
	OFFSET(type, srcDeviceId, 44);						\
	OFFSET(type, srcContextId, 48);						\
	OFFSET(type, dstDeviceId, 52);						\
	OFFSET(type, dstContextId, 56);						\
	OFFSET(type, correlationId, 60)

PEER_LAYOUT(CUpti_ActivityMemcpyPtoP2, 80);
PEER_LAYOUT(CUpti_ActivityMemcpyPtoP3, 88);
PEER_LAYOUT(CUpti_ActivityMemcpyPtoP4, 96);
OFFSET(CUpti_ActivityMemcpyPtoP2, graphNodeId, 72);
OFFSET(CUpti_ActivityMemcpyPtoP3, graphNodeId, 72);
OFFSET(CUpti_ActivityMemcpyPtoP4, graphNodeId, 72);
OFFSET(CUpti_ActivityMemcpyPtoP3, graphId, 80);
OFFSET(CUpti_ActivityMemcpyPtoP4, graphId, 80);
OFFSET(CUpti_ActivityMemcpyPtoP4, channelType, 88);

#define MEMSET_LAYOUT(type, bytes_)						\
	SIZE(type, bytes_);							\
	OFFSET(type, kind, 0);							\
	OFFSET(type, value, 4);							\
	OFFSET(type, bytes, 8);							\
	OFFSET(type, start, 16);						\
	OFFSET(type, end, 24);							\
	OFFSET(type, deviceId, 32);						\
	OFFSET(type, contextId, 36);						\
	OFFSET(type, streamId, 40);						\
	OFFSET(type, correlationId, 44);					\
	OFFSET(type, flags, 48);						\
	OFFSET(type, memoryKind, 50);						\
	OFFSET(type, graphNodeId, 64)

MEMSET_LAYOUT(CUpti_ActivityMemset2, 72);
MEMSET_LAYOUT(CUpti_ActivityMemset3, 80);
MEMSET_LAYOUT(CUpti_ActivityMemset4, 88);
OFFSET(CUpti_ActivityMemset3, graphId, 72);
OFFSET(CUpti_ActivityMemset4, graphId, 72);
OFFSET(CUpti_ActivityMemset4, channelType, 80);

/* ---- other records --------------------------------------------------------------------------- */

SIZE(CUpti_ActivityAPI, 40);
OFFSET(CUpti_ActivityAPI, cbid, 4);
OFFSET(CUpti_ActivityAPI, start, 8);
OFFSET(CUpti_ActivityAPI, end, 16);
OFFSET(CUpti_ActivityAPI, processId, 24);
OFFSET(CUpti_ActivityAPI, threadId, 28);
OFFSET(CUpti_ActivityAPI, correlationId, 32);
OFFSET(CUpti_ActivityAPI, returnValue, 36);

SIZE(CUpti_ActivityDevice4, 176);
SIZE(CUpti_ActivityDevice5, 184);
OFFSET(CUpti_ActivityDevice4, id, offsetof(CUpti_ActivityDevice5, id));
OFFSET(CUpti_ActivityDevice4, uuid, offsetof(CUpti_ActivityDevice5, uuid));
OFFSET(CUpti_ActivityDevice4, name, offsetof(CUpti_ActivityDevice5, name));
OFFSET(CUpti_ActivityDevice4, migUuid, offsetof(CUpti_ActivityDevice5, migUuid));

#define MIGRATION_LAYOUT(type, bytes)						\
	SIZE(type, bytes);							\
	OFFSET(type, kind, 0);							\
	OFFSET(type, counterKind, 4);						\
	OFFSET(type, value, 8);							\
	OFFSET(type, start, 16);						\
	OFFSET(type, end, 24);							\
	OFFSET(type, address, 32);						\
	OFFSET(type, srcId, 40);						\
	OFFSET(type, dstId, 44);						\
	OFFSET(type, processId, 52);						\
	OFFSET(type, flags, 56)

MIGRATION_LAYOUT(CUpti_ActivityUnifiedMemoryCounter2, 64);
MIGRATION_LAYOUT(CUpti_ActivityUnifiedMemoryCounter3, 104);
SIZE(CUpti_ActivityUnifiedMemoryCounterConfig, 16);

/* ---- callbacks ------------------------------------------------------------------------------- */

SIZE(CUpti_CallbackData, 72);
OFFSET(CUpti_CallbackData, callbackSite, 0);
OFFSET(CUpti_CallbackData, functionName, 8);
OFFSET(CUpti_CallbackData, functionParams, 16);
OFFSET(CUpti_CallbackData, functionReturnValue, 24);
OFFSET(CUpti_CallbackData, symbolName, 32);
OFFSET(CUpti_CallbackData, context, 40);
OFFSET(CUpti_CallbackData, contextUid, 48);
OFFSET(CUpti_CallbackData, correlationData, 56);
OFFSET(CUpti_CallbackData, correlationId, 64);

SIZE(CUpti_ResourceData, 24);
OFFSET(CUpti_ResourceData, context, 0);
OFFSET(CUpti_ResourceData, resourceHandle, 8);
OFFSET(CUpti_ResourceData, resourceDescriptor, 16);

SIZE(CUpti_GraphData, 56);
OFFSET(CUpti_GraphData, graph, 0);
OFFSET(CUpti_GraphData, originalGraph, 8);
OFFSET(CUpti_GraphData, node, 16);
OFFSET(CUpti_GraphData, originalNode, 24);
OFFSET(CUpti_GraphData, nodeType, 32);
OFFSET(CUpti_GraphData, dependency, 40);
OFFSET(CUpti_GraphData, graphExec, 48);

SIZE(CUpti_ModuleResourceData, 24);
SIZE(CUpti_SynchronizeData, 16);
SIZE(CUpti_SubscriberParams, 32);

_Static_assert(CUPTI_ACTIVITY_KIND_MEMCPY == 1, "activity kinds");
_Static_assert(CUPTI_ACTIVITY_KIND_MEMSET == 2, "activity kinds");
_Static_assert(CUPTI_ACTIVITY_KIND_KERNEL == 3, "activity kinds");
_Static_assert(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL == 10, "activity kinds");
_Static_assert(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel == 307, "callback ids");
_Static_assert(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000 == 211, "callback ids");

#undef SIZE
#undef OFFSET
#undef KERNEL_LAYOUT
#undef MEMCPY_LAYOUT
#undef PEER_LAYOUT
#undef MEMSET_LAYOUT
#undef MIGRATION_LAYOUT

#endif /* TEST_SIM_LAYOUT_H */
