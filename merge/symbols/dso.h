/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dso.h - the files that processes execute, and their function symbols
 *
 * Each file is opened once, when its first address is asked for, whatever number of processes and
 * mappings use it. A file that is not the one that was running (its build-id differs from the
 * mapping's) is not used: no name is better than a wrong one. It is looked for at its path, then
 * in the root of its process if that still runs, then by build-id (see debugfile.h).
 *
 * Functions are those of .symtab; of .dynsym and a separate debug file, or else .gnu_debugdata,
 * where that was stripped; entries of the PLT; and what roots.h finds.
 */
#ifndef MERGE_DSO_H
#define MERGE_DSO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xpu_record.h"
#include "symbols/debugfile.h"
#include "symbols/ehframe.h"
#include "symbols/elf_file.h"
#include "symbols/symtab.h"
#include "util.h"

/* The role of a file in the trimming of call paths. */
enum dso_role {
	DSO_PLAIN,
	DSO_SHIM,		/* libxpushim.so */
	DSO_CUPTI,		/* libcupti.so* */
	DSO_CUDA,		/* libcuda.so*, the driver API */
	DSO_CUDART,		/* libcudart.so*, the runtime API */
};

enum dso_state {
	DSO_UNTRIED,
	DSO_LOADED,
	DSO_NO_FILE,		/* it has none (anonymous, [vsyscall]) or it cannot be opened */
	DSO_NO_ELF,		/* not an ELF file, or a damaged one */
	DSO_MISMATCH,		/* another build-id */
};

struct dso_segment {
	uint64_t offset, end;	/* [offset, end) in the file */
	uint64_t vaddr;
};

struct dso {
	const char *path;	/* as mapped, interned; "[vdso]", "//anon" */
	const char *name;	/* to show: its last part, "[anon]" */
	enum dso_role role;
	bool is_memory;		/* no file: memory that the process has filled itself, maybe with code */
	enum dso_state state;
	const char *why;	/* the reason why it is not loaded; NULL if there is no file to load */
	uint64_t nr_unnamed;	/* frames that were shown without a function name; the caller's */
	uint8_t build_id[XPU_BUILD_ID_LEN];
	uint8_t build_id_len;	/* 0: the mapping has none */
	uint32_t pid;		/* of a process that had it mapped */
	struct elf_file file;
	const char *file_path;	/* where it was found; NULL: in memory only */
	struct elf_file debug;	/* the file of the symbols that were stripped off it, if found */
	const char *debug_path;
	uint64_t debug_bias;	/* from its addresses to those of the file */
	const char *no_lines;	/* the reason why its source lines could not be read */
	struct symtab symtab;
	extents_t extents;	/* of functions without a name; read when the first one is met */
	bool has_extents;
	struct dso_segment *segments;
	size_t nr_segments;
};

struct dso_entry;

struct dsos {
	struct strpool *strings;	/* the caller's, and must outlive it */
	struct symbol_paths paths;	/* where else to look; set after dsos__init() */
	struct dso_entry *entries;
	uint64_t unpack_left;		/* of MINIDEBUG_MAX */
};

void dsos__init(struct dsos *d, struct strpool *strings);
void dsos__exit(struct dsos *d);

/**
 * dsos__get - the file behind a mapping
 * @d: all files
 * @rec: the mapping: looked up by path and build-id, without one by path and inode
 *
 * Return: owned by @d, not loaded yet, or NULL when memory is out.
 */
struct dso *dsos__get(struct dsos *d, const struct xpu_record_mmap *rec);

/**
 * dsos__find_symbol - name an address in a file
 * @d: all files
 * @dso: one of them, read on the first call
 * @offset: in the file, bytes
 * @vaddr: the same place as the file's symbol table counts it; @offset if the file is not there
 *
 * Return: the symbol, or NULL if none covers it. Never the nearest one before it: in a stripped
 * library that would name some other function.
 */
struct dso_symbol *dsos__find_symbol(struct dsos *d, struct dso *dso, uint64_t offset,
				     uint64_t *vaddr);

/**
 * dso__function - find where a function without a symbol begins
 * @dso: must have been asked about @vaddr before
 * @vaddr: in it
 *
 * By this address all places in the function are one frame, as if it had a name.
 *
 * Return: its address, or @vaddr itself if the unwind information has none.
 */
uint64_t dso__function(struct dso *dso, uint64_t vaddr);

/* Return: the demangled name of @sym, interned, or NULL when memory is out. */
const char *dsos__symbol_name(struct dsos *d, struct dso_symbol *sym);

/* Adds a line to @msgs for each file that is not used and whose frames are shown without names. */
void dsos__report(const struct dsos *d, struct msgs *msgs);

#endif /* MERGE_DSO_H */
