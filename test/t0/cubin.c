// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Source lines of device code: what the shim extracts from a module's file, and what merge reads
 * from these extracts. If CUPTI is installed, each place is compared with the line that CUPTI's own
 * function returns, which needs no GPU. Damaged files and tables give no lines or wrong lines, but
 * no crash.
 */
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cupti.h>
#include <cupti_pcsampling.h>

#include "gpu/cupti/cubin.h"
#include "stalls/cubin_lines.h"
#include "tap.h"

#define STEP		16		/* bytes per instruction */
#define NR_DAMAGED	20000

static uint8_t *file;
static size_t file_bytes;

static void *copy_of(const void *from, size_t bytes)
{
	void *to = malloc(bytes ?: 1);

	if (!to)
		abort();
	memcpy(to, from, bytes);
	return to;
}

static void read_file(const char *name)
{
	const char *src = getenv("XPU_SRC");
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/test/cubin/%s", src ? src : ".", name);
	f = fopen(path, "r");
	file = malloc(1 << 20);
	if (!f || !file)
		bail("%s cannot be read", path);
	file_bytes = fread(file, 1, 1 << 20, f);
	fclose(f);
	file = realloc(file, file_bytes);
}

/* Return: the line with its inlined calls, the innermost call first. */
static const char *inlined_at(const struct cubin_lines *l, const char *function, uint32_t pc)
{
	const struct cubin_line *line = cubin_lines__find(l, function, pc);
	static char text[1024];
	uint32_t site;
	size_t len;

	if (!line)
		return "none";
	len = snprintf(text, sizeof(text), "%u", line->line);
	for (site = line->site; site != NO_INDEX && len < sizeof(text);
	     site = l->sites.v[site].site)
		len += snprintf(text + len, sizeof(text) - len, " in %s at %s:%u",
				l->sites.v[site].callee, l->files.v[l->sites.v[site].file],
				l->sites.v[site].line);
	return text;
}

static const char *at(const struct cubin_lines *l, const char *function, uint32_t pc)
{
	const struct cubin_line *line = cubin_lines__find(l, function, pc);
	static char text[256];

	if (!line)
		return "none";
	snprintf(text, sizeof(text), "%s:%u", l->files.v[line->file], line->line);
	return text;
}

typedef CUptiResult correlation_t(CUpti_GetSassToSourceCorrelationParams *);

/* LeakSanitizer crashes in a process that has CUPTI. */
#if defined(__SANITIZE_ADDRESS__)
static correlation_t *find_cupti(void)
{
	return NULL;
}
#else
static correlation_t *find_cupti(void)
{
	static const char *const names[] = {
		"/usr/local/cuda/lib64/libcupti.so.13", "/usr/local/cuda-13.0/lib/libcupti.so.13",
		"/usr/local/cuda-13.0/lib64/libcupti.so.13",
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13",
	};
	void *library = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names) && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return library ? (correlation_t *)dlsym(library, "cuptiGetSassToSourceCorrelation") : NULL;
}
#endif

/*
 * Compares all addresses of a function. Return: the number of addresses. *@nr_same: the number of
 * addresses for which CUPTI returns the same line.
 */
static unsigned int compare(correlation_t *correlation, const struct cubin_lines *l,
			    const char *function, uint64_t bytes, unsigned int *nr_same)
{
	unsigned int nr = 0;
	uint32_t pc;

	for (pc = 0; pc < bytes; pc += STEP, nr++) {
		CUpti_GetSassToSourceCorrelationParams p = {
			.size = CUpti_GetSassToSourceCorrelationParamsSize, .cubin = file,
			.functionName = function, .cubinSize = file_bytes, .pcOffset = pc,
		};
		char theirs[256] = "none";

		if (correlation(&p) == CUPTI_SUCCESS) {
			if (p.lineNumber)
				snprintf(theirs, sizeof(theirs), "%s:%u", p.fileName, p.lineNumber);
			free(p.fileName);
			free(p.dirName);
		}
		*nr_same += !strcmp(theirs, at(l, function, pc));
	}
	return nr;
}

static void compare_all(const struct cubin_lines *l)
{
	const Elf64_Ehdr *h = (const void *)file;
	const Elf64_Shdr *s = (const void *)(file + h->e_shoff);
	const char *names = (const char *)file + s[h->e_shstrndx].sh_offset;
	correlation_t *correlation = find_cupti();
	unsigned int nr = 0, nr_same = 0, i;

	if (!correlation) {
		skip(1, "no CUPTI to compare with");
		return;
	}
	for (i = 0; i < h->e_shnum; i++)
		if (!strncmp(names + s[i].sh_name, ".text.", 6))
			nr += compare(correlation, l, names + s[i].sh_name + 6, s[i].sh_size,
				      &nr_same);
	ok(nr > 20 && nr_same == nr,
	   "of %u addresses %u have the line that CUPTI gives", nr, nr_same);
}

