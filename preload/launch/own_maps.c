// SPDX-License-Identifier: MIT
#include "launch/own_maps.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "base/call.h"
#include "base/clock.h"
#include "base/memory.h"
#include "launch/generation.h"
#include "wire/shm.h"
#include "xpu_record.h"

#define MAX_MAPS	65536		/* maximum number of executable mappings; further mappings
					 * are counted as lost */
#define TEXT_BYTES	(32u << 10)	/* longer than any line */
#define PAUSES		50		/* pause after reading, as a multiple of the reading's
					 * duration */

/* An executable mapping, as /proc shows it. */
struct map {
	uint64_t start, end, pgoff, ino;
	uint32_t dev_major, dev_minor;
};

/* One line of /proc/self/maps. */
struct line {
	struct map map;
	const char *prot, *name, *end;
};

static struct {
	bool begun;
	struct map *told, *next;	/* told: the list that was sent, sorted by address; next:
					 * room for the next list */
	uint32_t nr_told;
	uint64_t read_ns;		/* when the reading of the last list began */
	uint64_t pause_ns;		/* no reading before this time, unless code was loaded */
	uint64_t loads, other;		/* nr_loads() and generation__nr_other when the last list
					 * was read */
	bool by_time;			/* code may have been mapped without changing the
					 * generation */
} maps;

static char text[TEXT_BYTES];
static uint8_t head[PAGE] __attribute__((aligned(8)));	/* first page of the object being
							 * examined */

static struct {
	struct xpu_record_mmap record;
	char filename[PATH_MAX];
} out;

/* ---- one line -------------------------------------------------------------------------------- */

/* Reads a number that is followed by the character @after. Return: the text after both, or NULL. */
static const char *read_number(const char *at, unsigned int base, char after, uint64_t *nr)
{
	const char *digits = "0123456789abcdef", *digit;
	const char *first = at;

	for (*nr = 0; *at && (digit = strchr(digits, *at)) && digit - digits < base; at++)
		*nr = *nr * base + (digit - digits);
	return at > first && *at == after ? at + 1 : NULL;
}

/* Reads the line @at, which ends with a NUL at @end. Return: whether it could be read. */
static bool line__read(struct line *l, const char *at, const char *end)
{
	uint64_t major = 0, minor = 0;

	at = read_number(at, 16, '-', &l->map.start);
	at = at ? read_number(at, 16, ' ', &l->map.end) : NULL;
	if (!at || strnlen(at, 5) < 5)
		return false;
	l->prot = at;
	at = read_number(at + 5, 16, ' ', &l->map.pgoff);
	at = at ? read_number(at, 16, ':', &major) : NULL;
	at = at ? read_number(at, 16, ' ', &minor) : NULL;
	/* A space follows this number even if no name follows. */
	at = at ? read_number(at, 10, ' ', &l->map.ino) : NULL;
	if (!at)
		return false;
	l->map.dev_major = major;
	l->map.dev_minor = minor;
	while (*at == ' ')
		at++;
	l->name = at;
	l->end = end;
	if (!*at) {
		l->name = "//anon";	/* perf's name for anonymous memory */
		l->end = l->name + strlen(l->name);
	}
	return true;
}

static bool same_file(const struct map *a, const struct map *b)
{
	return a->ino && a->ino == b->ino && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor;
}

static bool same_map(const struct map *a, const struct map *b)
{
	return a->start == b->start && a->end == b->end && a->pgoff == b->pgoff &&
	       a->ino == b->ino && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

/* ---- build-ids ------------------------------------------------------------------------------- */

/* Searches @bytes of notes for the build-id. */
static void find_note(const uint8_t *notes, size_t bytes, struct xpu_record_mmap *r)
{
	const Elf64_Nhdr *n;
	size_t at = 0, name, size;

	while (bytes - at >= sizeof(*n)) {
		n = (const Elf64_Nhdr *)(notes + at);
		at += sizeof(*n);
		name = ((size_t)n->n_namesz + 3) & ~(size_t)3;
		size = ((size_t)n->n_descsz + 3) & ~(size_t)3;
		if (name > bytes - at || size > bytes - at - name)
			return;
		if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 &&
		    !memcmp(notes + at, "GNU", 4) && n->n_descsz <= XPU_BUILD_ID_LEN) {
			r->hdr.misc |= XPU_MISC_MMAP_BUILD_ID;
			r->build_id_len = n->n_descsz;
			memcpy(r->build_id, notes + at + name, n->n_descsz);
			return;
		}
		at += name + size;
	}
}

