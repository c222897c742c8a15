/* SPDX-License-Identifier: MIT */
/*
 * toy.h - an invented runtime for the test of vendor.h: streams, kernels that sleep, a clock
 *
 * At its first use, the runtime calls the function ToyInjection() if a library of the process has
 * it. That function may set a tracer.
 */
#ifndef TEST_VENDOR_TOY_H
#define TEST_VENDOR_TOY_H

#include <stdbool.h>
#include <stdint.h>

struct toy_stream;

/* Streams are never freed. */
struct toy_stream *toy_stream_new(void);

/* Runs a kernel that takes @ns, after the earlier ones of its stream. */
void toy_launch(struct toy_stream *s, const char *kernel, uint64_t ns);

/* Waits until the stream is idle. */
void toy_wait(struct toy_stream *s);

/* Return: the time in ticks of 100 ns, since the runtime was first used. */
uint64_t toy_clock(void);

enum toy_call { TOY_LAUNCH = 1, TOY_WAIT };

struct toy_tracer {
	/* A call begins and ends, on its thread. @id: of the launch; unique in the process */
	void (*begins)(enum toy_call call, uint32_t stream, uint32_t id);
	void (*ends)(enum toy_call call, uint32_t stream, uint32_t id);
	/* A kernel has ended; on a thread of the runtime. Times are in ticks of toy_clock(). */
	void (*done)(uint32_t stream, uint32_t id, const char *kernel, uint64_t begin,
		     uint64_t end);
};

/* Sets the tracer; NULL: none. */
void toy_trace(const struct toy_tracer *tracer);

#endif /* TEST_VENDOR_TOY_H */