static uint32_t rnd(uint32_t below)
{
	static uint64_t seed = 88172645463325252ull;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

/* Reads lines from data that may be damaged, and looks some of them up. */
static void read_any(const void *blob, size_t bytes)
{
	struct xpu_cubin_lines *copy = copy_of(blob, bytes);
	struct cubin_lines l;
	int i;

	if (cubin_lines__read(&l, copy, bytes))
		abort();
	for (i = 0; i < 40; i++)
		inlined_at(&l, "k_shaped", i * STEP);
	cubin_lines__free(&l);
	free(copy);
}

static void damage(const struct xpu_cubin_lines *blob, size_t bytes)
{
	unsigned int i, k, nr_read = 0;

	for (i = 0; i < NR_DAMAGED; i++) {
		size_t cut = rnd(8) ? bytes : rnd(bytes);
		uint8_t *bad = copy_of(blob, bytes);

		for (k = rnd(4); k--;)
			bad[rnd(bytes)] = rnd(3) ? rnd(256) : 0xff;
		read_any(bad, cut);
		free(bad);
	}
	for (i = 0; i < NR_DAMAGED; i++) {
		size_t cut = rnd(8) ? file_bytes : rnd(file_bytes), lines_bytes;
		uint8_t *bad = copy_of(file, file_bytes), *part;
		struct xpu_cubin_lines *lines;

		for (k = rnd(4); k--;)
			bad[rnd(rnd(2) ? 64 : file_bytes)] = rnd(256);
		part = copy_of(bad, cut);
		lines = cubin__lines(part, cut, &lines_bytes);
		if (lines) {
			nr_read++;
			read_any(lines, lines_bytes);
		}
		free(lines);
		free(part);
		free(bad);
	}
	ok(nr_read > 1000, "damaged files and tables: %u of them had lines", nr_read);
}

static void check_inlined(void)
{
	struct xpu_cubin_lines *blob;
	struct cubin_lines l;
	size_t bytes;

	read_file("inlined.cubin");
	blob = cubin__lines(file, file_bytes, &bytes);
	is_int(blob ? cubin_lines__read(&l, blob, bytes) : -1, 0,
	       "a module with inlined functions is read");
	is_str(inlined_at(&l, "k_shaped", 0), "14",
	       "an address in the kernel itself has the kernel's line");
	is_str(inlined_at(&l, "k_shaped", 0x10),
	       "5 in _Z9of_threadi at inlined.cu:11 in _Z5placeILi2EEPfS0_ at inlined.cu:16",
	       "an address in two nested inlined calls has both calls");
	is_str(inlined_at(&l, "k_shaped", 0x20), "11 in _Z5placeILi2EEPfS0_ at inlined.cu:16",
	       "an address in one inlined call has that call");
	is_str(inlined_at(&l, "k_shaped", 0x40), "18",
	       "an address after the inlined calls has no inlined call");
	is_str(inlined_at(&l, "k_shaped", 0x80), "5 in _Z9of_threadi at inlined.cu:19",
	       "a function inlined at a second line has that line");
	compare_all(&l);
	cubin_lines__free(&l);
	bytes -= 2;			/* the size of the names, in bytes */
	is_int(cubin_lines__read(&l, blob, bytes), 0,
	       "a module whose names are truncated is read");
	is_str(inlined_at(&l, "k_shaped", 0x80), "5 in  at inlined.cu:19",
	       "an inlined function without a name still has lines");
	cubin_lines__free(&l);
	damage(blob, bytes);
	free(blob);
	free(file);
}

int main(void)
{
	struct xpu_cubin_lines *blob;
	struct cubin_lines l;
	size_t bytes;

	read_file("shaped.cubin");
	blob = cubin__lines(file, file_bytes, &bytes);
	ok(blob && bytes < file_bytes / 4,
	   "the lines are a part of the module: %zu bytes of %zu", bytes,
	   file_bytes);
	is_int(cubin_lines__read(&l, blob, bytes), 0, "a module's lines are read");
	is_int(l.functions.nr, 2, "a module's lines have two functions");
	is_str(at(&l, "k_shaped", 0), "shaped.cu:8",
	       "the first address of a function has its line");
	is_str(at(&l, "k_other", 0), "shaped.cu:17",
	       "the first address of another function, which is also 0, has its own line");
	is_str(at(&l, "k_none", 0), "none", "a missing function has no line");
	is_str(at(&l, "k_shaped", 1 << 20), "none",
	       "an address after a function's end has no line");
	compare_all(&l);
	cubin_lines__free(&l);
	damage(blob, bytes);
	free(blob);
	free(file);
	check_inlined();
	return done_testing();
}
