// SPDX-License-Identifier: GPL-3.0-or-later
#include "symbols/debugfile.h"

#include <errno.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "xpu_record.h"

#define DEBUG_DIRS	"/usr/lib/debug"
#define UNPACKED_MAX	(256ull * 1024 * 1024)	/* maximum unpacked size of one file; libtorch would
						 * need 100 MB */

static char *format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static char *format(const char *fmt, ...)
{
	va_list args;
	char *s;
	int len;

	va_start(args, fmt);
	len = vasprintf(&s, fmt, args);
	va_end(args);
	return len < 0 ? NULL : s;
}

static bool elf_file__has_build_id(const struct elf_file *f, const uint8_t *id, size_t len)
{
	const uint8_t *its;

	return elf_file__build_id(f, &its) == len && !memcmp(its, id, len);
}

/* Opens @path if it has the build-id; otherwise frees @path. Return: @path, or NULL. */
static char *try_build_id(char *path, const uint8_t *id, size_t len, struct elf_file *f)
{
	if (path && !elf_file__open(f, path)) {
		if (elf_file__has_build_id(f, id, len))
			return path;
		elf_file__close(f);
	}
	free(path);
	return NULL;
}

/* Looks in a cache of perf: @hex is the build-id. */
static char *try_perf_cache(const char *dir, const char *hex, const uint8_t *id, size_t len,
			    enum build_id_want want, struct elf_file *f)
{
	return try_build_id(format("%s/.build-id/%.2s/%s/%s", dir, hex, hex + 2,
				   want == WANT_DEBUG ? "debug" : "elf"), id, len, f);
}

/* Return: the path of @sub in the directory that @env names, for example in $HOME; or NULL. */
static char *user_dir(const char *env, const char *sub)
{
	const char *dir = getenv(env);

	return dir && *dir == '/' ? format("%s%s", dir, sub) : NULL;
}

static char *try_debuginfod(const char *hex, const uint8_t *id, size_t len,
			    enum build_id_want want, struct elf_file *f)
{
	char *dir = user_dir("DEBUGINFOD_CACHE_PATH", "") ?:
		    user_dir("XDG_CACHE_HOME", "/debuginfod_client") ?:
		    user_dir("HOME", "/.cache/debuginfod_client");
	char *path = NULL;

	if (dir)
		path = try_build_id(format("%s/%s/%s", dir, hex,
					   want == WANT_DEBUG ? "debuginfo" : "executable"),
				    id, len, f);
	free(dir);
	return path;
}

/* Loops over the directories in @dirs, which are separated by ':'. */
#define for_each_dir(dirs, dir, len) \
	for ((dir) = (dirs); *(dir) && ((len) = strcspn((dir), ":"), 1); \
	     (dir) += (len) + ((dir)[(len)] == ':'))

char *symbol_paths__open_build_id(const struct symbol_paths *p, const uint8_t *id, size_t len,
				  enum build_id_want want, struct elf_file *f)
{
	char hex[2 * XPU_BUILD_ID_LEN + 1], *path = NULL, *home = NULL;
	const char *dir;
	size_t dir_len, i;

	if (len < 2 || len > XPU_BUILD_ID_LEN)
		return NULL;
	for (i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	for_each_dir(p->debug_dirs ?: DEBUG_DIRS, dir, dir_len) {
		path = try_build_id(format("%s%.*s/.build-id/%.2s/%s%s", p->symfs ?: "",
					   (int)dir_len, dir, hex, hex + 2,
					   want == WANT_DEBUG ? ".debug" : ""), id, len, f);
		if (path)
			return path;
	}
	for (i = 0; i < p->kept.nr && !path; i++)
		path = try_perf_cache(p->kept.v[i], hex, id, len, want, f);
	if (!path && !p->buildid_dir)
		home = user_dir("HOME", "/.debug");
	if (!path && (p->buildid_dir || home))
		path = try_perf_cache(p->buildid_dir ?: home, hex, id, len, want, f);
	free(home);
	return path ?: try_debuginfod(hex, id, len, want, f);
}

/*
 * Opens @path if it has the symbols that were stripped from @main; otherwise frees @path. Return:
 * @path, or NULL.
 */
static char *try_debuglink(char *path, const struct elf_file *main, uint32_t crc,
			   struct elf_file *f)
{
	const uint8_t *id;
	size_t len = elf_file__build_id(main, &id);