/*
 * Finds an object's build-id in the first page of its file, which is mapped at @base. Another
 * thread may unload the object, so the memory is read through @memory, a descriptor of
 * /proc/self/mem.
 */
static void find_build_id(int memory, uint64_t base, struct xpu_record_mmap *r)
{
	const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)head;
	const Elf64_Phdr *phdr;
	unsigned int i;

	if (memory < 0 || CALL(pread64, memory, head, sizeof(head), base, 0) != sizeof(head) ||
	    memcmp(ehdr->e_ident, ELFMAG, SELFMAG) || ehdr->e_ident[EI_CLASS] != ELFCLASS64 ||
	    ehdr->e_phentsize != sizeof(*phdr) || ehdr->e_phoff % 8 ||
	    ehdr->e_phoff > sizeof(head) ||
	    ehdr->e_phnum > (sizeof(head) - ehdr->e_phoff) / sizeof(*phdr))
		return;
	phdr = (const Elf64_Phdr *)(head + ehdr->e_phoff);
	for (i = 0; i < ehdr->e_phnum && !r->build_id_len; i++)
		if (phdr[i].p_type == PT_NOTE && phdr[i].p_offset % 4 == 0 &&
		    phdr[i].p_offset <= sizeof(head) &&
		    phdr[i].p_filesz <= sizeof(head) - phdr[i].p_offset)
			find_note(head + phdr[i].p_offset, phdr[i].p_filesz, r);
}

/* ---- mappings -------------------------------------------------------------------------------- */

/*
 * Writes a line's mapping as a record. @object: the mapping of the file's first page, if an earlier
 * line showed it
 */
static void tell_map(const struct line *l, const struct map *object, int memory, uint64_t since_ns)
{
	struct xpu_record_mmap *r = &out.record;
	size_t len = l->end - l->name, size = (sizeof(*r) + len + 1 + 7) & ~(size_t)7;

	if (len >= sizeof(out.filename)) {
		shm__lose_map();
		return;
	}
	*r = (struct xpu_record_mmap){
		.hdr = { XPU_RECORD_MMAP, 0, size },
		.time_ns = since_ns,
		.start = l->map.start,
		.len = l->map.end - l->map.start,
		.pgoff = l->map.pgoff,
		.ino = l->map.ino,
		.dev_major = l->map.dev_major,
		.dev_minor = l->map.dev_minor,
		.prot = PROT_EXEC | (l->prot[0] == 'r' ? PROT_READ : 0) |
			(l->prot[1] == 'w' ? PROT_WRITE : 0),
		.flags = l->prot[3] == 's' ? MAP_SHARED : MAP_PRIVATE,
	};
	if (same_file(object, &l->map))
		find_build_id(memory, object->start, r);
	memset(r->filename + len, 0, size - sizeof(*r) - len);
	memcpy(r->filename, l->name, len);
	shm__map(&r->hdr);
}

/* The state of a pass through the lines. */
struct reading {
	struct map object;		/* the latest mapping that has a file's first page */
	uint32_t told;			/* index of the sent mapping that is compared with the next
					 * line */
	uint32_t nr;			/* number of mappings in maps.next */
	int memory;
	uint64_t since_ns;
};

static void take_line(struct reading *g, const struct line *l)
{
	if (l->map.ino && !l->map.pgoff && l->prot[0] == 'r')
		g->object = l->map;
	if (l->prot[2] != 'x')
		return;
	if (g->nr == MAX_MAPS) {
		shm__lose_map();
		return;
	}
	maps.next[g->nr++] = l->map;
	while (g->told < maps.nr_told && maps.told[g->told].start < l->map.start)
		g->told++;
	if (g->told == maps.nr_told || !same_map(&maps.told[g->told], &l->map))
		tell_map(l, &g->object, g->memory, g->since_ns);
}

/*
 * Handles the complete lines in @text, and moves the partial line after them to the start of @text.
 * Return: the number of bytes in the partial line.
 */
