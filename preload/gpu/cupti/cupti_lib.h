/* SPDX-License-Identifier: MIT */
/*
 * cupti_lib.h - the CUPTI that fits the process, opened at run time
 *
 * The shim never links CUPTI: a program without CUDA must not load it, and a program with CUDA must
 * get the CUPTI that belongs to its runtime.
 */
#ifndef XPU_PRELOAD_CUPTI_H
#define XPU_PRELOAD_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

/* Buffer callbacks with one more argument, a structure that is not used here. */
typedef void (*cupti_request_v2_t)(uint8_t **, size_t *, size_t *, void *);
typedef void (*cupti_complete_v2_t)(uint8_t *, size_t, size_t, void *);

struct cupti {
	void *handle;
	uint32_t version;		/* cuptiGetVersion: 13, 14, ... 26, then 130000, ... */
	char path[4096];

	CUptiResult (*get_version)(uint32_t *);
	CUptiResult (*get_result_string)(CUptiResult, const char **);
	CUptiResult (*subscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *);
	CUptiResult (*subscribe_v2)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *,
				    CUpti_SubscriberParams *);	/* since 13.0; otherwise NULL */
	CUptiResult (*unsubscribe)(CUpti_SubscriberHandle);
	CUptiResult (*enable_callback)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain,
				       CUpti_CallbackId);
	CUptiResult (*enable_domain)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain);
	CUptiResult (*get_callback_name)(CUpti_CallbackDomain, uint32_t, const char **);
	CUptiResult (*get_graph_node_id)(CUgraphNode, uint64_t *);	/* since 11.1; otherwise
									 * NULL */
	CUptiResult (*get_context_id)(CUcontext, uint32_t *);
	CUptiResult (*get_device_id)(CUcontext, uint32_t *);	/* may be NULL */
	CUptiResult (*get_stream_id)(CUcontext, CUstream, uint8_t, uint32_t *);
	CUptiResult (*activity_enable)(CUpti_ActivityKind);
	CUptiResult (*activity_disable)(CUpti_ActivityKind);
	CUptiResult (*activity_register_callbacks)(CUpti_BuffersCallbackRequestFunc,
						   CUpti_BuffersCallbackCompleteFunc);
	CUptiResult (*activity_get_next_record)(uint8_t *, size_t, CUpti_Activity **);
	CUptiResult (*activity_get_num_dropped)(CUcontext, uint32_t, size_t *);
	CUptiResult (*activity_flush_all)(uint32_t);
	CUptiResult (*activity_set_attribute)(CUpti_ActivityAttribute, size_t *, void *);
	CUptiResult (*activity_register_timestamp)(CUpti_TimestampCallbackFunc);

	/*
	 * The shim's handle if it is one of several subscribers, which CUPTI 13.3 allows; NULL: the
	 * shim is the only subscriber. If the handle is set, the functions below replace the
	 * functions of the same name above, because CUPTI refuses to serve both kinds of functions
	 * in one process. The headers of CUPTI 13.0 do not declare the functions below.
	 */
	CUpti_SubscriberHandle among;
	bool knows_several;
	CUptiResult (*activity_register_callbacks_v2)(CUpti_SubscriberHandle, cupti_request_v2_t,
						      cupti_complete_v2_t);
	CUptiResult (*activity_enable_v2)(CUpti_SubscriberHandle, CUpti_ActivityKind, void *config);
	CUptiResult (*activity_disable_v2)(CUpti_SubscriberHandle, CUpti_ActivityKind,
					   void *config);
	CUptiResult (*activity_get_next_record_v2)(CUpti_SubscriberHandle, uint8_t *, size_t,
						   CUpti_Activity **);
	CUptiResult (*activity_get_num_dropped_v2)(CUpti_SubscriberHandle, CUcontext, uint32_t,
						   size_t *);
	CUptiResult (*activity_set_attribute_v2)(CUpti_SubscriberHandle, CUpti_ActivityAttribute,
						 size_t *, void *);
	CUptiResult (*get_timestamp_v2)(CUpti_SubscriberHandle, uint64_t *);
};

/* Parameters of cuptiSubscribe_v2(), as declared in 13.3. */
struct cupti_subscriber_params {
	CUpti_SubscriberParams params;
	uint8_t allow_several, padding[7];
};

/**
 * cupti__open - find and open the CUPTI of this process
 * @c: filled in; zeroed by the caller
 * @why: on failure, filled in with one line that says which files were searched for; at most @len
 *	bytes
 *
 * Searches for a CUPTI that is already loaded, then next to the mapped libcudart (toolkit or pip
 * layout), then where the dynamic loader searches, then in CUDA_HOME and the usual toolkit
 * directories. XPUSHIM_CUPTI in the environment names a file instead.
 *
 * Return: 0; -ENOENT if there is no CUPTI; -ENOSYS if it lacks a needed function.
 */
int cupti__open(struct cupti *c, char *why, size_t len);

/* Return: the function @name of a CUPTI that this process has loaded already, or NULL. */
void *cupti__loaded_symbol(const char *name);

/**
 * cupti__join - subscribe alongside other subscribers
 * @subscriber: the result, also stored in c->among
 *
 * Return: CUPTI_SUCCESS; an error if this CUPTI allows only one subscriber, or if the first
 * subscriber allows no others.
 */
CUptiResult cupti__join(struct cupti *c, CUpti_SubscriberHandle *subscriber,
			CUpti_CallbackFunc callback);

/* Call the functions of CUPTI for a sole subscriber, or those for one of several subscribers. */
CUptiResult cupti__enable(const struct cupti *c, CUpti_ActivityKind kind, bool on);
CUptiResult cupti__next_record(const struct cupti *c, uint8_t *buffer, size_t bytes,
			       CUpti_Activity **record);
CUptiResult cupti__num_dropped(const struct cupti *c, CUcontext context, uint32_t stream,
			       size_t *nr);
CUptiResult cupti__set_attribute(const struct cupti *c, CUpti_ActivityAttribute attribute,
				 size_t *size, void *value);

/* Return: CUPTI's text for @err; never NULL. */
const char *cupti__strerror(const struct cupti *c, CUptiResult err);

#endif /* XPU_PRELOAD_CUPTI_H */