	if (len)
		return try_build_id(path, id, len, f);
	if (path && !elf_file__open(f, path)) {
		if (crc32_z(0, f->image, f->bytes) == crc)
			return path;
		elf_file__close(f);
	}
	free(path);
	return NULL;
}

char *symbol_paths__open_debuglink(const struct symbol_paths *p, const char *path,
				   const struct elf_file *main, struct elf_file *f)
{
	struct elf_bytes link = elf_file__section_bytes(main, ".gnu_debuglink");
	const char *name = (const char *)link.v, *slash = strrchr(path, '/'), *dir;
	size_t name_len = link.nr ? strnlen(name, link.nr) : 0, dir_len;
	size_t at = (name_len + 4) & ~(size_t)3;	/* skip the name and its NUL, then align */
	int to_dir = slash ? slash - path : 0;
	char *found;
	uint32_t crc;

	/* A link is a name, not a path: it must not lead to another directory. */
	if (!name_len || at + sizeof(crc) > link.nr || memchr(name, '/', name_len))
		return NULL;
	memcpy(&crc, link.v + at, sizeof(crc));
	found = try_debuglink(format("%.*s/%s", to_dir, path, name), main, crc, f) ?:
		try_debuglink(format("%.*s/.debug/%s", to_dir, path, name), main, crc, f);
	if (found)
		return found;
	/* Paths below a debug directory do not include symfs. */
	if (p->symfs && !strncmp(path, p->symfs, strlen(p->symfs)))
		path += strlen(p->symfs);
	to_dir = slash ? (int)max_t(ptrdiff_t, slash - path, 0) : 0;
	for_each_dir(p->debug_dirs ?: DEBUG_DIRS, dir, dir_len) {
		found = try_debuglink(format("%s%.*s%.*s/%s", p->symfs ?: "", (int)dir_len, dir,
					     to_dir, path, name), main, crc, f);
		if (found)
			return found;
	}
	return NULL;
}

int elf_file__open_minidebug(const struct elf_file *main, struct elf_file *f, uint64_t *left)
{
	struct elf_bytes packed = elf_file__section_bytes(main, ".gnu_debugdata");
	size_t bytes = packed.nr < 4096 ? 16 * 4096 : packed.nr * 4, in = 0, out = 0;
	uint64_t memory, max = min_t(uint64_t, *left, UNPACKED_MAX);
	uint8_t *image = NULL, *grown;
	lzma_ret ret;

	if (!packed.nr)
		return -ENOENT;
	/*
	 * The unpacked size is unknown in advance; it is mostly about three times the packed size.
	 */
	for (;; bytes *= 2) {
		grown = bytes > max ? NULL : realloc(image, bytes);
		if (!grown) {
			free(image);
			return bytes > max ? -EINVAL : -ENOMEM;
		}
		*left -= min_t(uint64_t, *left, bytes - out);
		image = grown;
		memory = UNPACKED_MAX;
		in = out = 0;
		ret = lzma_stream_buffer_decode(&memory, 0, NULL, packed.v, &in, packed.nr, image,
						&out, bytes);
		if (ret != LZMA_BUF_ERROR)
			break;
		out = bytes;		/* these bytes are already subtracted from *@left */
	}
	if (ret == LZMA_OK && out)
		return elf_file__open_memory(f, image, out) ? -EINVAL : 0;
	free(image);
	return ret == LZMA_MEM_ERROR ? -ENOMEM : -EINVAL;
}

int symbol_paths__add_kept(struct symbol_paths *p, const char *path)
{
	char *dir = format("%s" XPU_KEPT_SUFFIX, path);
	int err = dir ? array_push(&p->kept, dir) : -ENOMEM;

	if (err)
		free(dir);
	return err;
}

void symbol_paths__free(struct symbol_paths *p)
{
	size_t i;

	for (i = 0; i < p->kept.nr; i++)
		free(p->kept.v[i]);
	array_free(&p->kept);
}
