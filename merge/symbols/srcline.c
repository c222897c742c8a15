// SPDX-License-Identifier: GPL-3.0-or-later
#include "symbols/srcline.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbols/demangle.h"
#include "symbols/libbfd.h"

#define ANSWER_SECONDS	120		/* long, because reading some gigabytes of DWARF takes a
					 * while */
#define MEMORY_MAX	(16ull << 30)	/* limit on the reading process's address space, in bytes */
#define STRING_MAX	(64 * 1024)	/* maximum length of a mangled C++ name, in bytes */

/* A request to the reading process; the path follows. */
struct request {
	uint64_t vaddr;
	uint32_t path_bytes;		/* 0: ask about the last request's file */
	uint32_t reserved;
};

/*
 * One frame of an answer. An answer begins with the number of frames. Each frame's strings follow
 * it; a length of 0 means NULL.
 */
struct answer_frame {
	uint32_t line;
	uint32_t function_bytes;
	uint32_t file_bytes;
};

static bool read_all(int fd, void *p, size_t nr)
{
	char *at = p;
	ssize_t got;

	while (nr) {
		got = read(fd, at, nr);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		nr -= got;
	}
	return true;
}

static bool write_all(int fd, const void *p, size_t nr)
{
	const char *at = p;
	ssize_t put;

	while (nr) {
		put = send(fd, at, nr, MSG_NOSIGNAL);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		at += put;
		nr -= put;
	}
	return true;
}

/* ---- the process that reads ------------------------------------------------------------------ */

static uint32_t string_bytes(const char *s)
{
	size_t len = s ? strlen(s) : 0;

	return len > STRING_MAX ? 0 : len;
}

static bool answer(int fd, struct line_reader *r, uint64_t vaddr)
{
	struct line_frame v[SRCLINE_MAX];
	uint32_t nr = r ? line_reader__find(r, vaddr, v, SRCLINE_MAX) : 0, i;

	if (!write_all(fd, &nr, sizeof(nr)))
		return false;
	for (i = 0; i < nr; i++) {
		struct answer_frame f = {
			v[i].line, string_bytes(v[i].function), string_bytes(v[i].file),
		};

		if (!write_all(fd, &f, sizeof(f)) ||
		    !write_all(fd, v[i].function, f.function_bytes) ||
		    !write_all(fd, v[i].file, f.file_bytes))
			return false;
	}
	return true;
}

static void __attribute__((noreturn)) serve(int fd)
{
	static const int signals[] = { SIGBUS, SIGSEGV, SIGHUP, SIGINT, SIGTERM };
	struct line_reader *reader = NULL;
	char path[PATH_MAX];
	struct request q;
	size_t i;

	/* The parent's signal handlers would remove the parent's files. */
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		signal(signals[i], SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 0, 0 });
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	setrlimit(RLIMIT_AS, &(struct rlimit){ MEMORY_MAX, MEMORY_MAX });
#endif
	while (read_all(fd, &q, sizeof(q))) {
		if (q.path_bytes) {
			if (q.path_bytes >= sizeof(path) || !read_all(fd, path, q.path_bytes))
				break;
			path[q.path_bytes] = 0;
			line_reader__close(reader);
			reader = line_reader__open(path);
		}
		if (!answer(fd, reader, q.vaddr))
			break;
	}
	_exit(0);
}

/* ---- the process that asks ------------------------------------------------------------------- */

void srclines__init(struct srclines *s, struct strpool *strings)
{
	*s = (struct srclines){ .strings = strings, .fd = -1 };
}

static void srclines__stop(struct srclines *s)
{
	if (!s->pid)
		return;
	close(s->fd);
	kill(s->pid, SIGKILL);
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		;
	s->pid = 0;
	s->last = NULL;
}

void srclines__exit(struct srclines *s)
{
	srclines__stop(s);
}

