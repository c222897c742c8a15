// SPDX-License-Identifier: GPL-3.0-or-later
#include "symbols/dso.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"
#include "hash.h"
#include "symbols/roots.h"

#define DELETED		" (deleted)"	/* Linux appends this to the name when a file is unlinked */
#define MISSING_LINES	4		/* maximum number of messages about files without symbols */

struct dso_entry {
	struct dso dso;
	UT_hash_handle hh;
	struct dso_key key;
};

void dsos__init(struct dsos *d, struct strpool *strings)
{
	memset(d, 0, sizeof(*d));
	d->strings = strings;
	d->unpack_left = MINIDEBUG_MAX;
}

static void dso__unload(struct dso *dso)
{
	symtab__free(&dso->symtab);
	array_free(&dso->extents);
	elf_file__close(&dso->debug);
	elf_file__close(&dso->file);
	free(dso->segments);
	dso->segments = NULL;
	dso->nr_segments = 0;
}

void dsos__exit(struct dsos *d)
{
	struct dso_entry *e, *tmp;

	HASH_ITER(hh, d->entries, e, tmp) {
		HASH_DEL(d->entries, e);
		dso__unload(&e->dso);
		free(e);
	}
	symbol_paths__free(&d->paths);
}

static enum dso_role dso__role(const char *name)
{
	static const struct {
		const char *prefix;
		enum dso_role role;
	} roles[] = {
		{ "libxpushim.so", DSO_SHIM },
		{ "libcupti.so", DSO_CUPTI },
		{ "libcuda.so", DSO_CUDA },
		{ "libcudart.so", DSO_CUDART },
		{ "libOpenCL.so", DSO_OPENCL },
		{ "libOpenCL-", DSO_OPENCL },
		{ "libpocl.so", DSO_OPENCL },
		{ "libnvidia-opencl.so", DSO_OPENCL },
		{ "libamdocl64.so", DSO_OPENCL },
		{ "libigdrcl.so", DSO_OPENCL },
		{ "libintelocl.so", DSO_OPENCL },
		/*
		 * auditwheel renames libraries that it packs into a wheel, for example to
		 * libcudart-d0da41ae.so.11.0.
		 */
		{ "libcupti-", DSO_CUPTI },
		{ "libcudart-", DSO_CUDART },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(roles); i++)
		if (!strncmp(name, roles[i].prefix, strlen(roles[i].prefix)))
			return roles[i].role;
	return DSO_PLAIN;
}

/* Return: the short name of the file, for frames, interned. */
static const char *dso__short_name(struct strpool *strings, const char *path)
{
	const char *name = strrchr(path, '/');
	size_t len;

	if (!*path || !strncmp(path, "//anon", 6))
		return "[anon]";
	name = name && name[1] ? name + 1 : path;
	len = strlen(name);
	if (len > strlen(DELETED) && !strcmp(name + len - strlen(DELETED), DELETED))
		len -= strlen(DELETED);
	return strpool__intern(strings, name, len);
}

