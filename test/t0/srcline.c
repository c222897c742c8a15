// SPDX-License-Identifier: GPL-3.0-or-later
/* A child process reads source lines. Tests what happens if the child dies. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gen.h"
#include "symbols/srcline.h"
#include "tap.h"

static struct strpool strings;
static struct dsos dsos;

static struct dso *get(const char *name)
{
	struct gen g = { 0 };
	char path[512], cwd[256];
	uint64_t vaddr;
	struct dso *dso;

	snprintf(path, sizeof(path), "%s/%s", getcwd(cwd, sizeof(cwd)), name);
	gen__mmap(&g, 1, 1, 0, 0, 0, path, NULL, 0);
	dso = dsos__get(&dsos, (void *)g.v);
	gen__free(&g);
	if (!dso)
		bail("out of memory");
	dsos__find_symbol(&dsos, dso, 0, &vaddr);
	return dso;
}

static uint64_t address_of(struct dso *dso, const char *name)
{
	size_t i;

	for (i = 0; i < dso->symtab.symbols.nr; i++)
		if (!strcmp(dso->symtab.symbols.v[i].name, name))
			return dso->symtab.symbols.v[i].start;
	bail("no function %s", name);
}

int main(void)
{
	const char *cc = getenv("CC");
	struct srcline v[SRCLINE_MAX];
	struct msgs msgs = { 0 };
	struct dso *a, *b;
	struct srclines s;
	char command[512];
	int nr;
	FILE *f;

	f = fopen("source.c", "w");
	if (!f ||
	    fputs("int outer(int a)\n{\n\treturn a * 3;\n}\nint main(void) { return outer(0); }\n",
		  f) < 0 ||
	    fclose(f))
		bail("source.c cannot be written");
	snprintf(command, sizeof(command), "%s -g -O1 -o a.out source.c && cp a.out b.out",
		 cc && *cc ? cc : "cc");
	if (system(command))
		skip_all("no working C compiler");
	dsos__init(&dsos, &strings);
	srclines__init(&s, &strings);
	a = get("a.out");
	b = get("b.out");
	nr = srclines__find(&s, a, address_of(a, "outer"), v);
	if (is_int(nr, 1, "one function is at the address")) {
		is_str(v[0].function, "outer", "the function has its name");
		is_str(v[0].file, "source.c", "the function has its file");
		ok(v[0].line >= 2 && v[0].line <= 4, "the function has its line");
	}
	ok(s.pid > 0 && s.pid != getpid(), "the lines were read by a child process");
	kill(s.pid, SIGKILL);
	is_int(srclines__find(&s, a, address_of(a, "outer"), v), 0,
	       "when the child process died there is no line");
	ok(a->no_lines, "the file that made the child die is not read again");
	is_int(srclines__find(&s, a, address_of(a, "main"), v), 0,
	       "another address in the file with which the child died has no line");
	is_int(s.pid, 0, "no child is started again for the file that made it die");
	is_int(srclines__find(&s, b, address_of(b, "outer"), v), 1, "another file is still read");
	dsos__report(&dsos, &msgs);
	is_int(msgs.lines.nr, 1, "one file is reported as unreadable");
	srclines__exit(&s);
	is_int(waitpid(-1, NULL, WNOHANG), -1, "no child process is left at the end");
	msgs__free(&msgs);
	dsos__exit(&dsos);
	strpool__free(&strings);
	return done_testing();
}
