/* SPDX-License-Identifier: MIT */
/*
 * toy.h - an invented runtime to test vendor.h: streams, kernels that sleep, a clock
 *
 * At its first use, the runtime calls ToyInjection() if a library in the process has this function.
 * The function may set a tracer.
 */
#ifndef TEST_VENDOR_TOY_H
#define TEST_VENDOR_TOY_H

#include <stdbool.h>
#include <stdint.h>

struct toy_stream;

/* Streams are never freed. */
struct toy_stream *toy_stream_new(void);

/* Launches a kernel that takes @ns, after the earlier kernels in its stream. */
void toy_launch(struct toy_stream *s, const char *kernel, uint64_t ns);

/* Waits until the stream is idle. */
void toy_wait(struct toy_stream *s);

/* Return: the time since the runtime's first use, in ticks of 100 ns */
uint64_t toy_clock(void);

enum toy_call { TOY_LAUNCH = 1, TOY_WAIT };

struct toy_tracer {
	/*
	 * Reports that a call begins or ends, on the thread that makes the call. @id: ID of the
	 * launch, unique in the process
	 */
	void (*begins)(enum toy_call call, uint32_t stream, uint32_t id);
	void (*ends)(enum toy_call call, uint32_t stream, uint32_t id);
	/*
	 * Reports that a kernel has ended, on a thread of the runtime. Timestamps are in ticks of
	 * toy_clock().
	 */
	void (*done)(uint32_t stream, uint32_t id, const char *kernel, uint64_t begin,
		     uint64_t end);
};

/* Sets the tracer; NULL removes it. */
void toy_trace(const struct toy_tracer *tracer);

#endif /* TEST_VENDOR_TOY_H */
