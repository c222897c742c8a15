/* SPDX-License-Identifier: MIT */
/*
 * receiver.h - sends a profile in the form that each kind of receiver needs
 *
 * Sources: for Pyroscope, "Server HTTP API", POST /ingest; for OpenTelemetry, OTLP 1.7,
 * "OTLP/HTTP", and third_party/opentelemetry-proto; for Parca, WriteRaw in
 * proto/parca/profilestore/v1alpha1/profilestore.proto. Parca's gateway serves WriteRaw as POST
 * /profiles/writeraw with JSON.
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

/* A profile of a period: a gzipped pprof of one kind, or a request in OTLP. */
struct profile {
	char kind[32];			/* the kind's name: "gpu_kernel_time" ... */
	uint64_t start_ns, end_ns;	/* CLOCK_REALTIME */
	uint8_t *data;
	size_t bytes;
};

enum receiver_verdict {
	RECEIVER_TOOK,
	RECEIVER_REFUSED,		/* the receiver refused the profile: do not send it again */
	RECEIVER_FAILED,		/* sending failed: the receiver may accept the profile
					 * later */
};

/*
 * Sends a profile. @why: 256 bytes. If the profile is not accepted, they are set to the reason;
 * otherwise they do not change.
 */
enum receiver_verdict receiver__send(struct receiver *r, const struct profile *p, long timeout_ms,
				     char *why);

#endif /* PUSH_RECEIVER_H */
