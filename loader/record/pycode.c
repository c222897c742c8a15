// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/pycode.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "record/processes.h"
#include "record/writer.h"
#include "xpu_pylayout.h"

#define MAX_NAME	4096		/* maximum bytes of a name */
#define MAX_TABLE	(64 * 1024)	/* maximum bytes of a line table; if it is larger, lines are
					 * unknown */

#define MAX_MET		(1u << 16)	/* an object that was unreadable in this many samples is not
					 * read again */

/*
 * A flag in place of an id: the object has been unreadable so far. The other bits count the samples
 * with the object, up to MAX_MET.
 */
#define UNREAD		(1ull << 63)

struct pycodes {
	struct writer *writer;
	struct processes *processes;
	uint32_t last_id;
	uint8_t buf[sizeof(struct xpu_record_pysource) + 2 * MAX_NAME + MAX_TABLE + 8];
};

struct pycodes *pycodes__new(struct writer *w, struct processes *ps)
{
	struct pycodes *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->writer = w;
	c->processes = ps;
	return c;
}

void pycodes__free(struct pycodes *c)
{
	free(c);
}

static bool read_target(pid_t pid, uint64_t addr, void *to, size_t bytes)
{
	struct iovec local = { to, bytes }, remote = { (void *)(uintptr_t)addr, bytes };

	return !bytes || process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

/*
 * Return: the number of bytes of the string's characters, or -1. *@width: set to the bytes of a
 * character
 */
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

/* Puts a record of the code object of @f, without the id, into p->buf. Return: its size, or 0. */
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
	/* Check that this is still the code object that was sampled. */
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
 * Return: whether to read an unreadable code object again. It may become readable, because the
 * target may have been changing it, or the recorder may have been short of memory. It is read again
 * when it appears in a sample for the second, fourth, eighth time, and so on, so that an object
 * that stays unreadable costs almost nothing.
 */
static bool try_again(uint64_t *unread)
{
	uint32_t nr_met = *unread & ~UNREAD;

	if (nr_met >= MAX_MET)
		return false;
	++*unread;
	nr_met++;
	return !(nr_met & (nr_met - 1));
}

/* Return: the id; 0 if the code object is unreadable. */
static uint32_t pycodes__write(struct pycodes *c, struct process *p,
			       const struct xpu_python_frame *f)
{
	const struct process *from = p->has_python ? p : p->python_from;
	struct xpu_record_pysource *r;
	size_t size = pycodes__read(c, p->pid, &from->python, f);

	r = size ? writer__reserve(c->writer, size) : NULL;
	if (!r)
		return 0;
	p->code_bytes += size;
	memcpy(r, c->buf, size);
	r->id = ++c->last_id;
	return r->id;
}

uint32_t pycodes__id(struct pycodes *c, struct process *p, const struct xpu_python_frame *f,
		     unsigned int *nr_bad)
{
	/* After a fork the child's code objects may change, so each process has its own map. */
	const struct numbers_key key = { f->code, f->print };
	uint64_t *known = process__find(p, MAP_CODES, key);
	uint32_t id;

	if (known && !(*known & UNREAD))
		return *known;
	if (*nr_bad >= LIMIT_BAD_CODES || (known && !try_again(known)))
		return 0;
	if (!p->has_python && (!p->python_from || !p->python_from->has_python))
		return 0;
	if (p->code_bytes > LIMIT_CODE_BYTES ||
	    (!known && processes__add(c->processes, p, MAP_CODES, key, UNREAD | 1))) {
		p->nr_beyond++;
		return 0;
	}
	id = pycodes__write(c, p, f);
	if (id)
		*process__find(p, MAP_CODES, key) = id;
	*nr_bad += !id;
	return id;
}
