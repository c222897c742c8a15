// SPDX-License-Identifier: MIT
#include "wire/work.h"

/* Sets the times of a packed record. Return: the record's misc. */
static uint16_t pack_times(const struct gpu_work *w, __u64 *start_ns, __u64 *duration_ns)
{
	if ((w->start || w->may_be_unfinished) && !w->end) {
		wire__counters.nr_unfinished++;
	} else if (!w->start || w->end < w->start) {
		wire__counters.nr_bad_times++;
	} else {
		*start_ns = w->start + w->shift_ns;
		*duration_ns = w->end - w->start;
		return 0;
	}
	*start_ns = 0;
	*duration_ns = 0;
	return XPU_MISC_BAD_TIME;
}

static void pack_kernel(const struct gpu_work *w)
{
	uint64_t node = w->graph_node_id;
	struct xpu_record_kernel *r;

	r = wire__reserve(XPU_RECORD_KERNEL, node ? XPU_MISC_GRAPH_NODE : 0,
			  sizeof(*r) + (node ? sizeof(node) : 0));
	r->hdr.misc |= XPU_WITH_API(w->api, pack_times(w, &r->start_ns, &r->duration_ns));
	r->correlation_id = w->correlation_id;
	r->name = w->name;
	r->stream = w->stream;
	if (node) {
		r->graph_id = w->graph_id;
		r->graph_node_id[0] = node;
	}
	wire__counters.nr_kernels++;
}

static void pack_memory(const struct gpu_work *w)
{
	uint64_t node = w->graph_node_id;
	struct xpu_record_memory *r;

	r = wire__reserve(w->type, node ? XPU_MISC_GRAPH_NODE : 0,
			  sizeof(*r) + (node ? sizeof(node) : 0));
	r->hdr.misc |= XPU_WITH_API(w->api, pack_times(w, &r->start_ns, &r->duration_ns));
	r->correlation_id = w->correlation_id;
	r->stream = w->stream;
	r->bytes = w->bytes;
	r->is_async = w->is_async;
	r->copy_kind = w->copy_kind;
	r->src_kind = w->src_kind;
	r->dst_kind = w->dst_kind;
	if (node) {
		r->graph_id = w->graph_id;
		r->graph_node_id[0] = node;
	}
	if (w->type == XPU_RECORD_MEMSET)
		wire__counters.nr_memsets++;
	else
		wire__counters.nr_memcpys++;
}

void wire__work(const struct gpu_work *w)
{
	if (w->type == XPU_RECORD_KERNEL)
		pack_kernel(w);
	else
		pack_memory(w);
}
