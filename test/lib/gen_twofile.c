// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * gen_twofile CPU GPU [KEY=VALUE...] - makes a recording in two files, as older tools leave it
 *
 * Function site_i makes launch i, whose kernel is kernel_i and takes i + 1 ns on the device. So the
 * merged stacks show whether a match is right. Keys: nr, threads, gap, fixed, burst, jitter, spread
 * (us), lost, lost_calls (shares), offset (ms), drift (ppm), quantum (ns), tids (same, other, pid),
 * format (chrome, array, lines, text), sites (number of call paths), comm (thread name), driver
 * (adds driver calls).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "gen_launches.h"

struct twofile_opts {
	struct gen_launches gen;
	uint32_t nr_sites;
	const char *format, *comm;
	bool driver;
};

static void opts__set(struct twofile_opts *o, const char *key, const char *value)
{
	const struct {
		const char *key;
		double *value;
	} doubles[] = {
		{ "gap", &o->gen.gap_us }, { "fixed", &o->gen.fixed },
		{ "jitter", &o->gen.jitter_us }, { "spread", &o->gen.spread_us },
		{ "lost", &o->gen.lost_stacks }, { "lost_calls", &o->gen.lost_launches },
		{ "offset", &o->gen.offset_ms }, { "drift", &o->gen.drift_ppm },
		{ "quantum", &o->gen.quantum_ns },
	};
	const struct {
		const char *key;
		uint32_t *value;
	} numbers[] = {
		{ "nr", &o->gen.nr }, { "threads", &o->gen.nr_threads },
		{ "burst", &o->gen.burst }, { "sites", &o->nr_sites },
	};
	size_t i;

	for (i = 0; i < sizeof(doubles) / sizeof(*doubles); i++)
		if (!strcmp(key, doubles[i].key)) {
			*doubles[i].value = atof(value);
			return;
		}
	for (i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (!strcmp(key, numbers[i].key)) {
			*numbers[i].value = atoi(value);
			return;
		}
	if (!strcmp(key, "tids")) {
		o->gen.tids = !strcmp(value, "pid") ? TIDS_PID :
			      !strcmp(value, "other") ? TIDS_OTHER : TIDS_SAME;
	} else if (!strcmp(key, "format")) {
		o->format = value;
	} else if (!strcmp(key, "comm")) {
		o->comm = value;
	} else if (!strcmp(key, "driver")) {
		o->driver = atoi(value);
	} else {
		fprintf(stderr, "gen_twofile: unknown key %s\n", key);
		exit(2);
	}
}

static void write_chrome(FILE *f, const struct twofile_opts *o, const struct gen_event *e,
			 uint32_t id, bool first)
{
	uint64_t tid = gen_gpu_tid(&o->gen, e->thread), start = e->time_ns + 5000;
	uint32_t site = e->launch % o->nr_sites;

	fprintf(f, "%s{\"name\":\"Runtime: cudaLaunchKernel_v7000\",\"ph\":\"X\",\"ts\":%" PRIu64
		".%03u,\"dur\":1.500,\"tid\":%" PRIu64 ",\"pid\":1000,\"cat\":\"CUDA_Runtime\","
		"\"args\":{\"cbid\":\"211\",\"correlationId\":%u}},\n", first ? "" : ",\n",
		e->time_ns / 1000, (unsigned int)(e->time_ns % 1000), tid, id);
	if (o->driver)
		fprintf(f,
			"{\"name\":\"Driver: cuLaunchKernel\",\"ph\":\"X\",\"ts\":%" PRIu64
			".%03u,\"dur\":1.000,\"tid\":%" PRIu64 ",\"pid\":1000,\"cat\":"
			"\"CUDA_Driver\",\"args\":{\"correlationId\":%u}},\n",
			(e->time_ns + 200) / 1000, (unsigned int)((e->time_ns + 200) % 1000), tid,
			id);
	fprintf(f, "{\"name\":\"Kernel: kernel_%u\",\"ph\":\"X\",\"ts\":%" PRIu64 ".%03u,\"dur\":"
		"%u.%03u,\"cat\":\"GPU_Kernel\",\"args\":{\"correlationId\":%u,\"deviceId\":0,"
		"\"contextId\":1,\"streamId\":7},\"tid\":\"GPU0_Stream7\",\"pid\":\"Device_0\"}",
		site, start / 1000, (unsigned int)(start % 1000), (site + 1) / 1000,
		(site + 1) % 1000, id);
}

static void write_lines(FILE *f, const struct twofile_opts *o, const struct gen_event *e,
			uint32_t id)
{
	uint32_t site = e->launch % o->nr_sites;
	uint64_t start = e->time_ns + 5000;

	fprintf(f,
		"{\"type\":\"RUNTIME\",\"start\":%" PRIu64 ",\"end\":%" PRIu64 ",\"duration\":1500,"
		"\"name\":\"cudaLaunchKernel_v7000\",\"correlationId\":%u,\"processId\":1000,"
		"\"threadId\":%" PRIu64 "}\n",
		e->time_ns, e->time_ns + GEN_CALL_NS, id, gen_gpu_tid(&o->gen, e->thread));
	fprintf(f, "{\"type\":\"CONCURRENT_KERNEL\",\"start\":%" PRIu64 ",\"end\":%" PRIu64
		",\"duration\":%u,\"name\":\"kernel_%u\",\"correlationId\":%u,\"grid\":[1,1,1],"
		"\"block\":[32,1,1],\"sharedMemory\":{\"static\":0,\"dynamic\":0},\"deviceId\":0,"
		"\"streamId\":7}\n", start, start + site + 1, site + 1, site, id);
}

static void write_text(FILE *f, const struct twofile_opts *o, const struct gen_event *e,
		       uint32_t id)
{
	uint32_t site = e->launch % o->nr_sites;
	uint64_t start = e->time_ns + 5000;

	fprintf(f,
		"RUNTIME [ %" PRIu64 ", %" PRIu64 " ] duration 1500, \"cudaLaunchKernel_v7000\", "
		"cbid 211, processId 1000, threadId %" PRIu64 ", correlationId %u\n",
		e->time_ns, e->time_ns + GEN_CALL_NS, gen_gpu_tid(&o->gen, e->thread), id);
	fprintf(f, "CONCURRENT_KERNEL [ %" PRIu64 ", %" PRIu64 " ] duration %u, \"kernel_%u\", "
		"correlationId %u, cacheConfigRequested 0, cacheConfigExecuted 0\n"
		"\tgrid [ 1, 1, 1 ], block [ 32, 1, 1 ], cluster [ 0, 0, 0 ], sharedMemory (static "
		"0, dynamic 0)\n\tdeviceId 0, contextId 1, streamId 7, graphId 0, graphNodeId 0, "
		"channelId 8, channelType ASYNC_MEMCPY\n", start, start + site + 1, site + 1, site,
		id);
}

static void write_stack(FILE *f, const struct twofile_opts *o, const struct gen_event *e)
{
	uint32_t site = e->launch % o->nr_sites;

	fprintf(f, "%" PRIu64 " %s 1000 %" PRIu64 " %u main;train(int, char const*);site_%u;"
		"cudaLaunchKernel\n", e->time_ns, o->comm, gen_cpu_tid(&o->gen, e->thread),
		e->thread % 4, site);
}

int main(int argc, char **argv)
{
	struct twofile_opts o = {
		.gen = { .nr = 1000, .nr_threads = 1, .gap_us = 30, .fixed = 0.02, .jitter_us = 3,
			 .offset_ms = 370, .base_ns = 1700000000000000000ull },
		.format = "chrome", .comm = "app",
	};
	struct gen_seen seen;
	FILE *cpu, *gpu;
	uint32_t i;
	int n;

	if (argc < 3) {
		fputs("usage: gen_twofile CPU GPU [KEY=VALUE...]\n", stderr);
		return 2;
	}
	for (n = 3; n < argc; n++) {
		char *value = strchr(argv[n], '=');

		if (!value)
			return 2;
		*value = 0;
		opts__set(&o, argv[n], value + 1);
	}
	if (!o.nr_sites)
		o.nr_sites = o.gen.nr;
	/* Drift accumulates since 1970, so with drift the timestamps begin soon after 1970. */
	if (o.gen.drift_ppm)
		o.gen.base_ns = 17000000000000ull;
	gen_launches__run(&o.gen, &seen);
	cpu = fopen(argv[1], "w");
	gpu = fopen(argv[2], "w");
	if (!cpu || !gpu) {
		perror("gen_twofile");
		return 2;
	}
	for (i = 0; i < seen.nr_stacks; i++)
		write_stack(cpu, &o, &seen.stacks[i]);
	if (!strcmp(o.format, "chrome"))
		fputs("{\"traceEvents\": [\n", gpu);
	if (!strcmp(o.format, "array"))
		fputs("[\n", gpu);
	for (i = 0; i < seen.nr_calls; i++) {
		if (!strcmp(o.format, "lines"))
			write_lines(gpu, &o, &seen.calls[i], i + 1);
		else if (!strcmp(o.format, "text"))
			write_text(gpu, &o, &seen.calls[i], i + 1);
		else
			write_chrome(gpu, &o, &seen.calls[i], i + 1, !i);
	}
	if (!strcmp(o.format, "chrome"))
		fputs("\n], \"displayTimeUnit\": \"ms\"}\n", gpu);
	if (!strcmp(o.format, "array"))
		fputs("\n]\n", gpu);
	printf("launches %u calls %u stacks %u\n", o.gen.nr, seen.nr_calls, seen.nr_stacks);
	gen_seen__free(&seen);
	return fclose(cpu) || fclose(gpu);
}
