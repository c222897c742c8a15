// SPDX-License-Identifier: GPL-3.0-or-later
/* Call paths: which frames are shown, how they are named, and where CUDA begins. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/callchain.h"
#include "gen.h"
#include "tap.h"

#define FUNC	ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)

/* Where each file is mapped: the mapping is the file's code, from file offset 0x1000. */
enum { APP = 0x100000, CUDART = 0x200000, CUDA = 0x300000, CUPTI = 0x400000, SHIM = 0x500000,
       LIB = 0x600000, MISSING = 0x700000, ANON = 0x800000, NOWHERE = 0x900000 };

/* Each function has 0x100 bytes; IN() is a return address in the middle of a function. */
#define IN(file, function)	((file) + 0x100 * (function) + 0x20)

static const struct gen_symbol app[] = {
	{ "_start", 0x1000, 0x100, FUNC }, { "main", 0x1100, 0x100, FUNC },
	{ "_Z4stepP3Net", 0x1200, 0x100, FUNC }, { "launcher", 0x1300, 0x100, FUNC },
	/* Symbols of a statically linked runtime. */
	{ "cudaLaunchKernel", 0x1400, 0x100, FUNC }, { "__cudart123", 0x1500, 0x100, FUNC },
	{ "libcudart_static_4711", 0x1600, 0x100, FUNC },
	/* Functions with names similar to the runtime's functions. */
	{ "cudaCheck", 0x1700, 0x100, FUNC }, { "cudaLaunchAll", 0x1800, 0x100, FUNC },
	{ "_Z16cudaLaunchKernelIfEvPT_", 0x1900, 0x100, FUNC },
};

enum { START, MAIN, STEP, LAUNCHER, STATIC_API, STATIC_CUDART, STATIC_INNER, CHECK, LAUNCH_ALL,
       CXX_API };

static const struct gen_symbol cudart[] = {
	{ "cudaLaunchKernel", 0x1000, 0x100, FUNC }, { "inner_cudart", 0x1100, 0x100, FUNC },
	{ "__cudaLaunchKernel", 0x1200, 0x100, FUNC },
};

static const struct gen_symbol cuda[] = {
	{ "cuLaunchKernel", 0x1000, 0x100, FUNC }, { "inner_cuda", 0x1100, 0x100, FUNC },
	{ "curious", 0x1200, 0x100, FUNC },
};

static const struct gen_symbol shim[] = {
	{ "xpu_launch", 0x1000, 0x100, FUNC }, { "on_callback", 0x1100, 0x100, FUNC },
};

static const struct gen_symbol lib[] = {
	{ "first", 0x1000, 0x100, FUNC }, { "second", 0x1100, 0x100, FUNC },
};

static struct strpool strings;
static struct machine machine;
static struct dsos dsos;
static struct gen events;

static void add_file(const char *name, uint64_t start, const struct gen_symbol *symbols, size_t nr)
{
	struct gen g = { 0 };
	char path[512], cwd[256];

	snprintf(path, sizeof(path), "%s/%s", getcwd(cwd, sizeof(cwd)), name);
	if (symbols) {
		gen__elf(&g, symbols, nr, NULL, 0);
		if (gen__save(&g, path))
			bail("%s cannot be written", path);
		gen__free(&g);
	}
	gen__mmap(&events, 1, 1, start, 0x1000, 0x1000, path, NULL, 0);
}

static void setup(void)
{
	const struct xpu_record *rec;
	size_t at;

	add_file("app", APP, app, ARRAY_SIZE(app));
	add_file("libcudart.so.13", CUDART, cudart, ARRAY_SIZE(cudart));
	add_file("libcuda.so.580", CUDA, cuda, ARRAY_SIZE(cuda));
	add_file("libcupti.so.13", CUPTI, NULL, 0);
	add_file("libxpushim.so", SHIM, shim, ARRAY_SIZE(shim));
	add_file("libx.so", LIB, lib, ARRAY_SIZE(lib));
	add_file("libmissing.so", MISSING, NULL, 0);
	gen__mmap(&events, 1, 1, ANON, 0x1000, ANON, "//anon", NULL, 0);
	machine__init(&machine, &strings);
	dsos__init(&dsos, &strings);
	for (at = 0; at < events.nr; at += rec->size) {
		rec = (const void *)(events.v + at);
		machine__add_event(&machine, rec);
	}
	if (machine__finish(&machine))
		bail("out of memory");
}