static bool path__is_memory(const char *path)
{
	static const char *const prefixes[] = { "//anon", "/memfd:", "/dev/zero", "/SYSV", "[heap]",
						"[stack", "[anon" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (!strncmp(path, prefixes[i], strlen(prefixes[i])))
			return true;
	return !path[0];
}

static struct dso_key *dso_key__new(const char *path, size_t *bytes)
{
	size_t path_bytes = strlen(path);
	struct dso_key *key;

	*bytes = sizeof(*key) + path_bytes;
	key = calloc(1, *bytes);
	if (!key)
		return NULL;
	key->path_bytes = path_bytes;
	memcpy(key->path, path, path_bytes);
	return key;
}

struct dso_key *dso_key__of_mmap(const struct xpu_record_mmap *rec, size_t *bytes)
{
	struct dso_key *key = dso_key__new(rec->filename, bytes);

	if (!key)
		return NULL;
	if (rec->hdr.misc & XPU_MISC_MMAP_BUILD_ID && rec->build_id_len) {
		key->build_id_len = rec->build_id_len;
		memcpy(key->build_id, rec->build_id, rec->build_id_len);
	} else {
		key->ino = rec->ino;
		key->dev_major = rec->dev_major;
		key->dev_minor = rec->dev_minor;
	}
	return key;
}

struct dso_key *dso_key__of_names(const struct xpu_record_names *rec, size_t *bytes)
{
	struct dso_key *key = dso_key__new(rec->path_bytes ? rec->data : "", bytes);

	if (!key)
		return NULL;
	key->misc = rec->hdr.misc;
	key->ino = rec->ino;
	key->dev_major = rec->dev_major;
	key->dev_minor = rec->dev_minor;
	key->build_id_len = rec->build_id_len;
	memcpy(key->build_id, rec->build_id, rec->build_id_len);
	return key;
}

struct dso *dsos__get(struct dsos *d, const struct xpu_record_mmap *rec)
{
	struct dso_entry *e;
	bool oom = false;
	size_t bytes;
	struct dso_key *key = dso_key__of_mmap(rec, &bytes);

	if (!key)
		return NULL;
	HASH_FIND(hh, d->entries, key, bytes, e);
	if (e)
		goto out;
	e = calloc(1, sizeof(*e) + key->path_bytes);
	if (!e)
		goto out;
	memcpy(&e->key, key, bytes);
	e->dso.key = &e->key;
	e->dso.path = strpool__intern(d->strings, rec->filename, key->path_bytes);
	e->dso.name = dso__short_name(d->strings, rec->filename);
	if (!e->dso.path || !e->dso.name)
		goto out_free;
	e->dso.role = dso__role(e->dso.name);
	e->dso.is_memory = path__is_memory(e->dso.path);
	e->dso.pid = rec->pid;
	e->dso.build_id_len = key->build_id_len;
	memcpy(e->dso.build_id, key->build_id, sizeof(key->build_id));
	HASH_ADD_KEYPTR(hh, d->entries, &e->key, bytes, e);
	if (!oom)
		goto out;
out_free:
	free(e);
	e = NULL;
out:
	free(key);
	return e ? &e->dso : NULL;
}

/* ---- reading -------------------------------------------------------------------------------- */

static int dso__read_segments(struct dso *dso)
{
	ARRAY(struct dso_segment) segments = { 0 };
	GElf_Phdr phdr;
	size_t nr, i;
	int err, pass;

	if (elf_getphdrnum(dso->file.elf, &nr))
		return -EINVAL;
	/*
	 * Executable segments come first: neighboring segments share a page of the file, and only
	 * code is looked up.
	 */
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < nr; i++) {
			if (!gelf_getphdr(dso->file.elf, i, &phdr) || phdr.p_type != PT_LOAD ||
			    (phdr.p_flags & PF_X ? 0 : 1) != pass ||
			    phdr.p_offset + phdr.p_filesz < phdr.p_offset)
				continue;
			err = array_push(&segments, ((struct dso_segment){
				phdr.p_offset, phdr.p_offset + phdr.p_filesz, phdr.p_vaddr }));
			if (err) {
				free(segments.v);
				return err;
			}
		}
	}
	dso->segments = segments.v;
	dso->nr_segments = segments.nr;
	return 0;
}

/* Adds the symbols that were stripped off the file, if they are found. Return: 0 or -ENOMEM. */
static int dsos__add_debug(struct dsos *d, struct dso *dso)
{
	char *path = NULL;
	const uint8_t *id;
	int nr;
	size_t len = elf_file__build_id(&dso->file, &id);

	if (len)
		path = symbol_paths__open_build_id(&d->paths, id, len, WANT_DEBUG, &dso->debug);
	if (!path && dso->file_path)
		path = symbol_paths__open_debuglink(&d->paths, dso->file_path, &dso->file,
						    &dso->debug);
	if (path) {
		dso->debug_path = strpool__intern(d->strings, path, strlen(path));
		free(path);
		if (!dso->debug_path)
			return -ENOMEM;
	} else if (elf_file__open_minidebug(&dso->file, &dso->debug, &d->unpack_left)) {
		return 0;
	}
	dso->debug_bias = elf_file__base(&dso->file) - elf_file__base(&dso->debug);
	nr = symtab__add_table(&dso->symtab, &dso->debug, SHT_SYMTAB, dso->debug_bias);
	return nr < 0 ? nr : 0;
}

