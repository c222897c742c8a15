// SPDX-License-Identifier: GPL-3.0-or-later
/* Python code objects that cannot be read at the first sample, but may be readable later. */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/processes.h"
#include "record/pycode.h"
#include "tap.h"
#include "record/writer.h"
#include "xpu_pylayout.h"

#define PAGE_BYTES	4096
#define PROC		1
#define LINE		17
#define CODE_TYPE	0x1000
#define UNICODE_TYPE	0x2000
#define NAME		"function"

static const struct xpu_python layout = {
	.code_type = CODE_TYPE,
	.unicode_type = UNICODE_TYPE,
	.minor = 12,
	.co_name = 16,
	.co_filename = 24,
	.co_linetable = 32,
	.co_firstlineno = 40,
	.co_bytes = 48,
	.ascii_bytes = 48,
	.compact_bytes = 72,
};

/* The test's own writer has room for one record, or is full. */
static bool is_full;
static unsigned int nr_asked;
static _Alignas(8) uint8_t record[PAGE_BYTES];

void *writer__reserve(struct writer *w, size_t size)
{
	(void)w;
	nr_asked++;
	return is_full || size > sizeof(record) ? NULL : record;
}

void writer__append(struct writer *w, const struct xpu_record *r)
{
	(void)w;
	(void)r;
}

static struct processes *processes;
static struct process *process;

static uint32_t id_of(struct pycodes *p, const struct xpu_python_frame *f)
{
	unsigned int nr_bad = 0;

	return pycodes__id(p, process, f, &nr_bad);
}

static void put64(uint8_t *at, uint64_t value)
{
	memcpy(at, &value, sizeof(value));
}

/*
 * Makes a page with a code object and an empty line table. The name of the code object is also the
 * name of its file.
 */
static uint8_t *make_code(struct xpu_python_frame *f)
{
	uint8_t *code = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
	uint8_t *name = code + 128, *table = code + 512;

	if (code == MAP_FAILED)
		bail("no memory");
	put64(code + OB_TYPE, CODE_TYPE);
	put64(code + layout.co_name, (uintptr_t)name);
	put64(code + layout.co_filename, (uintptr_t)name);
	put64(code + layout.co_linetable, (uintptr_t)table);
	put64(code + layout.co_firstlineno, LINE);
	put64(name + OB_TYPE, UNICODE_TYPE);
	put64(name + STR_LENGTH, strlen(NAME));
	put64(name + STR_STATE, 1 << 2 | STATE_COMPACT | STATE_ASCII);
	strcpy((char *)name + layout.ascii_bytes, NAME);
	f->code = (uintptr_t)code;
	f->where = 0;
	f->print = XPU_PYTHON_PRINT((uintptr_t)name, (uintptr_t)table, LINE);
	return code;
}

/*
 * Looks up the code object until it has an id, at most @max times. Return: the number of lookups.
 */
static unsigned int meet(struct pycodes *p, const struct xpu_python_frame *f, unsigned int max,
			 uint32_t *id)
{
	unsigned int i;

	for (i = 1; i <= max; i++) {
		*id = id_of(p, f);
		if (*id)
			break;
	}
	return i;
}

int main(void)
{
	const struct xpu_record_pysource *r = (const void *)record;
	struct pycodes *p;
	struct xpu_python_frame f;
	uint8_t *code = make_code(&f);
	unsigned int nr, i;
	uint32_t id;

	if (getenv("XPU_EMULATED"))
		skip_all("an emulator does not read other processes' memory");
	processes = processes__new(NULL, NULL, NULL);
	process = processes ? processes__get(processes, PROC) : NULL;
	p = pycodes__new(NULL, processes);
	if (!p || !process)
		bail("no memory");
	process->pid = getpid();
	process->python = layout;
	process->has_python = true;
	mprotect(code, PAGE_BYTES, PROT_NONE);
	is_int(id_of(p, &f), 0, "an unreadable code object has no id");
	mprotect(code, PAGE_BYTES, PROT_READ);
	nr = meet(p, &f, 100, &id);
	ok(id, "a code object that became readable has an id after %u more tries", nr);
	ok(r->id == id && r->first_line == LINE && r->name_bytes == strlen(NAME) &&
	   !memcmp(r->data, NAME, strlen(NAME)),
	"the record of a code object that became readable is written");
	is_int(id_of(p, &f), id, "a code object that has an id keeps it");

	code = make_code(&f);
	is_full = true;
	is_int(id_of(p, &f), 0, "a code object without room for its record has no id");
	is_full = false;
	meet(p, &f, 100, &id);
	ok(id == r->id && id, "a code object with room for its record has the record's id");

	/* Attempts to read an unreadable code object are made only at long intervals. */
	make_code(&f);
	is_full = true;
	nr_asked = 0;
	for (i = 0; i < 1000000; i++)
		id_of(p, &f);
	ok(nr_asked > 5 && nr_asked < 50,
	   "an unreadable code object seen a million times is read %u times", nr_asked);

	/* One sample tries only a few unreadable code objects. */
	nr_asked = 0;
	nr = 0;
	for (i = 0; i < 1000; i++) {
		f.print = i;
		pycodes__id(p, process, &f, &nr);
	}
	is_int(nr, LIMIT_BAD_CODES,
	       "of a thousand unreadable code objects in one sample, LIMIT_BAD_CODES are read");
	is_int(process->maps[MAP_CODES].nr, 3 + LIMIT_BAD_CODES,
	       "code objects that were read are not read again");
	pycodes__free(p);
	processes__free(processes);
	return done_testing();
}
