// SPDX-License-Identifier: GPL-3.0-or-later
#include "pycode.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "table.h"
#include "writer.h"
#include "xpu_pylayout.h"

#define MAX_NAME	4096		/* bytes of a name */
#define MAX_TABLE	(64 * 1024)	/* bytes of a line table; else lines are not known */

struct python {				/* an image's interpreter */
	UT_hash_handle hh;
	uint32_t proc_id;
	struct xpu_python layout;
};

struct pycode {
	UT_hash_handle hh;
	struct pycode_key {
		uint64_t code, print;
		uint64_t image;		/* a child's code objects are its own after the fork */
	} key;
	uint32_t id;			/* 0: it could not be read so far ... */
	uint32_t nr_met;		/* ... and was met so often, up to MAX_MET */
};

#define MAX_MET	(1u << 16)		/* what cannot be read by then never is */

struct pycodes {
	struct python *pythons;
	struct pycode *codes;
	uint32_t last_id;
	uint8_t buf[sizeof(struct xpu_record_pysource) + 2 * MAX_NAME + MAX_TABLE + 8];
};

struct pycodes *pycodes__new(void)
{
	return calloc(1, sizeof(struct pycodes));
}

void pycodes__free(struct pycodes *p)
{
	if (!p)
		return;
	table_free(p->pythons, table_free_nothing);
	table_free(p->codes, table_free_nothing);
	free(p);
}

int pycodes__add_python(struct pycodes *p, uint32_t proc_id, const struct xpu_python *layout)
{
	struct python *python;

	table_get(p->pythons, proc_id, proc_id, python);
	if (!python)
		return -ENOMEM;
	python->layout = *layout;
	return 0;
}

static bool read_target(pid_t pid, uint64_t addr, void *to, size_t bytes)
{
	struct iovec local = { to, bytes }, remote = { (void *)(uintptr_t)addr, bytes };

	return !bytes || process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

/* Return: bytes of the string's characters, of *@width each, or -1. */
static int read_string(pid_t pid, const struct xpu_python *l, uint64_t str, uint8_t *to,
		       uint8_t *width)
{
	uint64_t head[STR_STATE / 8 + 1], bytes;
	uint32_t state;

	if (!read_target(pid, str, head, sizeof(head)) || head[OB_TYPE / 8] != l->unicode_type)
		return -1;
	state = head[STR_STATE / 8];
	*width = STATE_KIND(state);
	bytes = head[STR_LENGTH / 8];
	if (!(state & STATE_COMPACT) || (*width != 1 && *width != 2 && *width != 4))
		return -1;
	bytes = bytes > MAX_NAME / 4 ? MAX_NAME / 4 * *width : bytes * *width;
	if (!read_target(pid, str + (state & STATE_ASCII ? l->ascii_bytes : l->compact_bytes), to,
			 bytes))
		return -1;
	return bytes;
}

/* Puts a record of the code object of @f into p->buf, but for its id. Return: its size, or 0. */
static size_t pycodes__read(struct pycodes *p, pid_t pid, const struct xpu_python *l,
			    const struct xpu_python_frame *f)
{
	struct xpu_record_pysource *r = (void *)p->buf;
	uint8_t code[1024], *to = r->data;
	uint64_t type, name, filename, table, head[BYTES_DATA / 8];
	uint32_t line;
	size_t size;
	int bytes;

	if (l->co_bytes > sizeof(code) || l->co_name > l->co_bytes - 8 ||
	    l->co_filename > l->co_bytes - 8 || l->co_linetable > l->co_bytes - 8 ||
	    l->co_firstlineno > l->co_bytes - 4 || !read_target(pid, f->code, code, l->co_bytes))
		return 0;
	memcpy(&type, code + OB_TYPE, sizeof(type));
	memcpy(&name, code + l->co_name, sizeof(name));
	memcpy(&filename, code + l->co_filename, sizeof(filename));
	memcpy(&table, code + l->co_linetable, sizeof(table));
	memcpy(&line, code + l->co_firstlineno, sizeof(line));
	/* Still the one that was sampled. */
	if (type != l->code_type || XPU_PYTHON_PRINT(name, table, line) != f->print)
		return 0;
	memset(r, 0, sizeof(*r));
	r->hdr.type = XPU_RECORD_PYSOURCE;
	r->minor = l->minor;
	r->first_line = line;
	bytes = read_string(pid, l, name, to, &r->name_width);
	if (bytes < 0)
		return 0;
	r->name_bytes = bytes;
	to += bytes;
	bytes = read_string(pid, l, filename, to, &r->file_width);
	if (bytes < 0)
		return 0;
	r->file_bytes = bytes;
	to += bytes;
	if (read_target(pid, table, head, sizeof(head)) && head[BYTES_SIZE / 8] <= MAX_TABLE &&
	    read_target(pid, table + BYTES_DATA, to, head[BYTES_SIZE / 8]))
		r->table_bytes = head[BYTES_SIZE / 8];
	to += r->table_bytes;
	size = (to - p->buf + 7) & ~(size_t)7;
	memset(to, 0, p->buf + size - to);
	r->hdr.size = size;
	return size;
}

/*
 * A code object that could not be read may be readable later: the target may have been changing it,
 * or the recorder may have been short of memory. It is tried when it is met for the second time, the fourth, the
 * eighth, and so on, so that one that never can be read costs next to nothing.
 */
static bool try_again(struct pycode *c)
{
	if (c->nr_met >= MAX_MET)
		return false;
	c->nr_met++;
	return !(c->nr_met & (c->nr_met - 1));
}

uint32_t pycodes__id(struct pycodes *p, uint32_t proc_id, uint32_t python_from, pid_t pid,
		     const struct xpu_python_frame *f, struct writer *w)
{
	const struct pycode_key key = { f->code, f->print, proc_id };
	struct xpu_record_pysource *r;
	struct python *python;
	struct pycode *c;
	size_t size;

	table_find(p->codes, key, key, c);
	if (c && (c->id || !try_again(c)))
		return c->id;
	table_find(p->pythons, proc_id, proc_id, python);
	if (!python)
		table_find(p->pythons, proc_id, python_from, python);
	if (!python)
		return 0;
	if (!c) {
		table_get(p->codes, key, key, c);
		if (!c)
			return 0;
		c->nr_met = 1;
	}
	size = pycodes__read(p, pid, &python->layout, f);
	r = size ? writer__reserve(w, size) : NULL;
	if (!r)
		return 0;
	c->id = ++p->last_id;
	memcpy(r, p->buf, size);
	r->id = c->id;
	return c->id;
}
