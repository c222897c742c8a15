/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * debugfile.h - finds the symbols of stripped files, and files that are stored by build-id
 *
 * A file with the build-id is searched for in this order:
 *	DIR/.build-id/xx/yyyy.debug	for each debug directory (/usr/lib/debug)
 *	DIR/.build-id/xx/yyyy/debug	perf's cache (~/.debug), for the debug file
 *	DIR/xxyyyy/debuginfo		debuginfod's cache (~/.cache/debuginfod_client)
 *	.gnu_debuglink			a file with the name in this section: next to the stripped
 *					file, in the subdirectory .debug there, or under a debug
 *					directory; without a build-id, the file's CRC must match
 */
#ifndef MERGE_DEBUGFILE_H
#define MERGE_DEBUGFILE_H

#include <stddef.h>
#include <stdint.h>

#include "symbols/elf_file.h"
#include "util.h"

struct symbol_paths {
	const char *symfs;		/* prefix of each path; NULL or "": none */
	const char *debug_dirs;		/* the debug directories, separated by ':'; NULL: the
					 * default */
	const char *buildid_dir;	/* perf's cache; NULL: the default */
	ARRAY(char *) kept;		/* directories like buildid_dir, next to the recordings */
};

enum build_id_want {
	WANT_FILE,			/* the file itself */
	WANT_DEBUG,			/* the separate file with its debug symbols */
};

/**
 * symbol_paths__open_build_id - find a file by build-id
 * @p: where to search
 * @id, @len: the build-id, @len > 2
 * @want: whether to find the file itself or its debug file
 * @f: opened
 *
 * Return: the path, for the caller to free(), or NULL if not found.
 */
char *symbol_paths__open_build_id(const struct symbol_paths *p, const uint8_t *id, size_t len,
				  enum build_id_want want, struct elf_file *f);

/**
 * symbol_paths__open_debuglink - find the file that a .gnu_debuglink section names
 * @p: where to search
 * @path: path of the file with the section
 * @main: the file with the section
 * @f: set to the file that was found, opened
 *
 * Return: like symbol_paths__open_build_id().
 */
char *symbol_paths__open_debuglink(const struct symbol_paths *p, const char *path,
				   const struct elf_file *main, struct elf_file *f);

/**
 * elf_file__open_minidebug - unpack .gnu_debugdata, MiniDebugInfo
 * @main: the file
 * @f: opened; has the symbols that .dynsym lacks
 * @left: how many bytes may be unpacked; is reduced by the unpacked bytes. A few kilobytes of a
 *	malicious file may unpack to hundreds of megabytes, and a program has many files.
 *
 * Return: 0, -ENOENT without such a section, -EINVAL if it is damaged or too large, or -ENOMEM.
 */
int elf_file__open_minidebug(const struct elf_file *main, struct elf_file *f, uint64_t *left);

#define MINIDEBUG_MAX	(512ull * 1024 * 1024)	/* maximum number of bytes to unpack from all
						 * files */

/*
 * Makes searches include the files that were kept next to the recording at @path. Return: 0 or
 * -ENOMEM.
 */
int symbol_paths__add_kept(struct symbol_paths *p, const char *path);
void symbol_paths__free(struct symbol_paths *p);

#endif /* MERGE_DEBUGFILE_H */
