// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * fuzz_dso - fuzzes a file that a recording names: its segments, build-id, symbols with names, PLT,
 * .gnu_debuglink, .gnu_debugdata and unwind information
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/dso.h"
#include "gen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t id[20] = { 1, 2, 3, 4 };
	struct strpool strings = { 0 };
	struct gen g = { 0 };
	struct dso_symbol *sym;
	uint64_t vaddr, at;
	struct dsos dsos;
	struct dso *dso;
	char path[64];
	size_t i;
	int fd;

	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	gen__mmap(&g, 1, 1, 0, 0, 0, path, id, size % 8 ? sizeof(id) : 0);
	dsos__init(&dsos, &strings);
	dso = dsos__get(&dsos, (const void *)g.v);
	if (!dso)
		abort();
	for (at = 0; at < 0x3000; at += 8) {
		sym = dsos__find_symbol(&dsos, dso, at, &vaddr);
		if (sym && (vaddr < sym->start || vaddr >= sym->end ||
			    !dsos__symbol_name(&dsos, sym)))
			abort();
		if (!sym && dso__function(dso, vaddr) > vaddr)
			abort();
	}
	for (i = 0; i < dso->symtab.symbols.nr; i++)
		if (dso->symtab.symbols.v[i].start >= dso->symtab.symbols.v[i].end ||
		    (i && dso->symtab.symbols.v[i].start < dso->symtab.symbols.v[i - 1].end))
			abort();
	dsos__exit(&dsos);
	strpool__free(&strings);
	gen__free(&g);
	close(fd);
	return 0;
}
