// SPDX-License-Identifier: GPL-3.0-or-later
#include "inject/inject_chain.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
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
#include "dwarf_ops.h"
#include "inject/result.h"

#define ANSWER_MS	2000
#define MAX_FRAMES	256
#define MAX_BASE	4		/* frames of the C library below the first function */
#define MAX_FILES	2048		/* files of modules that are open at a time */
#define MAX_TEXT	(64u << 20)	/* bytes of the C library's code */

enum op { OP_FIND, OP_CHECK };
enum reply_kind { REPLY_WANTS, REPLY_DONE };

struct reply {
	uint32_t kind;			/* REPLY_* */
	uint32_t module;		/* REPLY_WANTS: number of the module whose file is wanted */
	int32_t err;
	uint32_t bytes;			/* of the stack */
	uint64_t fn[NR_FUNCTIONS], restorer;
	char why[INJECT_WHY];
};

struct chain {
	pid_t target, pid;
	int fd;
	const struct modules *modules;	/* the child may change its copy */
	struct chain_shared *shared;
};

/* ---- the child: files ------------------------------------------------------------------------ */

struct symbol {
	uint64_t start, end;
	const char *name;
};

struct image {				/* a module's file */
	bool tried;
	int fd;
	Elf *elf;			/* NULL: it cannot be read */
	Dwarf_CFI *cfi;
	uint64_t bias;
	bool has_malloc;		/* it exports an allocator */
	struct symbol *symbols;		/* exported functions */
	size_t nr_symbols;
};

struct walker {
	struct chain_shared *shared;
	struct image images[MAX_MODULES];
	struct reply reply;
};

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* Asks for the file of a module. Return: a descriptor open for reading, or -1. */
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

static bool image__set_bias(struct image *i, const struct module *m)
{
	size_t nr, k;
	GElf_Phdr ph;

	if (elf_getphdrnum(i->elf, &nr))
		return false;
	for (k = 0; k < nr && k < 64; k++) {
		if (!gelf_getphdr(i->elf, k, &ph) || ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;
		if (m->pgoff < (ph.p_offset & ~0xfffull) ||
		    m->pgoff >= ph.p_offset + ph.p_filesz)
			continue;
		i->bias = m->start - (ph.p_vaddr + (m->pgoff - ph.p_offset));
		return true;
	}
	return false;
}

static void image__read_symbols(struct image *i)
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
	i->symbols = nr ? calloc(nr, sizeof(*i->symbols)) : NULL;
	for (k = 0; i->symbols && k < nr; k++) {
		if (!gelf_getsym(data, k, &sym) || sym.st_shndx == SHN_UNDEF || !sym.st_value ||
		    (GELF_ST_TYPE(sym.st_info) != STT_FUNC &&
		     GELF_ST_TYPE(sym.st_info) != STT_GNU_IFUNC))
			continue;
		name = elf_strptr(i->elf, sh.sh_link, sym.st_name);
		if (!name)
			continue;
		i->has_malloc |= !strcmp(name, "malloc");
		i->symbols[i->nr_symbols++] = (struct symbol){
			sym.st_value + i->bias, sym.st_value + sym.st_size + i->bias, name,
		};
	}
}

static struct image *walker__image(struct walker *w, const struct module *m)
{
	struct image *i = &w->images[m - w->shared->modules.all];
	GElf_Ehdr head;

	if (i->tried)
		return i->elf ? i : NULL;
	i->tried = true;
	if (m->kind == MODULE_NAMELESS)
		return NULL;
	i->fd = get_file(m - w->shared->modules.all);
	i->elf = i->fd < 0 ? NULL : elf_begin(i->fd, ELF_C_READ, NULL);
	if (!i->elf)
		return NULL;
	if (!gelf_getehdr(i->elf, &head) || head.e_machine != ARCH_ELF ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || !image__set_bias(i, m)) {
		elf_end(i->elf);
		i->elf = NULL;
		return NULL;
	}
	image__read_symbols(i);
	i->cfi = dwarf_getcfi_elf(i->elf);
	return i;
}

/* Whether a function with one of the names has @addr. */
static bool image__is_one_of(const struct image *i, uint64_t addr, const char *const *names)
{
	size_t k, n;

	for (k = 0; k < i->nr_symbols; k++) {
		if (addr < i->symbols[k].start || addr >= i->symbols[k].end)
			continue;
		for (n = 0; names[n]; n++)
			if (!strcmp(i->symbols[k].name, names[n]))
				return true;
	}
	return false;
}