/*
 * Resolves a chain, which begins with the innermost frame and ends with 0. Return: its text, root
 * first.
 */
static const char *resolve(struct callchains *c, uint16_t flags, const uint64_t *frames)
{
	static char text[1024];
	const struct stack *stack;
	struct gen g = { 0 };
	size_t nr = 0, len = 0;
	uint32_t i;

	while (frames[nr])
		nr++;
	gen__callchain(&g, flags, 1, 1, 1, 1, 307, frames, nr);
	stack = callchains__resolve(c, (void *)g.v, machine__image(&machine, 1, 1), 0, "cuApi");
	if (!stack)
		bail("out of memory");
	for (i = 0; i < stack->nr; i++)
		len += snprintf(text + len, sizeof(text) - len, "%s%s", i ? ";" : "",
				stack->frames[i]->name);
	gen__free(&g);
	return text;
}

#define CHAIN(...)	((const uint64_t[]){ __VA_ARGS__, 0 })

/* The frames between the probe's own address and the runtime. */
#define BELOW_CUDART	SHIM, IN(SHIM, 1), IN(CUPTI, 5), IN(CUDA, 1), IN(CUDA, 0), IN(CUDART, 1)

static void test_trim(void)
{
	struct callchains c;

	callchains__init(&c, &dsos, &strings, true);
	is_str(resolve(&c, 0, CHAIN(BELOW_CUDART, IN(CUDART, 0), IN(APP, STEP), IN(APP, MAIN),
				    IN(APP, START))),
	       "_start;main;step(Net*);cudaLaunchKernel",
	       "a call of the runtime API is named as it was called");
	is_str(resolve(&c, 0, CHAIN(BELOW_CUDART, IN(CUDART, 2), IN(APP, MAIN))),
	       "main;__cudaLaunchKernel",
	       "a call of the runtime's CUDA 13 entry is named as it was called");
	is_str(resolve(&c, 0, CHAIN(SHIM, IN(CUPTI, 5), IN(CUDA, 1), IN(CUDA, 0), IN(APP, MAIN))),
	       "main;cuLaunchKernel", "a call of the driver API is named as it was called");
	is_str(resolve(&c, 0, CHAIN(SHIM, IN(CUPTI, 5), IN(CUDA, 1), IN(APP, MAIN))),
	       "main;cuApi",
	       "an outermost CUDA frame that is not an API function is named by the callback id");
	is_str(resolve(&c, 0, CHAIN(SHIM, IN(CUPTI, 5), IN(CUDA, 2), IN(APP, MAIN))),
	       "main;cuApi",
	       "a function whose name only begins with cu is named by the callback id");
	is_str(resolve(&c, 0, CHAIN(BELOW_CUDART, IN(LIB, 1), IN(APP, MAIN))),
	       "main;second;cuApi", "an inner function of the runtime is named by the callback id");
	is_str(resolve(&c, 0, CHAIN(BELOW_CUDART, IN(CUDART, 0), IN(LIB, 0), IN(CUDART, 1),
				    IN(APP, MAIN))),
	       "main;inner_cudart;first;cudaLaunchKernel",
	       "a CUDA frame outside the program's own frames stays");
	is_str(resolve(&c, 0, CHAIN(IN(APP, STEP), IN(APP, MAIN))), "main;step(Net*);cuApi",
	       "a chain without CUDA frames is not trimmed");
	is_str(resolve(&c, 0, CHAIN(SHIM, IN(CUDA, 1))), "cuApi",
	       "a chain of CUDA frames only is just the API call");
	callchains__exit(&c);
}

