/* SPDX-License-Identifier: MIT */
/*
 * receiver.h - how each kind of receiver takes a profile
 *
 * Sources: Pyroscope's documentation, "Server HTTP API", POST /ingest; OTLP 1.7, "OTLP/HTTP", with
 * third_party/opentelemetry-proto; parca, proto/parca/profilestore/v1alpha1/profilestore.proto, WriteRaw,
 * which its gateway serves as POST /profiles/writeraw with JSON.
 */
#ifndef PUSH_RECEIVER_H
#define PUSH_RECEIVER_H

#include <stdint.h>

#include "http.h"
#include "push_url.h"

struct receiver {
	struct push_url url;
	struct http *http;
	const char *labels;		/* "key=value,key=value", or "" */
	char host[256];
};

/* A profile of a time: a gzipped pprof of one kind, or an OTLP request. */
struct profile {
	char kind[32];			/* "gpu_kernel_time" ... */
	uint64_t start_ns, end_ns;	/* CLOCK_REALTIME */
	uint8_t *data;
	size_t bytes;
};

enum receiver_verdict {
	RECEIVER_TOOK,
	RECEIVER_REFUSED,		/* and always will */
	RECEIVER_FAILED,		/* it may take it later */
};

/* Sends a profile. @why: why it was not taken, 256 bytes; unchanged if it was */
enum receiver_verdict receiver__send(struct receiver *r, const struct profile *p, long timeout_ms,
				     char *why);

#endif /* PUSH_RECEIVER_H */