/* Starts the child process that looks up source lines. Return: 0 or -errno. */
static int srclines__start(struct srclines *s)
{
	int fd[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
		return -errno;
	s->pid = fork();
	if (s->pid < 0) {
		err = -errno;
		s->pid = 0;
		close(fd[0]);
		close(fd[1]);
		return err;
	}
	if (!s->pid) {
		close(fd[0]);
		serve(fd[1]);
	}
	close(fd[1]);
	s->fd = fd[0];
	return 0;
}

static bool srclines__ask(struct srclines *s, const char *path, uint64_t vaddr)
{
	struct request q = { .vaddr = vaddr, .path_bytes = path == s->last ? 0 : strlen(path) };
	struct pollfd p = { .fd = s->fd, .events = POLLIN };
	int ready;

	if (!write_all(s->fd, &q, sizeof(q)) || !write_all(s->fd, path, q.path_bytes))
		return false;
	s->last = path;
	do
		ready = poll(&p, 1, ANSWER_SECONDS * 1000);
	while (ready < 0 && errno == EINTR && !(s->is_over && s->is_over(s->ctx)));
	return ready > 0;
}

/*
 * Return: the next string, interned; NULL if its length is 0. If the string cannot be read, returns
 * NULL and sets *@ok to false.
 */
static const char *srclines__string(struct srclines *s, uint32_t bytes, bool mangled, bool *ok)
{
	char *buf, *pretty = NULL;
	const char *name, *ret;

	if (!bytes || !*ok)
		return NULL;
	buf = bytes > STRING_MAX ? NULL : malloc(bytes + 1);
	*ok = buf && read_all(s->fd, buf, bytes);
	if (!*ok) {
		free(buf);
		return NULL;
	}
	buf[bytes] = 0;
	if (mangled)
		pretty = demangle(buf);
	name = pretty ?: buf;
	if (!mangled && strrchr(name, '/'))
		name = strrchr(name, '/') + 1;
	ret = strpool__intern(s->strings, name, strlen(name));
	*ok = ret;
	free(pretty);
	free(buf);
	return ret;
}

/* Reads an answer. Return: the number of frames, or -1 if the answer is incomplete. */
static int srclines__answer(struct srclines *s, struct srcline *v)
{
	struct answer_frame f;
	bool ok = true;
	uint32_t nr, i;

	if (!read_all(s->fd, &nr, sizeof(nr)) || nr > SRCLINE_MAX)
		return -1;
	for (i = 0; i < nr && ok; i++) {
		ok = read_all(s->fd, &f, sizeof(f));
		v[i].line = ok ? f.line : 0;
		v[i].function = srclines__string(s, ok ? f.function_bytes : 0, true, &ok);
		v[i].file = srclines__string(s, ok ? f.file_bytes : 0, false, &ok);
	}
	return ok ? (int)nr : -1;
}

static bool elf_file__has_dwarf(const struct elf_file *f)
{
	GElf_Shdr shdr;

	return f->elf && (elf_file__section(f, ".debug_info", &shdr) ||
			  elf_file__section(f, ".zdebug_info", &shdr));
}

bool dso__has_lines(const struct dso *dso)
{
	bool own = elf_file__has_dwarf(&dso->file);

	return !dso->no_lines && (own ? dso->file_path : dso->debug_path) &&
	       (own || elf_file__has_dwarf(&dso->debug));
}

int srclines__find(struct srclines *s, struct dso *dso, uint64_t vaddr, struct srcline *v)
{
	bool own = elf_file__has_dwarf(&dso->file);
	const char *path = own ? dso->file_path : dso->debug_path;
	int nr, err;

	if (dso->state != DSO_LOADED || !dso__has_lines(dso))
		return 0;
	if (!s->pid) {
		err = srclines__start(s);
		if (err) {
			dso->no_lines = strerror(-err);
			return 0;
		}
	}
	nr = srclines__ask(s, path, own ? vaddr : vaddr - dso->debug_bias) ?
	     srclines__answer(s, v) : -1;
	if (nr >= 0)
		return nr;
	/* The next file gets a new process. */
	srclines__stop(s);
	dso->no_lines = "reading them failed or took too long; the file may be damaged";
	return 0;
}