static int dsos__read_symbols(struct dsos *d, struct dso *dso)
{
	int nr, err;

	/* .symtab has all symbols of .dynsym, and local functions in addition. */
	nr = symtab__add_table(&dso->symtab, &dso->file, SHT_SYMTAB, 0);
	if (!nr) {
		nr = symtab__add_table(&dso->symtab, &dso->file, SHT_DYNSYM, 0);
		err = nr < 0 ? nr : dsos__add_debug(d, dso);
		if (err)
			return err;
	}
	if (nr < 0)
		return nr;
	return symtab__add_plt(&dso->symtab, &dso->file) ?:
	       symtab__build(&dso->symtab) ?:
	       roots__add(&dso->symtab, &dso->file);
}

/*
 * Return: whether the open file is the file that was mapped; true if the mapping has no build-id.
 */
static bool dso__same_build(const struct dso *dso)
{
	const uint8_t *id = NULL;
	size_t len;

	if (!dso->build_id_len)
		return true;
	len = elf_file__build_id(&dso->file, &id);
	return len == dso->build_id_len && !memcmp(id, dso->build_id, len);
}

/* Opens the file at @path. Return: 0, -ESTALE if the path now has another file, or -errno. */
static int dsos__open_path(struct dsos *d, struct dso *dso, const char *path)
{
	int err;

	if (!path)
		return -ENOMEM;
	err = elf_file__open(&dso->file, path);
	if (!err && !dso__same_build(dso)) {
		elf_file__close(&dso->file);
		err = -ESTALE;
	}
	if (!err)
		dso->file_path = strpool__intern(d->strings, path, strlen(path));
	return err;
}

/* Opens the file of @dso. Return: 0, -ENXIO if the mapping cannot have a file, or -errno. */
static int dsos__open(struct dsos *d, struct dso *dso)
{
	size_t len = strlen(dso->path);
	const char *path;
	char *found;
	int err;

	if (!strcmp(dso->path, "[vdso]")) {
		/*
		 * Linux maps one vdso into every process, so use our own vdso if its build-id
		 * matches. Without a build-id, the recorded vdso may come from another version of
		 * Linux.
		 */
		err = dso->build_id_len ? elf_file__open_vdso(&dso->file) : -ENXIO;
		if (err || dso__same_build(dso))
			return err;
		elf_file__close(&dso->file);
		return -ESTALE;
	}
	if (dso->path[0] != '/' || dso->path[1] == '/')
		return -ENXIO;
	/*
	 * A file that was unlinked or replaced during the run may be back: the build-id shows
	 * whether it is the same file.
	 */
	if (dso->build_id_len && len > strlen(DELETED) &&
	    !strcmp(dso->path + len - strlen(DELETED), DELETED))
		len -= strlen(DELETED);
	path = strpool__internf(d->strings, "%s%.*s", d->paths.symfs ?: "", (int)len, dso->path);
	err = dsos__open_path(d, dso, path);
	if (!err || !dso->build_id_len)
		return err;
	/*
	 * The process may have another root directory. While it runs, /proc/PID/root leads to its
	 * files.
	 */
	if (!d->paths.symfs && dso->pid) {
		path = strpool__internf(d->strings, "/proc/%u/root%.*s", (unsigned int)dso->pid,
					(int)len, dso->path);
		if (!dsos__open_path(d, dso, path))
			return 0;
	}
	found = symbol_paths__open_build_id(&d->paths, dso->build_id, dso->build_id_len, WANT_FILE,
					    &dso->file);
	if (!found)
		return err;
	dso->file_path = strpool__intern(d->strings, found, strlen(found));
	free(found);
	return 0;
}

/* Return: a text for the user that says why a file was not read. */
static const char *dsos__why(struct dsos *d, int err)
{
	switch (err) {
	case -ENXIO:
		return NULL;
	case -ESTALE:
		return ", it has changed since the recording (build-id differs)";
	case -ENOEXEC:
		return ", not an ELF file";
	case -EINVAL:
		return ", cannot be read: not a regular file";
	default:
		return strpool__internf(d->strings, ", cannot be read: %s", strerror(-err));
	}
}