static size_t take_lines(struct reading *g, size_t bytes)
{
	char *at = text, *end;
	struct line l;

	for (end = text; end < text + bytes; end++) {
		if (*end != '\n')
			continue;
		*end = '\0';
		if (line__read(&l, at, end))
			take_line(g, &l);
		at = end + 1;
	}
	bytes -= at - text;
	memmove(text, at, bytes);
	return bytes;
}

static void read_maps(int fd, struct reading *g)
{
	size_t bytes = 0;
	long n;

	/* A full buffer always has a complete line. */
	while (bytes < sizeof(text) &&
	       (n = CALL(read, fd, text + bytes, sizeof(text) - bytes, 0, 0)) > 0)
		bytes = take_lines(g, bytes + n);
}

/* Return: whether there is room for the lists. */
static bool has_lists(void)
{
	if (!maps.told)
		maps.told = memory__map(MAX_MAPS * sizeof(*maps.told));
	if (!maps.next)
		maps.next = memory__map(MAX_MAPS * sizeof(*maps.next));
	return maps.told && maps.next;
}

static bool hand_over_maps(void)
{
	struct reading g = { .since_ns = maps.begun ? maps.read_ns : 0 };
	struct map *told;
	long fd;

	if (!has_lists())
		return false;
	fd = CALL(openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0, 0);
	if (fd < 0)
		return false;
	g.memory = CALL(openat, AT_FDCWD, "/proc/self/mem", O_RDONLY | O_CLOEXEC, 0, 0);
	read_maps(fd, &g);
	if (g.memory >= 0)
		CALL(close, g.memory, 0, 0, 0, 0);
	CALL(close, fd, 0, 0, 0, 0);
	told = maps.told;
	maps.told = maps.next;
	maps.next = told;
	maps.nr_told = g.nr;
	return g.nr;
}

/* ---- names of threads ------------------------------------------------------------------------ */

void own_maps__name_thread(uint32_t tid)
{
	struct xpu_record_comm r = {
		.hdr = { XPU_RECORD_COMM, 0, sizeof(r) }, .time_ns = clock__ns(), .tid = tid,
	};

	if (shm__wants_maps() && !CALL(prctl, PR_GET_NAME, r.comm, 0, 0, 0))
		shm__map(&r.hdr);
}

/* ---- outside --------------------------------------------------------------------------------- */

static uint64_t nr_loads(void)
{
	return generation__nr_loads ? generation() : 0;
}

/*
 * Whether the mappings may have changed, as far as the dynamic loader and the unwinding threads
 * have noticed.
 */
static bool may_be_new(uint64_t loads, uint64_t other, uint64_t now, bool ends)
{
	if (!maps.begun || loads != maps.loads)
		return true;
	return (maps.by_time || other != maps.other) && (ends || now >= maps.pause_ns);
}

static void hand_over(bool ends)
{
	uint64_t now = clock__ns(), loads = nr_loads(), other = atomic_load(&generation__nr_other);
	uint64_t unloads = generation__nr_unloads();

	if (!may_be_new(loads, other, now, ends) || !hand_over_maps())
		return;
	maps.begun = true;
	maps.loads = loads;
	maps.other = other;
	maps.read_ns = now;
	shm__told_maps(unloads, ends && maps.by_time ? XPU_SHM_MAPS_LAST : XPU_SHM_MAPS_SENT);
	maps.pause_ns = now + PAUSES * (clock__ns() - now);
}

/*
 * Prepares for the first list. Without the unwinder, no thread notices code that the program maps
 * itself.
 */
static void begin(void)
{
	if (!generation__nr_loads && !maps.by_time) {
		maps.by_time = true;
		generation__find();
	}
	atomic_store(&generation__met, shm__met_unloads());
}

void own_maps__hand_over(bool ends)
{
	int saved_errno = errno;

	if (!shm__wants_maps())
		return;
	if (!maps.begun)
		begin();
	hand_over(ends);
	errno = saved_errno;
}

void own_maps__forget(void)
{
	maps.begun = false;
	maps.nr_told = 0;
}

void own_maps__forked(void)
{
	static uint64_t unused;

	atomic_store(&generation__met, &unused);
}
