// SPDX-License-Identifier: GPL-3.0-or-later
#include "inject/inject_libc.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arch.h"
#include "base/child.h"
#include "base/confine.h"
#include "base/host_clock.h"
#include "inject/result.h"

#define ANSWER_MS	10000
#define ALL_ANSWERS_MS	20000
#define MAX_FILES	64		/* maximum number of files that the child has open at a
					 * time */
#define MAX_TEXT	(64u << 20)	/* maximum size of the C library's code */

enum reply_kind { REPLY_WANTS, REPLY_DONE };

struct reply {
	uint32_t kind;			/* REPLY_* */
	uint32_t module;		/* REPLY_WANTS: number of the module whose file is wanted */
	int32_t err;
	struct libc_places places;
	char why[INJECT_WHY];
};

/* ---- the child: files ------------------------------------------------------------------------ */

struct image {				/* a module's file */
	int fd;
	Elf *elf;
	uint64_t bias;
	uint64_t spare;			/* address of SPARE_BYTES behind the module's data, or 0 */
	uint64_t tls_image, tls_bytes;
};

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* Requests the file of a module. Return: a descriptor open for reading, or -1. */
static int get_file(uint32_t module)
{
	union control control;
	struct reply ask = { .kind = REPLY_WANTS, .module = module };
	char path[64], byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *c;
	int fd, file;

	if (send(CHILD_FD, &ask, sizeof(ask), MSG_NOSIGNAL) != sizeof(ask) ||
	    recvmsg(CHILD_FD, &msg, MSG_CMSG_CLOEXEC) != 1)
		_exit(1);
	c = CMSG_FIRSTHDR(&msg);
	if (!c || c->cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	close(fd);
	return file;
}

/*
 * Sets the load bias, and looks for spare memory after the data. Return: whether the bias is known.
 */
static bool image__place(struct image *i, const struct module *m)
{
	uint64_t end = 0;
	bool placed = false;
	size_t nr, k;
	GElf_Phdr ph;

	if (elf_getphdrnum(i->elf, &nr))
		return false;
	for (k = 0; k < nr && k < 64; k++) {
		if (!gelf_getphdr(i->elf, k, &ph))
			continue;
		if (ph.p_type == PT_TLS) {
			i->tls_image = ph.p_vaddr;
			i->tls_bytes = ph.p_filesz;
		}
		if (ph.p_type != PT_LOAD)
			continue;
		if (ph.p_flags & PF_W && ph.p_memsz > ph.p_filesz)
			end = ph.p_vaddr + ph.p_memsz;
		if (!(ph.p_flags & PF_X) || m->pgoff < (ph.p_offset & ~0xfffull) ||
		    m->pgoff >= ph.p_offset + ph.p_filesz)
			continue;
		i->bias = m->start - (ph.p_vaddr + (m->pgoff - ph.p_offset));
		placed = true;
	}
	i->tls_image += i->bias;
	if (end && (-end & 0xfff) >= SPARE_BYTES)
		i->spare = ((end + i->bias) | 0xfff) + 1 - SPARE_BYTES;
	return placed;
}

/* Opens the file of module @number. Return: whether it can be read. */
static bool image__open(struct image *i, const struct modules *all, uint32_t number)
{
	GElf_Ehdr head;

	*i = (struct image){ .fd = get_file(number) };
	i->elf = i->fd < 0 ? NULL : elf_begin(i->fd, ELF_C_READ, NULL);
	if (i->elf && gelf_getehdr(i->elf, &head) && head.e_machine == ARCH_ELF &&
	    head.e_ident[EI_CLASS] == ELFCLASS64 && image__place(i, &all->all[number]))
		return true;
	return false;
}

static void image__close(struct image *i)
{
	elf_end(i->elf);
	if (i->fd >= 0)
		close(i->fd);
}

/* Calls @fn with each exported symbol, until @fn returns true. Return: whether @fn did. */
static bool image__each_symbol(const struct image *i,
			       bool (*fn)(void *ctx, const char *name, const GElf_Sym *sym),
			       void *ctx)
{
	Elf_Scn *scn = NULL;
	Elf_Data *data;
	GElf_Shdr sh;
	GElf_Sym sym;
	const char *name;
	size_t k, nr;

	while ((scn = elf_nextscn(i->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_DYNSYM && sh.sh_entsize)
			break;
	data = scn ? elf_getdata(scn, NULL) : NULL;
	nr = data ? data->d_size / sh.sh_entsize : 0;
	for (k = 0; k < nr; k++) {
		if (!gelf_getsym(data, k, &sym) || sym.st_shndx == SHN_UNDEF)
			continue;
		name = elf_strptr(i->elf, sh.sh_link, sym.st_name);
		if (name && fn(ctx, name, &sym))
			return true;
	}
	return false;
}

/* ---- the child: places ----------------------------------------------------------------------- */

static bool is_function(const GElf_Sym *sym)
{
	return GELF_ST_TYPE(sym->st_info) == STT_FUNC ||
	       GELF_ST_TYPE(sym->st_info) == STT_GNU_IFUNC;
}

static bool is_calloc(void *ctx, const char *name, const GElf_Sym *sym)
{
	(void)ctx;
	return is_function(sym) && !strcmp(name, "calloc");
}

struct finding {
	struct reply *reply;
	uint64_t bias;
	bool has_errno;
};

static bool note_symbol(void *ctx, const char *name, const GElf_Sym *sym)
{
#define INJECT_NAME(name)	#name,
	static const char *const names[] = { INJECT_FUNCTIONS(INJECT_NAME) };
	struct finding *f = ctx;
	struct libc_places *p = &f->reply->places;
	size_t k;

	if (GELF_ST_TYPE(sym->st_info) == STT_TLS && !strcmp(name, "errno")) {
		p->errno_at = sym->st_value;
		f->has_errno = true;
	}
	for (k = 0; k < NR_FUNCTIONS && is_function(sym); k++)
		if (!p->fn[k] && !strcmp(name, names[k]))
			p->fn[k] = sym->st_value + f->bias;
	return false;
}

/* Searches for code in a module of the C library. Return: its address, or 0. */
static uint64_t find_code(const struct image *i, const struct module *m, const uint8_t *code,
			  size_t code_bytes)
{
	uint64_t bytes = m->end - m->start;
	uint8_t *text = bytes <= MAX_TEXT ? malloc(bytes) : NULL, *at = NULL;
	ssize_t n;

	n = text ? pread(i->fd, text, bytes, m->pgoff) : 0;
	if (n > 0)
		at = memmem(text, n, code, code_bytes);
	n = at ? at - text : -1;
	free(text);
	return n < 0 ? 0 : m->start + n;
}

/*
 * The driver is never unloaded, because it starts threads. The driver needs libm, so libm is never
 * unloaded, either. Programs, glibc and libstdc++ are never unloaded.
 */
static bool is_never_unloaded(const struct module *m)
{
	return m->kind == MODULE_LIBC || m->is_program || !strncmp(m->name, "libm.so", 7) ||
	       !strncmp(m->name, "libm-2.", 7) || !strncmp(m->name, "libcuda.so", 10) ||
	       !strncmp(m->name, "libstdc++.so", 12);
}

static void look_at(struct reply *r, const struct image *i, const struct module *m)
{
	struct finding f = { .reply = r, .bias = i->bias };
	struct libc_places *p = &r->places;

	if (m->kind == MODULE_LIBC) {
		image__each_symbol(i, note_symbol, &f);
		if (f.has_errno && i->tls_bytes <= TLS_IMAGE) {
			p->tls_image = i->tls_image;
			p->tls_bytes = i->tls_bytes;
		}
		if (!p->restorer)
			p->restorer = find_code(i, m, arch__restorer, arch__restorer_bytes);
		if (!p->end_thread)
			p->end_thread = find_code(i, m, arch__end_thread, arch__end_thread_bytes);
	} else if (!r->err && image__each_symbol(i, is_calloc, NULL)) {
		snprintf(r->why, sizeof(r->why), "it has an allocator of its own (%.50s)",
			 m->name);
		r->err = -ENOTSUP;
	}
	if (i->spare && !p->spare && is_never_unloaded(m))
		p->spare = i->spare;
}

static void find_places(const struct modules *all, struct reply *r)
{
	const struct module *m;
	struct image i;
	uint32_t k;

	for (k = 0; k < all->nr; k++) {
		m = &all->all[k];
		if (m->kind == MODULE_NAMELESS || m->kind == MODULE_LOADER)
			continue;
		if (image__open(&i, all, k)) {
			look_at(r, &i, m);
		} else if (!r->err && i.fd < 0 && m->kind != MODULE_DRIVER &&
			   (m->is_program || strstr(m->name, ".so"))) {
			snprintf(r->why, sizeof(r->why), "its %.50s cannot be read, and may have "
				 "an allocator of its own", m->name);
			r->err = -ENOTSUP;
		} else if (m->kind == MODULE_LIBC) {
			snprintf(r->why, sizeof(r->why), "its %.50s cannot be read, or is for "
				 "another processor", m->name);
			r->err = -ENOTSUP;
		}
		image__close(&i);
	}
	if (r->err)
		return;
	for (k = 0; k < NR_FUNCTIONS; k++)
		if (!r->places.fn[k])
			break;
	if (k == NR_FUNCTIONS && r->places.restorer && r->places.end_thread &&
	    r->places.spare && r->places.tls_image)
		return;
	snprintf(r->why, sizeof(r->why), "%s", r->places.spare ?
		 "its C library lacks a function that is needed" :
		 "its libraries have too little unused memory after their data");
	r->err = -ENOTSUP;
}

static _Noreturn void run_child(const struct modules *all, int fd, pid_t parent)
{
	static struct reply r;

	if (child__settle(fd, parent, "xpuload-libc") || confine__process(MAX_FILES))
		_exit(1);
	elf_version(EV_CURRENT);
	find_places(all, &r);
	r.kind = REPLY_DONE;
	send(CHILD_FD, &r, sizeof(r), MSG_NOSIGNAL);
	_exit(0);
}

/* ---- the parent ------------------------------------------------------------------------------ */

/* Sends the file of a module, or nothing if it cannot be opened. */
static bool send_file(int to, pid_t pid, const struct modules *modules, uint32_t module)
{
	union control control = { 0 };
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *h;
	bool sent;
	int fd = -1;

	if (module < modules->nr)
		fd = module__open(pid, &modules->all[module]);
	if (fd >= 0) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		h = CMSG_FIRSTHDR(&msg);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(h), &fd, sizeof(fd));
	}
	sent = sendmsg(to, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
	if (fd >= 0)
		close(fd);
	return sent;
}

/* Serves the child until it is done. Return: whether it has answered. */
static bool serve(int fd, pid_t pid, const struct modules *modules, struct reply *r)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t end = clock__now() + ALL_ANSWERS_MS * 1000000ull;

	for (;;) {
		if (poll(&p, 1, ANSWER_MS) <= 0 || clock__now() > end ||
		    recv(fd, r, sizeof(*r), MSG_DONTWAIT) != sizeof(*r))
			return false;
		if (r->kind != REPLY_WANTS)
			break;
		if (!send_file(fd, pid, modules, r->module))
			return false;
	}
	r->why[sizeof(r->why) - 1] = '\0';
	return true;
}

/* Whether p->fn, p->restorer and p->end_thread are addresses in the C library. */
static bool is_plausible(const struct modules *modules, const struct libc_places *p)
{
	const struct module *m;
	size_t i;

	for (i = 0; i < NR_FUNCTIONS + 2; i++) {
		m = modules__find(modules, i < NR_FUNCTIONS ? p->fn[i] :
				  i == NR_FUNCTIONS ? p->restorer : p->end_thread);
		if (!m || m->kind != MODULE_LIBC)
			return false;
	}
	return true;
}

int libc__find(pid_t pid, const struct modules *modules, struct libc_places *p, char *why)
{
	struct reply r = { 0 };
	pid_t parent = getpid(), child;
	int fds[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds)) {
		snprintf(why, INJECT_WHY, "socketpair: %s", strerror(errno));
		return -errno;
	}
	child = fork();
	if (!child)
		run_child(modules, fds[1], parent);
	close(fds[1]);
	if (child < 0 || !serve(fds[0], pid, modules, &r)) {
		snprintf(r.why, sizeof(r.why), "its files cannot be read");
		r.err = -EIO;
	}
	close(fds[0]);
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	err = r.err;
	if (!err && !is_plausible(modules, &r.places)) {
		snprintf(r.why, sizeof(r.why), "the symbols of its C library are wrong");
		err = -ENOTSUP;
	}
	memcpy(why, r.why, INJECT_WHY);
	*p = r.places;
	return err;
}
