// SPDX-License-Identifier: GPL-3.0-or-later
#include "symbols/libbfd.h"

#include <stdlib.h>

#include "symbols/demangle.h"

/* bfd.h requires these two macros, which an autoconf config.h would define. */
#define PACKAGE		"xpuload"
#define PACKAGE_VERSION	"1"
#include <bfd.h>
#include <libiberty/demangle.h>

char *demangle(const char *name)
{
	/* C++ names begin with _Z, Rust names with _Z or _R: do not pass other names to libbfd. */
	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
		return NULL;
	return bfd_demangle(NULL, name, DMGL_PARAMS | DMGL_ANSI);
}

struct line_reader {
	bfd *bfd;
};

static void be_quiet(const char *fmt, va_list args)
{
	(void)fmt;
	(void)args;
}

struct line_reader *line_reader__open(const char *path)
{
	struct line_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	bfd_init();
	bfd_set_error_handler(be_quiet);
	r->bfd = bfd_openr(path, NULL);
	if (!r->bfd)
		goto out;
	r->bfd->flags |= BFD_DECOMPRESS;
	if (bfd_check_format(r->bfd, bfd_object))
		return r;
out:
	line_reader__close(r);
	return NULL;
}

size_t line_reader__find(struct line_reader *r, uint64_t vaddr, struct line_frame *v, size_t max)
{
	static asymbol *no_symbols[1];
	const char *function, *file;
	unsigned int line;
	asection *sec;
	size_t nr = 0;

	for (sec = r->bfd->sections; sec; sec = sec->next)
		if (bfd_section_flags(sec) & SEC_ALLOC && vaddr >= bfd_section_vma(sec) &&
		    vaddr - bfd_section_vma(sec) < bfd_section_size(sec))
			break;
	/*
	 * Pass an empty table of symbols: with symbols, binutils 2.40 would give the innermost,
	 * inlined function the name of the symbol if DWARF has no linkage name for the function.
	 * The table is not NULL, because with NULL libbfd does not read compressed sections.
	 */
	if (!sec || !max ||
	    !bfd_find_nearest_line(r->bfd, sec, no_symbols, vaddr - bfd_section_vma(sec), &file,
				   &function, &line))
		return 0;
	do {
		v[nr++] = (struct line_frame){ function, file, line };
	} while (nr < max && bfd_find_inliner_info(r->bfd, &file, &function, &line));
	return nr;
}

void line_reader__close(struct line_reader *r)
{
	if (!r)
		return;
	if (r->bfd)
		bfd_close(r->bfd);
	free(r);
}