static const char *image__name(const struct image *i, uint64_t addr)
{
	size_t k;

	for (k = 0; k < i->nr_symbols; k++)
		if (addr >= i->symbols[k].start && addr < i->symbols[k].end)
			return i->symbols[k].name;
	return NULL;
}

/* ---- the child: functions -------------------------------------------------------------------- */

static uint64_t find_restorer(const struct image *i, const struct module *m)
{
	uint64_t bytes = m->end - m->start;
	uint8_t *text = bytes <= MAX_TEXT ? malloc(bytes) : NULL, *at = NULL;
	ssize_t n;

	n = text ? pread(i->fd, text, bytes, m->pgoff) : 0;
	if (n > 0)
		at = memmem(text, n, arch__restorer, arch__restorer_bytes);
	n = at ? at - text : -1;
	free(text);
	return n < 0 ? 0 : m->start + n;
}

static void find_functions(struct walker *w)
{
#define INJECT_NAME(name)	#name,
	static const char *const names[] = { INJECT_FUNCTIONS(INJECT_NAME) };
	const struct modules *all = &w->shared->modules;
	struct reply *r = &w->reply;
	const struct image *i;
	uint32_t m, k;
	size_t s;

	for (m = 0; m < all->nr; m++) {
		if (all->all[m].kind != MODULE_LIBC)
			continue;
		i = walker__image(w, &all->all[m]);
		if (!i) {
			snprintf(r->why, sizeof(r->why), "its %.50s cannot be read, or is for "
				 "another processor", all->all[m].name);
			r->err = -ENOTSUP;
			return;
		}
		for (s = 0; s < i->nr_symbols; s++)
			for (k = 0; k < NR_FUNCTIONS; k++)
				if (!r->fn[k] && !strcmp(i->symbols[s].name, names[k]))
					r->fn[k] = i->symbols[s].start;
		if (!r->restorer)
			r->restorer = find_restorer(i, &all->all[m]);
	}
	for (k = 0; k < NR_FUNCTIONS; k++) {
		if (r->fn[k])
			continue;
		snprintf(r->why, sizeof(r->why), "its C library has no %s()", names[k]);
		r->err = -ENOTSUP;
		return;
	}
	if (!r->restorer) {
		snprintf(r->why, sizeof(r->why), "its C library has no code that returns from "
			 "signals");
		r->err = -ENOTSUP;
	}
}

/* ---- the child: unwinding -------------------------------------------------------------------- */

struct frame {
	uint64_t regs[ARCH_NR_REGS];
	uint32_t known;			/* a bit for each register */
};

static bool read_stack(void *ctx, uint64_t addr, uint64_t *value)
{
	struct walker *w = ctx;
	const struct chain_shared *s = w->shared;
	uint64_t off = addr - s->stack_at;

	if (s->stack_bytes < sizeof(*value) || off > s->stack_bytes - sizeof(*value))
		return false;
	memcpy(value, s->stack + off, sizeof(*value));
	if (w->reply.bytes < off + sizeof(*value))
		w->reply.bytes = off + sizeof(*value);
	return true;
}

static bool frame__reg(const void *vframe, uint64_t reg, uint64_t *value)
{
	const struct frame *f = vframe;

	if (reg >= ARCH_NR_REGS || !(f->known >> reg & 1))
		return false;
	*value = f->regs[reg];
	return true;
}

enum step { STEP_DONE, STEP_ROOT, STEP_LOST, STEP_SIGNAL };

/* Replaces the registers of a frame by the registers of its caller. @pc: in the file */
static enum step step(struct walker *w, struct frame *f, Dwarf_CFI *cfi, uint64_t pc)
{
	struct dwarf_ops e = { .reg = frame__reg, .regs = f,
			       .expr = { .read = read_stack, .ctx = w } };
	struct frame caller = { .known = 0 };
	enum step result = STEP_LOST;
	Dwarf_Op ops_mem[3], *ops;
	uint64_t value;
	Dwarf_Frame *d;
	size_t nr_ops;
	bool is_signal;
	int i, ra;

