// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Each memory allocation of each importer fails in turn. No importer crashes. Each importer makes
 * the right recording, or returns -ENOMEM without a recording.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/importer.h"
#include "oom.h"
#include "tap.h"

#ifdef OOM_CANNOT

int main(void)
{
	skip_all("a sanitizer has the allocator");
}

#else

/* @args: more members, each after a comma */
#define EVENT(phase, category, name, thread, ts, args)						\
	"{\"ph\": \"" phase "\", \"cat\": \"" category "\", \"name\": \"" name "\", " thread	\
	", \"ts\": " ts args "}"
#define HOST	"\"pid\": 5, \"tid\": 5"
#define DEVICE	"\"pid\": 0, \"tid\": 7"

static const char trace[] =
	"{\"deviceProperties\": [{\"id\": 0, \"name\": \"Simulated\"}],\n"
	"\"distributedInfo\": {\"rank\": 1}, \"traceEvents\": [\n"
	EVENT("X", "cpu_op", "aten::mm", HOST, "10", ", \"dur\": 50") ",\n"
	EVENT("X", "python_function", "nn.Module: Linear_0", HOST, "5",
	      ", \"dur\": 90, \"args\": {\"Python id\": 1}") ",\n"
	EVENT("X", "user_annotation", "ProfilerStep#1", HOST, "1", ", \"dur\": 99") ",\n"
	EVENT("X", "cuda_runtime", "cudaLaunchKernel", HOST, "20",
	      ", \"dur\": 3, \"args\": {\"correlation\": 7}") ",\n"
	EVENT("X", "kernel", "gemm", DEVICE, "30",
	      ", \"dur\": 9, \"args\": {\"correlation\": 7, \"device\": 0, \"stream\": 7}") ",\n"
	EVENT("B", "gpu_memcpy", "Memcpy HtoD", DEVICE, "50", "") ",\n"
	"{\"ph\": \"E\", " DEVICE ", \"ts\": 52}\n]}\n";

#define AMD(operation, id, more)								\
	"{\"kind\": 0, \"operation\": " operation ", \"correlation_id\": {\"internal\": " id	\
	"}, \"start_timestamp\": 1" id "0, \"end_timestamp\": 1" id "5, \"thread_id\": 5" more "}"

static const char amd[] =
	"{\"rocprofiler-sdk-tool\": {\"metadata\": {\"pid\": 5, \"command\": [\"/bin/app\"]},\n"
	"\"agents\": [{\"id\": {\"handle\": 7}, \"type\": 2, \"name\": \"gfx942\"}],\n"
	"\"strings\": {\"buffer_records\": [{\"kind\": \"A\", \"operations\": "
	"[\"hipMalloc\", \"hipFree\", \"ALLOCATE\", \"FREE\"]}]},\n"
	"\"buffer_records\": {\"hip_api\": [" AMD("0", "1", "") "," AMD("1", "2", "") "],\n"
	"\"memory_allocation\": ["
	AMD("2", "1", ", \"agent_id\": {\"handle\": 7}, \"address\": \"0x1f\", "
	    "\"allocation_size\": 64")
	"," AMD("3", "2", ", \"address\": \"0x1f\"") "]}}}\n";

static const char stacks[] =
	"1000 app 5 5 0 main;site_0;cudaLaunchKernel\n"
	"20100 app 5 5 0 main;site_1;cudaLaunchKernel\n"
	"90200 app 5 5 0 main;site_1;cudaLaunchKernel\n";

static const char samples[] =
	"app     5/5     0.000010:    1000000 cpu-clock:u:\n"
	"\t    1010 work+0x10 (/bin/app)\n\t    1020 main+0x20 (/bin/app)\n\n"
	"app     5/6     0.000020:    1000000 cpu-clock:u:\n"
	"\t    1010 work+0x10 (/bin/app)\n\n";

static void save(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (!f || fputs(text, f) < 0 || fclose(f))
		bail("%s cannot be written", path);
}

/* Imports @files. Return: the size of the recording, which is copied to @buf, or -errno. */
static long import(const struct import_opts *files, char *buf, size_t size)
{
	struct importer im = { .opts = *files };
	struct msgs msgs = { 0 };
	struct reader r;
	long ret;

	ret = importer__open(&im, &r, NULL, &msgs);
	if (!ret) {
		ret = im.import.records.nr;
		if ((size_t)ret > size)
			bail("the recording has %ld bytes", ret);
		memcpy(buf, im.import.records.v, ret);
	}
	importer__close(&im);
	msgs__free(&msgs);
	return ret;
}

/*
 * Makes each allocation of the import of @files fail, first alone, then together with all later
 * allocations.
 */
static void run_out(const char *what, const struct import_opts *files)
{
	static char right[1 << 20], got[1 << 20];
	unsigned long total, n, nr_failed = 0, nr_odd = 0, nr_wrong = 0;
	long bytes, ret;
	int all;

	nr_allocations = 0;
	bytes = import(files, right, sizeof(right));
	total = nr_allocations;
	if (!ok(bytes > 400, "%s: %ld bytes, %lu allocations", what, bytes, total))
		return;
	for (all = 0; all < 2; all++)
		for (n = 1; n <= total; n++) {
			nr_allocations = 0;
			fail_from = n;
			fail_to = all ? ULONG_MAX : n + 1;
			ret = import(files, got, sizeof(got));
			fail_from = fail_to = 0;
			nr_failed += ret == -ENOMEM;
			nr_odd += ret < 0 && ret != -ENOMEM;
			nr_wrong += ret >= 0 && (ret != bytes || memcmp(got, right, bytes));
		}
	is_int(nr_odd, 0, "%s: each failing allocation is reported as -ENOMEM", what);
	is_int(nr_wrong, 0, "%s: no failing allocation changes the recording", what);
	ok(nr_failed > total / 2,
	   "%s: with a failing allocation, %lu of %lu imports give up", what, nr_failed, 2 * total);
	is_int(import(files, got, sizeof(got)), bytes,
	       "%s: the import succeeds again with enough memory", what);
}

int main(void)
{
	const char *src = getenv("XPU_SRC");
	char nsys[PATH_MAX], rocpd[PATH_MAX];

	if (!src)
		bail("XPU_SRC is not set");
	snprintf(nsys, sizeof(nsys), "%s/test/fuzz/corpus/fuzz_nsys/all", src);
	snprintf(rocpd, sizeof(rocpd), "%s/test/fuzz/corpus/fuzz_trace/rocpd", src);
	save("trace.json", trace);
	save("stacks.txt", stacks);
	save("samples.txt", samples);
	run_out("a trace", &(struct import_opts){ .gpu = "trace.json" });
	run_out("two files", &(struct import_opts){ .cpu = "stacks.txt", .gpu = "trace.json" });
	run_out("samples", &(struct import_opts){ .cpu = "samples.txt" });
	run_out("samples and a trace",
		&(struct import_opts){ .cpu = "samples.txt", .gpu = "trace.json" });
	run_out("an export of Nsight Systems", &(struct import_opts){ .nsys = nsys });
	run_out("a database of rocprofv3", &(struct import_opts){ .gpu = rocpd });
	save("amd.json", amd);
	run_out("memory in JSON of rocprofv3", &(struct import_opts){ .gpu = "amd.json" });
	return done_testing();
}

#endif