static void test_static(void)
{
	struct callchains c;

	callchains__init(&c, &dsos, &strings, true);
	is_str(resolve(&c, 0, CHAIN(SHIM, IN(CUDA, 0), IN(APP, STATIC_INNER),
				    IN(APP, STATIC_CUDART), IN(APP, STATIC_API), IN(APP, STEP))),
	       "step(Net*);cudaLaunchKernel",
	       "a statically linked runtime is trimmed up to its API function");
	is_str(resolve(&c, 0, CHAIN(SHIM, IN(CUDA, 0), IN(APP, STATIC_INNER), IN(APP, STEP))),
	       "step(Net*);cuApi",
	       "a statically linked runtime without its API function is named by the callback id");
	is_str(resolve(&c, 0, CHAIN(SHIM, IN(CUDA, 0), IN(APP, CHECK), IN(APP, STEP))),
	       "step(Net*);cudaCheck;cuLaunchKernel", "the program's own cudaCheck() stays");
	is_str(resolve(&c, 0, CHAIN(SHIM, IN(CUDA, 0), IN(APP, CXX_API), IN(APP, STEP))),
	       "step(Net*);void cudaLaunchKernel<float>(float*);cuLaunchKernel",
	       "a C++ wrapper of an API function is the program's own frame");
	is_str(resolve(&c, 0, CHAIN(BELOW_CUDART, IN(CUDART, 0), IN(APP, LAUNCH_ALL),
				    IN(APP, STEP))),
	       "step(Net*);cudaLaunchAll;cudaLaunchKernel",
	       "outside of the dynamic runtime no frame is taken for a static runtime");
	is_str(resolve(&c, 0, CHAIN(IN(APP, STATIC_API), IN(APP, STEP))),
	       "step(Net*);cudaLaunchKernel;cuApi",
	"frames of API functions that are not next to CUDA's frames stay");
	callchains__exit(&c);
}

static void test_return_addresses(void)
{
	struct callchains c;

	/* A call in the last bytes of a function returns to the start of the next function. */
	callchains__init(&c, &dsos, &strings, true);
	is_str(resolve(&c, 0, CHAIN(SHIM, LIB + 0x100, APP + 0x200)), "main;first;cuApi",
	       "return addresses are looked up one byte earlier");
	is_str(resolve(&c, 0, CHAIN(LIB + 0x100, APP + 0x200)), "main;second;cuApi",
	       "the probe's own address is looked up as it is");
	is_str(resolve(&c, XPU_CHAIN_SHIM, CHAIN(LIB + 0x100, APP + 0x200)), "main;first;cuApi",
	       "in a chain unwound by the shim all addresses are return addresses");
	callchains__exit(&c);
}

static void test_unnamed(void)
{
	struct callchains c;

	callchains__init(&c, &dsos, &strings, true);
	is_str(resolve(&c, 0, CHAIN(SHIM, MISSING + 0x235, IN(APP, MAIN))),
	       "main;libmissing.so+0x1234;cuApi",
	       "a frame in a missing file has the file's name and offset");
	is_str(resolve(&c, 0, CHAIN(SHIM, LIB + 0xf01, IN(APP, MAIN))),
	       "main;libx.so+0x1f00;cuApi",
	       "a frame without a symbol has the file's name and offset");
	is_str(resolve(&c, 0, CHAIN(SHIM, ANON + 5, ANON + 99, IN(APP, MAIN))),
	       "main;[anon];[anon];cuApi", "all memory without a file has one name");
	is_str(resolve(&c, 0, CHAIN(SHIM, NOWHERE, IN(APP, MAIN))), "main;[unknown];cuApi",
	       "a frame in no mapping is unknown");
	is_int(c.nr_frames, 9, "shown frames are counted");
	is_int(c.nr_unsymbolized, 5, "frames without a name are counted");
	is_str(resolve(&c, 0, CHAIN(SHIM, IN(CUPTI, 1), IN(APP, MAIN))), "main;cuApi",
	       "a trimmed frame without a name is not shown");
	is_int(c.nr_unsymbolized, 5, "a trimmed frame without a name is not counted");
	callchains__exit(&c);
}