	if (!cfi || dwarf_cfi_addrframe(cfi, pc, &d))
		return STEP_LOST;
	ra = dwarf_frame_info(d, NULL, NULL, &is_signal);
	if (is_signal) {
		result = STEP_SIGNAL;
		goto out;
	}
	if (ra < 0 || dwarf_frame_cfa(d, &ops, &nr_ops) ||
	    !nr_ops || !dwarf_ops__evaluate(&e, ops, nr_ops, &e.cfa))
		goto out;
	for (i = 0; i < ARCH_NR_REGS; i++) {
		if (dwarf_frame_register(d, i == ARCH_IP ? ra : i, ops_mem, &ops, &nr_ops))
			goto out;
		if (!nr_ops && ops) {			/* undefined */
			if (i == ARCH_IP) {
				result = STEP_ROOT;
				goto out;
			}
			continue;
		}
		if (!nr_ops) {				/* the same value */
			caller.regs[i] = f->regs[i];
			caller.known |= f->known & 1u << i;
			continue;
		}
		if (!dwarf_ops__evaluate(&e, ops, nr_ops, &value) ||
		    (!e.is_value && !read_stack(w, value, &value)))
			continue;
		caller.regs[i] = value;
		caller.known |= 1u << i;
	}
	if (!(caller.known & 1u << ARCH_SP)) {
		caller.regs[ARCH_SP] = e.cfa;
		caller.known |= 1u << ARCH_SP;
	}
	if (caller.known & 1u << ARCH_IP && caller.regs[ARCH_SP] > f->regs[ARCH_SP]) {
		*f = caller;
		result = STEP_DONE;
	}
out:
	free(d);
	return result;
}

/* ---- the child: which threads may be borrowed ------------------------------------------------ */

/* Functions of the C library that wait without holding a lock of the C library. */
static const char *const waiting[] = {
	"read", "__read", "readv", "write", "__write", "writev", "recv", "recvfrom", "recvmsg",
	"accept", "accept4", "send", "sendto", "sendmsg", "__recv_chk", "__recvfrom_chk",
	"__read_chk", "poll", "__poll", "ppoll", "__poll_chk", "__ppoll_chk", "select", "__select",
	"pselect", "epoll_wait", "epoll_pwait", "epoll_pwait2", "nanosleep", "__nanosleep",
	"clock_nanosleep", "__clock_nanosleep", "usleep", "sleep", "thrd_sleep", "pause", "wait",
	"__wait", "wait3", "wait4", "waitid", "waitpid", "__waitpid", "pthread_cond_wait",
	"pthread_cond_timedwait", "pthread_cond_clockwait", "__pthread_cond_wait",
	"cnd_wait", "cnd_timedwait", "pthread_mutex_lock", "__pthread_mutex_lock",
	"pthread_mutex_timedlock", "pthread_mutex_clocklock", "mtx_lock", "pthread_rwlock_rdlock",
	"pthread_rwlock_wrlock", "__pthread_rwlock_rdlock", "__pthread_rwlock_wrlock",
	"pthread_join", "pthread_timedjoin_np", "pthread_clockjoin_np", "thrd_join",
	"pthread_barrier_wait", "sem_wait", "sem_timedwait", "sem_clockwait", "syscall", NULL,
};

/*
 * Functions of the C library that hold the lock of a stream meanwhile. Loading the shim uses no
 * stream.
 */
static const char *const streams[] = {
	"fgets", "fgetc", "getc", "_IO_getc", "getchar", "getline", "__getline", "getdelim",
	"__getdelim", "fread", "fwrite", "fputs", "fputc", "puts", "putchar", "fflush", NULL,
};

/* Functions of the C library that these call, down to the system call. */
static const char *const stream_parts[] = {
	"read", "__read", "write", "__write", "__uflow", "__underflow", "__overflow",
	"_IO_file_underflow", "_IO_file_overflow", "_IO_file_xsgetn", "_IO_file_xsputn",
	"_IO_file_read", "_IO_file_write", "_IO_default_uflow", "_IO_default_xsgetn",
	"_IO_new_file_underflow", "_IO_new_file_write", "_IO_do_write", "_IO_getline",
	"_IO_getline_info", "_IO_file_sync", "_IO_sgetn", NULL,
};

/* Functions of the C library that call a thread's first function. */
static const char *const bases[] = {
	"__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main", "start_thread",
	"clone", "__clone", "clone3", "__clone3", NULL,
};

