/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dso.h - the files that processes execute, and their function symbols
 *
 * Each file is opened once, when its first address is looked up, however many processes and
 * mappings use it. A file whose build-id differs from the build-id of the mapping is not used: a
 * missing name is better than a wrong name. A file is searched for at its path, then in the root of
 * its process if the process still runs, then by build-id (see debugfile.h).
 *
 * Functions come from .symtab. If .symtab was stripped, they come from .dynsym and a separate debug
 * file, or from .dynsym and .gnu_debugdata. Entries of the PLT and the functions that roots.h finds
 * are added.
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

/* The role of a file when call paths are trimmed. */
enum dso_role {
	DSO_PLAIN,
	DSO_SHIM,		/* libxpushim.so */
	DSO_CUPTI,		/* libcupti.so* */
	DSO_CUDA,		/* libcuda.so*, the driver API */
	DSO_OPENCL,		/* libOpenCL.so*, the loader, and OpenCL drivers */
	DSO_CUDART,		/* libcudart.so*, the runtime API */
};

enum dso_state {
	DSO_UNTRIED,
	DSO_LOADED,
	DSO_NO_FILE,		/* the mapping has no file (anonymous, [vsyscall]), or the file
				 * cannot be opened */
	DSO_NO_ELF,		/* not an ELF file, or a damaged one */
	DSO_MISMATCH,		/* the file has another build-id */
};

struct dso_segment {
	uint64_t offset, end;	/* part [offset, end) of the file */
	uint64_t vaddr;
};

/*
 * Identifies a file in a recording: a path with a build-id or, where the mapping has none, with an
 * inode. If a file was replaced during the recording, its path has two keys. If two paths lead to
 * one file, maybe only one path exists on this machine, so the path is always part of the key.
 */
struct dso_key {
	uint64_t ino;			/* generated code: when the image began */
	uint32_t dev_major;		/* generated code: the pid */
	uint32_t dev_minor;
	uint32_t path_bytes;		/* without a NUL */
	uint16_t misc;			/* XPU_MISC_NAMES_* */
	uint8_t build_id_len;
	uint8_t build_id[XPU_BUILD_ID_LEN];
	char path[];
};

static inline size_t dso_key__bytes(const struct dso_key *key)
{
	return sizeof(*key) + key->path_bytes;
}

/* Return: the key of the code that a process generated. @time_ns: when the process's image began */
static inline struct dso_key dso_key__generated(uint32_t pid, uint64_t time_ns)
{
	return (struct dso_key){
		.ino = time_ns, .dev_major = pid, .misc = XPU_MISC_NAMES_GENERATED,
	};
}

/*
 * Return: the key of the file of a mapping or of a NAMES record, or NULL; the caller frees the key.
 * Sets *@bytes to the key's size.
 */
struct dso_key *dso_key__of_mmap(const struct xpu_record_mmap *rec, size_t *bytes);
struct dso_key *dso_key__of_names(const struct xpu_record_names *rec, size_t *bytes);

struct dso {
	const struct dso_key *key;
	const char *path;	/* path as mapped, interned; or "[vdso]", "//anon" */
	const char *name;	/* name to show: the last part of the path, or "[anon]" */
	enum dso_role role;
	bool is_memory;		/* no file: memory that the process itself filled, maybe with
				 * code */
	enum dso_state state;
	const char *why;	/* why the file is not loaded; NULL if it has no problem */
	uint64_t nr_unnamed;	/* number of frames shown without a function name; the caller counts
				 * them */
	uint8_t build_id[XPU_BUILD_ID_LEN];
	uint8_t build_id_len;	/* 0: the mapping has no build-id */
	uint32_t pid;		/* a process that had mapped the file */
	struct elf_file file;
	const char *file_path;	/* the path at which the file was found; NULL: in memory only */
	struct elf_file debug;	/* the file with the symbols that were stripped off, if found */
	const char *debug_path;
	uint64_t debug_bias;	/* add this to an address in @debug to get the address in @file */
	const char *no_lines;	/* why the file's source lines could not be read */
	struct symtab symtab;
	extents_t extents;	/* extents of functions without a name; read on first use */
	bool has_extents;
	struct dso_segment *segments;
	size_t nr_segments;
};

struct dso_entry;

struct dsos {
	struct strpool *strings;	/* owned by the caller, must outlive this struct */
	struct symbol_paths paths;	/* further places to search; set after dsos__init() */
	struct dso_entry *entries;
	uint64_t unpack_left;		/* how many of the MINIDEBUG_MAX bytes are left */
};

void dsos__init(struct dsos *d, struct strpool *strings);
void dsos__exit(struct dsos *d);

/**
 * dsos__get - find the file of a mapping
 * @d: all files
 * @rec: the mapping; looked up by path and build-id or, if it has no build-id, by path and inode
 *
 * Return: the file, owned by @d, not loaded yet; or NULL if memory is short.
 */
struct dso *dsos__get(struct dsos *d, const struct xpu_record_mmap *rec);

/**
 * dsos__find_symbol - name an address in a file
 * @d: all files
 * @dso: the file; it is read on the first call
 * @offset: offset in the file, in bytes
 * @vaddr: set to the address that @offset has in the file's symbol table, or to @offset if the file
 *	is missing
 *
 * Return: the symbol, or NULL if no symbol covers the address. The nearest symbol before the
 * address is never used: in a stripped library it would name another function.
 */
struct dso_symbol *dsos__find_symbol(struct dsos *d, struct dso *dso, uint64_t offset,
				     uint64_t *vaddr);

/**
 * dso__function - find where a function without a symbol begins
 * @dso: dsos__find_symbol() must have looked up @vaddr in it before
 * @vaddr: an address in the file
 *
 * All places in the function get this address as their name, so they become one frame.
 *
 * Return: the function's address, or @vaddr itself if the unwind information has no such function.
 */
uint64_t dso__function(struct dso *dso, uint64_t vaddr);

/* Return: the demangled name of @sym, interned, or NULL if memory is short. */
const char *dsos__symbol_name(struct dsos *d, struct dso_symbol *sym);

/*
 * Adds lines to @msgs about the files that could not be used, and whose frames therefore have no
 * names. The files with the most such frames get a line each; all other files share one line.
 */
void dsos__report(struct dsos *d, struct msgs *msgs);

#endif /* MERGE_DSO_H */