static void test_flags(void)
{
	struct callchains c;

	callchains__init(&c, &dsos, &strings, true);
	is_str(resolve(&c, XPU_CHAIN_TRUNCATED, CHAIN(SHIM, IN(CUDA, 0), IN(APP, STEP))),
	       "[truncated];step(Net*);cuLaunchKernel",
	       "a truncated chain begins with [truncated]");
	is_str(resolve(&c, XPU_CHAIN_TRUNCATED, CHAIN(SHIM, IN(CUDA, 0))),
	       "[truncated];cuLaunchKernel",
	       "a chain truncated before the program's first frame has the API call");
	is_str(resolve(&c, XPU_CHAIN_FAILED, CHAIN(0)), "[no stack];cuApi",
	       "a failed chain is [no stack]");
	is_str(resolve(&c, XPU_CHAIN_FAILED, CHAIN(IN(APP, MAIN))), "[no stack];cuApi",
	       "a failed chain is [no stack], even with frames");
	is_str(resolve(&c, 0, CHAIN(0)), "[no stack];cuApi",
	       "a chain without frames is [no stack]");
	is_str(resolve(&c, XPU_CHAIN_CPU | XPU_CHAIN_OFF, CHAIN(~0xfffull)), "[no stack]",
	       "an off-CPU chain of scheduler frames only is [no stack], not empty");
	callchains__exit(&c);
}

static void test_no_trim(void)
{
	struct callchains c;

	callchains__init(&c, &dsos, &strings, false);
	is_str(resolve(&c, 0, CHAIN(BELOW_CUDART, IN(CUDART, 0), IN(APP, STEP))),
	       "step(Net*);cudaLaunchKernel;inner_cudart;cuLaunchKernel;inner_cuda;"
	       "libcupti.so.13+0x151f;on_callback;xpu_launch",
	       "an untrimmed chain has all its frames");
	is_str(resolve(&c, XPU_CHAIN_FAILED, CHAIN(0)), "[no stack];cuApi",
	       "an untrimmed failed chain still has the API call");
	callchains__exit(&c);
}

static void test_sharing(void)
{
	const uint64_t a[] = { SHIM, IN(CUDA, 0), IN(APP, STEP), IN(APP, MAIN) };
	const uint64_t b[] = { SHIM, IN(CUDA, 0) + 4, IN(APP, STEP) + 8, IN(APP, MAIN) + 1 };
	struct image *image = machine__image(&machine, 1, 1);
	const struct stack *sa, *sb;
	struct gen g = { 0 };
	struct callchains c;
	size_t at;

	callchains__init(&c, &dsos, &strings, true);
	gen__callchain(&g, 0, 1, 1, 1, 1, 307, a, ARRAY_SIZE(a));
	at = g.nr;
	gen__callchain(&g, 0, 1, 2, 1, 1, 307, b, ARRAY_SIZE(b));
	sa = callchains__resolve(&c, (void *)g.v, image, 0, "x");
	sb = callchains__resolve(&c, (void *)(g.v + at), image, 0, "y");
	ok(sa && sa == sb, "other addresses of the same functions give the same path");
	sb = callchains__resolve(&c, (void *)g.v, NULL, 0, "x");
	ok(sb && sb != sa, "a chain in an unknown address space gives another path");
	is_str(sb->frames[0]->name, "[unknown]", "frames in an unknown address space are unknown");
	gen__free(&g);
	callchains__exit(&c);
}

int main(void)
{
	setup();
	test_trim();
	test_static();
	test_return_addresses();
	test_unnamed();
	test_flags();
	test_no_trim();
	test_sharing();
	dsos__exit(&dsos);
	machine__exit(&machine);
	strpool__free(&strings);
	gen__free(&events);
	return done_testing();
}