static int refuse(struct walker *w, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(struct walker *w, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(w->reply.why, sizeof(w->reply.why), fmt, args);
	va_end(args);
	return err;
}

struct place {				/* a frame's place */
	const struct module *module;
	const struct image *image;
	uint64_t addr;
};

static int check_module(struct walker *w, const struct place *p)
{
	switch (p->module->kind) {
	case MODULE_LOADER:
		return refuse(w, -EAGAIN, "is in the dynamic loader");
	case MODULE_DRIVER:
		return refuse(w, -EAGAIN, "is in CUDA's driver (%.50s)", p->module->name);
	case MODULE_NAMELESS:
		return refuse(w, -EAGAIN, "is in generated code");
	case MODULE_OTHER:
		if (p->image->has_malloc)
			return refuse(w, -EAGAIN, "is in an allocator (%.50s)", p->module->name);
	}
	return 0;
}

/* Checks frames of the C library between @from, the innermost, and @to, excluded. */
static int check_libc(struct walker *w, const struct place *p, size_t from, size_t to, size_t nr)
{
	const char *name;
	size_t i;

	if (!from) {
		if (image__is_one_of(p[to - 1].image, p[to - 1].addr, waiting))
			return 0;
		if (image__is_one_of(p[to - 1].image, p[to - 1].addr, streams)) {
			for (i = from; i < to - 1; i++)
				if (!image__is_one_of(p[i].image, p[i].addr, stream_parts))
					break;
			if (i == to - 1)
				return 0;
		}
		name = image__name(p[to - 1].image, p[to - 1].addr);
		return refuse(w, -EAGAIN, "is in %.60s of the C library", name ?: "a function");
	}
	/*
	 * The callers of a thread's first function, where the chain ends, may have no names. A
	 * process's first function has one more caller, _start().
	 */
	if (to < nr - 1 || to - from > MAX_BASE ||
	    (to == nr - 1 && !image__is_one_of(p[to - 1].image, p[to - 1].addr, bases)))
		return refuse(w, -EAGAIN, "is in a callback of the C library");
	for (i = from; i < to; i++) {
		name = image__name(p[i].image, p[i].addr);
		if (name && !image__is_one_of(p[i].image, p[i].addr, bases))
			return refuse(w, -EAGAIN, "is in %.60s of the C library", name);
	}
	return 0;
}

static int check_places(struct walker *w, const struct place *p, size_t nr)
{
	size_t i, from;
	int err;

	for (i = 0; i < nr; i++) {
		err = check_module(w, &p[i]);
		if (err)
			return err;
	}
	if (p[0].module->kind != MODULE_LIBC)
		return refuse(w, -EAGAIN, "makes system calls without the C library");
	for (i = 0; i < nr; i++) {
		if (p[i].module->kind != MODULE_LIBC)
			continue;
		from = i;
		while (i < nr && p[i].module->kind == MODULE_LIBC)
			i++;
		err = check_libc(w, p, from, i, nr);
		if (err)
			return err;
	}
	return 0;
}

static int walk(struct walker *w)
{
	struct frame f = { .known = (1u << ARCH_NR_REGS) - 1 };
	struct place places[MAX_FRAMES], *p;
	enum step s;
	size_t nr;
	uint64_t pc;

	memcpy(f.regs, w->shared->regs, sizeof(f.regs));
	for (nr = 0; nr < MAX_FRAMES; ) {
		p = &places[nr++];
		pc = f.regs[ARCH_IP] - (nr > 1);	/* inside of the call */
		p->addr = pc;
		p->module = modules__find(&w->shared->modules, pc);
		if (!p->module)
			return refuse(w, -EAGAIN, "has an unknown caller");
		p->image = walker__image(w, p->module);
		if (!p->image)
			return refuse(w, -EAGAIN, p->module->kind == MODULE_NAMELESS ?
				      "is in generated code" : "is in a file that cannot be read");
		s = step(w, &f, p->image->cfi, pc - p->image->bias);
		if (s == STEP_ROOT)
			return check_places(w, places, nr);
		if (s == STEP_SIGNAL)
			return refuse(w, -EAGAIN, "is in a signal handler");
		if (s == STEP_LOST)
			return refuse(w, -EAGAIN, "has callers that cannot be found (%.50s)",
				      p->module->name);
	}
	return refuse(w, -EAGAIN, "has more than %d callers", MAX_FRAMES);
}

static _Noreturn void run_child(struct chain_shared *shared, int fd, pid_t parent)
{
	struct walker *w = calloc(1, sizeof(*w));
	uint32_t op;
	struct iovec iov = { &op, sizeof(op) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (!w || child__settle(fd, parent, "xpuload-chain") || confine__process(MAX_FILES))
		_exit(1);
	w->shared = shared;
	elf_version(EV_CURRENT);
	while (recvmsg(CHILD_FD, &msg, 0) == sizeof(op)) {
		memset(&w->reply, 0, sizeof(w->reply));
		if (op == OP_FIND)
			find_functions(w);
		else
			w->reply.err = walk(w);
		w->reply.kind = REPLY_DONE;
		if (send(CHILD_FD, &w->reply, sizeof(w->reply), MSG_NOSIGNAL) != sizeof(w->reply))
			break;
	}
	_exit(0);
}

/* ---- the parent ------------------------------------------------------------------------------ */

struct chain *chain__new(pid_t pid, const struct modules *modules)
{
	struct chain *c = calloc(1, sizeof(*c));
	pid_t parent = getpid();
	int fds[2];

	if (!c)
		return NULL;
	c->target = pid;
	c->shared = mmap(NULL, sizeof(*c->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (c->shared == MAP_FAILED)
		goto fail;
	c->modules = modules;
	c->shared->modules = *modules;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		goto unmap;
	c->pid = fork();
	if (!c->pid)
		run_child(c->shared, fds[1], parent);
	close(fds[1]);
	c->fd = fds[0];
	if (c->pid > 0)
		return c;
	close(c->fd);
unmap:
	munmap(c->shared, sizeof(*c->shared));
fail:
	free(c);
	return NULL;
}

void chain__free(struct chain *c)
{
	if (!c)
		return;
	close(c->fd);
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	munmap(c->shared, sizeof(*c->shared));
	free(c);
}

struct chain_shared *chain__shared(struct chain *c)
{
	return c->shared;
}

/* Sends the file of a module, or nothing if it cannot be opened. */
static bool send_file(struct chain *c, uint32_t module)
{
	union control control = { 0 };
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *h;
	bool sent;
	int fd = -1;

	if (module < c->modules->nr)
		fd = module__open(c->target, &c->modules->all[module]);
	if (fd >= 0) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		h = CMSG_FIRSTHDR(&msg);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(h), &fd, sizeof(fd));
	}
	sent = sendmsg(c->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
	if (fd >= 0)
		close(fd);
	return sent;
}

static int chain__ask(struct chain *c, uint32_t op, struct reply *r)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };

	if (send(c->fd, &op, sizeof(op), MSG_DONTWAIT | MSG_NOSIGNAL) != sizeof(op))
		goto ended;
	do {
		if (poll(&p, 1, ANSWER_MS) <= 0 ||
		    recv(c->fd, r, sizeof(*r), MSG_DONTWAIT) != sizeof(*r))
			goto ended;
		if (r->kind == REPLY_WANTS && !send_file(c, r->module))
			goto ended;
	} while (r->kind == REPLY_WANTS);
	r->why[sizeof(r->why) - 1] = '\0';
	return r->err;
ended:
	snprintf(r->why, sizeof(r->why), "its files cannot be read");
	return -EIO;
}

int chain__find(struct chain *c, uint64_t fn[NR_FUNCTIONS], uint64_t *restorer, char *why)
{
	const struct module *m;
	struct reply r = { 0 };
	int err = chain__ask(c, OP_FIND, &r), i;

	memcpy(why, r.why, INJECT_WHY);
	for (i = 0; !err && i <= NR_FUNCTIONS; i++) {
		m = modules__find(c->modules, i < NR_FUNCTIONS ? r.fn[i] : r.restorer);
		if (!m || m->kind != MODULE_LIBC) {
			snprintf(why, INJECT_WHY, "the symbols of its C library are wrong");
			err = -ENOTSUP;
		}
	}
	memcpy(fn, r.fn, sizeof(r.fn));
	*restorer = r.restorer;
	return err;
}

int chain__check(struct chain *c, uint32_t *bytes, char *why)
{
	struct reply r = { 0 };
	int err = chain__ask(c, OP_CHECK, &r);

	memcpy(why, r.why, INJECT_WHY);
	*bytes = r.bytes < CHAIN_STACK ? r.bytes : CHAIN_STACK;
	return err;
}
