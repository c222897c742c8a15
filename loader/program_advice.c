// SPDX-License-Identifier: GPL-3.0-or-later
#include "program_advice.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmdline.h"
#include "invoker.h"
#include "options.h"
#include "util.h"

#define MAX_HEADERS	64		/* maximum number of an executable's program headers to
					 * read */

/* Suffixes of source files, and the interpreters that run these files. */
static const struct cmdline_habit interpreters[] = {
	{ ".py", "python3" }, { ".sh", "sh" }, { ".bash", "bash" }, { ".jl", "julia" },
	{ ".pl", "perl" }, { ".rb", "ruby" }, { ".js", "node" }, { NULL, NULL },
};

/* Programs that start other programs in such a way that the shim is not loaded. */
static const struct cmdline_habit starters[] = {
#define DAEMON	"a daemon starts the program, without the shim: run xpuload inside of the " \
		"container, or set LD_PRELOAD there and attach with -a --container (see README.md)"
#define CLEARS	"it clears LD_PRELOAD, so the program runs without the shim: "
	{ "docker", DAEMON }, { "podman", DAEMON }, { "nerdctl", DAEMON }, { "kubectl", DAEMON },
	{ "sudo", CLEARS "sudo xpuload COMMAND" }, { "doas", CLEARS "doas xpuload COMMAND" },
	{ "su", CLEARS "su USER -c 'xpuload COMMAND'" },
	{ "pkexec", CLEARS "pkexec xpuload COMMAND" },
	{ "ssh", "the program runs elsewhere, without the shim: ssh HOST xpuload COMMAND" },
	{ NULL, NULL },
};

/* Whether the invoker can find a file. */
static bool exists(const char *path)
{
	struct stat st;
	bool found;

	if (invoker__enter())
		return false;
	found = !stat(path, &st) && S_ISREG(st.st_mode);
	invoker__leave();
	return found;
}

void program_advice__on_error(const char *name, int err, char *buf, size_t size)
{
	const char *here = err == -ENOENT ? options__habit(name) : NULL;
	const struct cmdline_habit *i = interpreters;
	bool searched = err == -ENOENT && !strchr(name, '/');

	while (i->word && !has_suffix(name, i->word))
		i++;
	*buf = '\0';
	if (here)
		snprintf(buf, size, ": %s", here);
	else if (i->word && exists(name))
		snprintf(buf, size, ": it is no program: run xpuload %s %s", i->here, name);
	else if (searched && exists(name))
		snprintf(buf, size, ": it is in this directory: run xpuload ./%s", name);
	else if (searched && getenv("SUDO_USER"))
		snprintf(buf, size, ": sudo has a PATH of its own: run sudo env PATH=\"$PATH\" "
			 "xpuload %s", name);
	else if (err == -EACCES && exists(name))
		snprintf(buf, size, ": chmod +x %s makes a program of it", name);
}

/* Whether a file is a static executable, into which no dynamic linker can load the shim */
static bool is_static(const char *path)
{
	Elf64_Phdr headers[MAX_HEADERS];
	bool dynamic = true;
	Elf64_Ehdr h;
	size_t bytes, i;
	int fd;

	if (invoker__enter())
		return false;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	invoker__leave();
	if (fd < 0)
		return false;
	if (pread(fd, &h, sizeof(h), 0) == sizeof(h) && !memcmp(h.e_ident, ELFMAG, SELFMAG) &&
	    h.e_ident[EI_CLASS] == ELFCLASS64 && h.e_phentsize == sizeof(*headers) &&
	    h.e_phnum && h.e_phnum <= MAX_HEADERS) {
		bytes = h.e_phnum * sizeof(*headers);
		dynamic = pread(fd, headers, bytes, h.e_phoff) != (ssize_t)bytes;
		for (i = 0; i < h.e_phnum && !dynamic; i++)
			dynamic = headers[i].p_type == PT_INTERP;
	}
	close(fd);
	return !dynamic;
}

const char *program_advice__on_start(const char *name)
{
	const char *slash = strrchr(name, '/');
	const char *here = cmdline__habit(starters, slash ? slash + 1 : name);

	if (!here && slash && is_static(name))
		return "it is linked statically, so the shim cannot be loaded: link the C library "
		       "dynamically, or record its CPU time with --cpu-only";
	return here;
}