/* Reads the file; if it cannot be used, dso->why is the reason. */
static void dsos__load(struct dsos *d, struct dso *dso)
{
	int err = dsos__open(d, dso);

	if (err) {
		dso->state = err == -ESTALE ? DSO_MISMATCH : err == -ENOEXEC ? DSO_NO_ELF :
			     DSO_NO_FILE;
		dso->why = dsos__why(d, err);
		return;
	}
	err = dso__read_segments(dso);
	err = err ?: dsos__read_symbols(d, dso);
	if (err) {
		dso__unload(dso);
		dso->state = DSO_NO_ELF;
		dso->why = err == -EINVAL ? ": damaged ELF file" : ": out of memory";
		return;
	}
	dso->state = DSO_LOADED;
}

struct dso_symbol *dsos__find_symbol(struct dsos *d, struct dso *dso, uint64_t offset,
				     uint64_t *vaddr)
{
	size_t i;

	*vaddr = offset;
	if (dso->state == DSO_UNTRIED)
		dsos__load(d, dso);
	if (dso->state != DSO_LOADED)
		return NULL;
	for (i = 0; i < dso->nr_segments; i++) {
		const struct dso_segment *seg = &dso->segments[i];

		if (seg->offset <= offset && offset < seg->end) {
			*vaddr = offset - seg->offset + seg->vaddr;
			break;
		}
	}
	if (i == dso->nr_segments)
		return NULL;
	return symtab__find(&dso->symtab, *vaddr);
}

uint64_t dso__function(struct dso *dso, uint64_t vaddr)
{
	const struct extent *e;

	if (dso->state != DSO_LOADED)
		return vaddr;
	/* If memory is short, use no extents at all, not only some. */
	if (!dso->has_extents && extents__read(&dso->extents, &dso->file))
		array_free(&dso->extents);
	dso->has_extents = true;
	e = extents__find(&dso->extents, vaddr);
	return e ? e->start : vaddr;
}

const char *dsos__symbol_name(struct dsos *d, struct dso_symbol *sym)
{
	char *name, *pretty = NULL;

	if (sym->pretty)
		return sym->pretty;
	/* In a library's .symtab, the name includes the version: memcpy@@GLIBC_2.14. */
	name = strndup(sym->name, strcspn(sym->name + 1, "@") + 1);
	if (!name)
		return NULL;
	pretty = demangle(name);
	sym->pretty = strpool__internf(d->strings, "%s%s", pretty ?: name, sym->plt ? "@plt" : "");
	free(pretty);
	free(name);
	return sym->pretty;
}

/* Return: whether frames of @dso have no names because its file could not be used. */
static bool dso__misses_symbols(const struct dso *dso)
{
	return dso->why && dso->nr_unnamed;
}

/* Puts files without symbols first, sorted by their number of unnamed frames, largest first. */
static int compare_missing(const struct dso_entry *a, const struct dso_entry *b)
{
	uint64_t na = dso__misses_symbols(&a->dso) ? a->dso.nr_unnamed : 0;
	uint64_t nb = dso__misses_symbols(&b->dso) ? b->dso.nr_unnamed : 0;

	return (na < nb) - (na > nb);
}

void dsos__report(struct dsos *d, struct msgs *msgs)
{
	uint64_t nr_frames = 0;
	const struct dso_entry *e;
	size_t nr = 0, i = 0;

	for (e = d->entries; e; e = e->hh.next)
		nr += dso__misses_symbols(&e->dso);
	HASH_SORT(d->entries, compare_missing);
	for (e = d->entries; e; e = e->hh.next) {
		if (!dso__misses_symbols(&e->dso)) {
			if (e->dso.no_lines)
				msgs__add(msgs, "%s: no source lines: %s", e->dso.path,
					  e->dso.no_lines);
		} else if (nr <= MISSING_LINES || i < MISSING_LINES - 1) {
			msgs__add(msgs, "%s: no symbols%s", e->dso.path, e->dso.why);
		} else {
			nr_frames += e->dso.nr_unnamed;
		}
		i++;
	}
	if (nr > MISSING_LINES)
		msgs__add(msgs, "%zu more files: no symbols, for %" PRIu64 " frames: merge on the "
			  "machine of the recording, or see --symfs", nr - MISSING_LINES + 1,
			  nr_frames);
}
