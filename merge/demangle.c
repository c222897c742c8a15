// SPDX-License-Identifier: GPL-3.0-or-later
#include "demangle.h"

#include <stddef.h>

/* bfd.h refuses to be included without these two, which an autoconf config.h would define. */
#define PACKAGE		"xpuload"
#define PACKAGE_VERSION	"1"
#include <bfd.h>
#include <libiberty/demangle.h>

char *demangle(const char *name)
{
	/* Itanium C++ and old Rust begin with _Z, new Rust with _R: do not ask about others. */
	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
		return NULL;
	return bfd_demangle(NULL, name, DMGL_PARAMS | DMGL_ANSI);
}
