// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Injects the shim into running programs at random moments: each program goes on as if nothing had
 * happened. Its threads allocate, load libraries, throw, compute, fault, fork and wait. The test
 * also kills the injecting process at each of its steps, and at random moments.
 *
 * XPU_INJECT_TIMES is the number of rounds, XPU_INJECT_KILLS the number of random moments.
 */
#include "inject/inject.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/msg.h"
#include "inject/inject_steps.h"
#include "tap.h"

#define MAX_ROUNDS	100000

static const char *build;

struct program {
	pid_t pid;
	int in, out;			/* the program's stdin, its stdout */
};

static void nap_us(unsigned int us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

/* Starts the program busy, or busy.py if @threads is NULL. */
static void program__start(struct program *p, const char *threads, const char *kinds)
{
	char path[4096], script[4096], line[64];
	int in[2], out[2];

	snprintf(path, sizeof(path), "%s/workload/busy", build);
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		exit(1);
	p->pid = fork();
	if (!p->pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		if (threads)
			execl(path, path, "-t", threads, "-k", kinds, NULL);
		snprintf(path, sizeof(path), "%s/workload/py_launch.so", build);
		snprintf(script, sizeof(script), "%s/test/workload/busy.py", getenv("XPU_SRC"));
		execlp("python3", "python3", script, path, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	p->in = in[1];
	p->out = out[0];
	if (read(p->out, line, sizeof(line)) <= 0)
		diag("the program does not start");
}

/* Ends the program. Return: whether it ran correctly until then. */
static bool program__end(struct program *p)
{
	char text[256] = "";
	int status = -1;
	ssize_t n;

	nap_us(3000);
	close(p->in);
	n = read(p->out, text, sizeof(text) - 1);
	close(p->out);
	waitpid(p->pid, &status, 0);
	if (n > 0 && !status && strstr(text, " wrong 0\n"))
		return true;
	diag("status %x: %s", status, text);
	return false;
}

static bool has_text(const char *path, const char *text)
{
	char line[512];
	bool found = false;
	FILE *f;

	f = fopen(path, "r");
	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, text);
	if (f)
		fclose(f);
	return found;
}

/* Return: whether the program has a mapping with @name in its line. */
static bool program__maps(const struct program *p, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", p->pid);
	return has_text(path, name);
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void test_rounds(const char *name, const char *threads, const char *kinds, int nr)
{
	static uint64_t stops[MAX_ROUNDS];
	int i, err, nr_good = 0, nr_loaded = 0, nr_done = 0;
	struct inject_result r;
	struct program p;
	uint64_t longest = 0;
	char shim[4096];

	snprintf(shim, sizeof(shim), "%s/libxpushim.so", build);
	for (i = 0; i < nr; i++) {
		program__start(&p, threads, kinds);
		nap_us(random() % 3000);
		memset(&r, 0, sizeof(r));
		err = inject__into(p.pid, shim, &r);
		if (err)
			diag("round %d: error %d: %s", i, err, r.why);
		else
			stops[nr_done++] = r.stopped_ns - r.cpu_wait_ns;
		if (r.stopped_ns > longest)
			longest = r.stopped_ns;
		nr_loaded += program__maps(&p, "/libxpushim.so");
		nr_good += program__end(&p);
	}
	is_int(nr_done, nr, "%s: the shim is injected", name);
	is_int(nr_loaded, nr, "%s: the shim is mapped", name);
	is_int(nr_good, nr, "%s: the program goes on, with correct results", name);
	qsort(stops, nr_done, sizeof(stops[0]), by_size);
	/* A busy machine stops threads for longer, so durations are checked on request only. */
	if (getenv("XPU_INJECT_TIMES"))
		ok(nr_done && stops[nr_done / 2] < 1000000 && stops[nr_done - 1] < 10000000,
		   "%s: threads are stopped for 1 ms in the median, 10 ms at most", name);
	if (nr_done)
		diag("%s: a thread stood still for %.2f ms in the median, %.2f at most, without "
		     "its waiting for a CPU (with it, %.2f)", name, stops[nr_done / 2] / 1e6,
		     stops[nr_done - 1] / 1e6, longest / 1e6);
}

/* ---- the injecting process ends -------------------------------------------------------------- */

static int end_at = -1;			/* the step at which the injecting process is killed */

void inject_step(enum inject_step step)
{
	if ((int)step == end_at)
		kill(getpid(), SIGKILL);
}

/* Return: whether the program has executable memory that is not mapped from a file. */
static bool program__has_code(const struct program *p)
{
	char path[64], line[512], perms[8];
	unsigned long inode;
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", p->pid);
	f = fopen(path, "r");
	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%*s %7s %*s %*s %lu", perms, &inode) == 2 &&
			perms[2] == 'x' && !inode && !strchr(line, '[');
	if (f)
		fclose(f);
	return found;
}

/*
 * The injecting process ends at each step. New memory may stay if the process ends before the new
 * threads run on their own. After later steps, the loading thread frees the memory when its timeout
 * expires.
 */
static void test_steps(void)
{
	struct program programs[NR_STEPS];
	struct inject_result r;
	int i, n, err, nr_ended = 0, nr_good = 0, nr_left = 0, nr_loaded = 0;
	char shim[4096];

	snprintf(shim, sizeof(shim), "%s/libxpushim.so", build);
	for (i = 0; i < NR_STEPS; i++) {
		program__start(&programs[i], "6", "trfpwl");
		end_at = i;
		err = inject__into(programs[i].pid, shim, &r);
		end_at = -1;
		if (err != -EIO)
			diag("step %d: error %d: %s", i, err, r.why);
		nr_ended += err == -EIO;
	}
	is_int(nr_ended, NR_STEPS, "xpuload is killed at each of its %d steps", NR_STEPS);
	for (i = 0; i < NR_STEPS; i++) {
		for (n = 0; i != STEP_FILLED && program__has_code(&programs[i]) && n < 6000; n++)
			nap_us(20000);
		if (i != STEP_FILLED && program__has_code(&programs[i])) {
			diag("step %d: code of ours is left", i);
			nr_left++;
		}
		nr_loaded += program__maps(&programs[i], "/libxpushim.so");
		nr_good += program__end(&programs[i]);
	}
	is_int(nr_good, NR_STEPS, "killed at any step: the program goes on, with correct results");
	is_int(nr_loaded, NR_STEPS - STEP_LOADED,
	       "killed at any step: the program has the shim if it was loaded");
	is_int(nr_left, 0, "killed at any step but one: no code of ours is left");
}

/* At a random moment, kills the process that traces the program. */
static void test_killed(const char *threads, const char *kinds, int nr)
{
	int i, status, nr_good = 0, nr_loaded = 0;
	struct inject_result r;
	struct program p;
	char shim[4096];
	pid_t pid;

	snprintf(shim, sizeof(shim), "%s/libxpushim.so", build);
	for (i = 0; i < nr; i++) {
		program__start(&p, threads, kinds);
		pid = fork();
		if (!pid) {
			inject__into(p.pid, shim, &r);
			_exit(0);
		}
		nap_us(random() % 300000);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		nap_us(2000);
		nr_loaded += program__maps(&p, "/libxpushim.so");
		nr_good += program__end(&p);
	}
	is_int(nr_good, nr, "xpuload is killed at a random moment: the program goes on");
	diag("%d of %d had the shim then", nr_loaded, nr);
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* Return: the process's mappings as text, for the caller to free. */
static char *maps_of(pid_t pid)
{
	char path[64], *text = calloc(1, 1 << 20);
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "r");
	if (!f || !text || !fread(text, 1, (1 << 20) - 1, f))
		diag("%s cannot be read", path);
	if (f)
		fclose(f);
	return text;
}

/* Installs a filter that does @action at system call @nr. */
static void filter_call(unsigned int nr, unsigned int action)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = 4, .filter = filter };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		_exit(1);
}

static void forbid_ppoll(void)
{
	filter_call(SYS_ppoll, SECCOMP_RET_KILL_PROCESS);
}

/* Makes the C library call clone(), as Docker does. */
static void fail_clone3(void)
{
	filter_call(SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);
}

static void be_stopped(struct program *p)
{
	kill(p->pid, SIGSTOP);
	nap_us(20000);
}

static pid_t helper;

static void be_traced(struct program *p)
{
	int ready[2];
	char byte;

	if (pipe(ready))
		exit(1);
	helper = fork();
	if (!helper) {
		close(ready[0]);
		if (ptrace(PTRACE_SEIZE, p->pid, 0, 0))
			_exit(1);
		byte = write(ready[1], "", 1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		diag("the program cannot be traced");
	close(ready[0]);
}

static void have_no_memory(struct program *p)
{
	struct rlimit none = { 0, 0 };

	prlimit(p->pid, RLIMIT_AS, &none, NULL);
}

static void have_shim(struct program *p)
{
	struct inject_result r;
	char shim[4096];

	snprintf(shim, sizeof(shim), "%s/libxpushim.so", build);
	is_int(inject__into(p->pid, shim, &r), 0, "a first shim: %s", r.why);
	nap_us(100000);			/* the thread that loaded the shim ends */
}

static void end_helper(struct program *p)
{
	kill(p->pid, SIGCONT);
	if (helper) {
		kill(helper, SIGKILL);
		waitpid(helper, NULL, 0);
		helper = 0;
	}
}

static const struct refusal {
	const char *name, *file, *arg;	/* NULL: a busy program with waiting threads */
	void (*before)(void);		/* called in the program, before execve() */
	void (*after)(struct program *p);
	int err;
	const char *why;
} refusals[] = {
	{ "no CUDA", "sleep", "100", NULL, NULL, -ENOENT, "it has not loaded CUDA (libcuda.so)" },
	{ "a static program", "cpu_static", "wait", NULL, NULL, -ENOTSUP,
	  "it is a static program" },
	{ "a stopped program", NULL, NULL, NULL, be_stopped, -EBUSY, "it is stopped by a signal" },
	{ "a traced program", NULL, NULL, NULL, be_traced, -EBUSY, "traces it" },
	{ "no memory", NULL, NULL, NULL, have_no_memory, -ENOMEM, "it cannot map memory" },
	{ "the shim is there", NULL, NULL, NULL, have_shim, -EEXIST,
	  "it has a libxpushim.so already" },
	{ "a seccomp filter kills it", NULL, NULL, forbid_ppoll, NULL, -EPERM,
	  "seccomp filter" },
};

static void program__run(struct program *p, const struct refusal *r)
{
	char path[4096];
	int in[2], out[2], null;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		exit(1);
	p->pid = fork();
	if (!p->pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		null = open("/dev/null", O_WRONLY);
		dup2(null, 2);
		if (r->before)
			r->before();
		snprintf(path, sizeof(path), "%s/workload/%s", build, r->file ?: "busy");
		if (r->file && *r->file == 's')
			execlp(r->file, r->file, r->arg, NULL);
		else if (r->file)
			execl(path, path, "1", r->arg, NULL);
		else
			execl(path, path, "-t", "3", "-k", "w", NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	p->in = in[1];
	p->out = out[0];
}

static void test_refusal(const struct refusal *t)
{
	struct inject_result r = { 0 };
	char shim[4096], line[64], *before, *after;
	struct program p;
	int err;

	snprintf(shim, sizeof(shim), "%s/libxpushim.so", build);
	program__run(&p, t);
	if (t->file)
		nap_us(200000);
	else if (read(p.out, line, sizeof(line)) <= 0)
		diag("%s: the program does not start", t->name);
	if (t->after)
		t->after(&p);
	before = maps_of(p.pid);
	err = inject__into(p.pid, shim, &r);
	if (!geteuid() || t->err != -EPERM) {
		ok(err == t->err && strstr(r.why, t->why), "refused: %s", t->name);
		diag("%s: error %d: %s", t->name, err, r.why);
	}
	after = maps_of(p.pid);
	ok(!strcmp(before, after), "refused: %s: the mappings are as before", t->name);
	end_helper(&p);
	if (t->file) {
		kill(p.pid, SIGKILL);
		waitpid(p.pid, NULL, 0);
	} else {
		ok(program__end(&p), "refused: %s: the program goes on", t->name);
	}
	free(before);
	free(after);
}

/* A child of vfork() runs on the stack of its parent, which waits. */
static void test_vfork(void)
{
	struct inject_result r = { 0 };
	char why[INJECT_WHY] = "";
	int status, err, fds[2];
	pid_t parent, child;
	siginfo_t info;

	if (pipe(fds))
		exit(1);
	parent = fork();
	if (!parent) {
		if (!vfork()) {
			child = getpid();
			if (write(fds[1], &child, sizeof(child)) != sizeof(child))
				_exit(1);
			pause();
			_exit(0);
		}
		_exit(0);
	}
	if (read(fds[0], &child, sizeof(child)) != sizeof(child))
		exit(1);
	err = inject__check(child, why);
	ok(err == -EBUSY && strstr(why, "vfork"), "refused: a child of vfork(): %s", why);
	kill(child, SIGKILL);
	waitid(P_PID, parent, &info, WEXITED | WNOWAIT);
	err = inject__check(parent, why);
	ok(err == -ESRCH && strstr(why, "it has ended"), "refused: a zombie: %s", why);
	waitpid(parent, &status, 0);
	err = inject__into(parent, "/libxpushim.so", &r);
	is_int(err, -ESRCH, "refused: a process that has ended: %s", r.why);
}

static void be_user(void)
{
	if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		_exit(1);
}

/* A process that may only read, write and end. */
static void test_strict(void)
{
	char why[INJECT_WHY] = "", byte;
	int ready[2], hold[2], err;
	pid_t pid;

	if (pipe(ready) || pipe(hold))
		exit(1);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
		syscall(SYS_exit, write(ready[1], "", 1) == 1 && read(hold[0], &byte, 1) == 1);
	}
	if (read(ready[0], &byte, 1) != 1)
		diag("the process does not start");
	err = inject__check(pid, why);
	ok(err == -EPERM && strstr(why, "seccomp forbids nearly all of its system calls"),
	   "refused: a process in seccomp's strict mode: %s", why);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Programs with other C libraries, which are built here. */
static const struct built {
	const char *what, *compiler, *program, *mapped, *why;
} built[] = {
	{ "a program with musl", "musl-gcc", "int pause(void); int main(void) { pause(); }",
	  "-musl", "its C library is musl: the shim needs glibc" },
	{ "a program with two C libraries", "${CC:-cc}",
	  "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <unistd.h>\nint main(void) {"
	  "if (dlmopen(LM_ID_NEWLM, \"libc.so.6\", RTLD_NOW) && dlopen(\"libutil.so.1\", "
	  "RTLD_NOW)) pause(); }", "/libutil.", "it has more than one C library" },
};

static void test_built(const struct built *t)
{
	char why[INJECT_WHY] = "", path[64];
	FILE *f = fopen("built.c", "w");
	pid_t pid;
	int i, err;

	fprintf(f, "%s\n", t->program);
	fclose(f);
	snprintf(path, sizeof(path), "%s -o built built.c 2>/dev/null", t->compiler);
	if (system(path)) {
		skip(1, "%s cannot compile it", t->compiler);
		return;
	}
	pid = fork();
	if (!pid) {
		execl("./built", "./built", NULL);
		_exit(127);
	}
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	for (i = 0; i < 6000 && !has_text(path, t->mapped); i++)
		nap_us(10000);
	err = inject__check(pid, why);
	ok(err == -ENOTSUP && strstr(why, t->why), "refused: %s: %s", t->what, why);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ---- a C library whose symbols lie ----------------------------------------------------------- */

enum lie { LIE_HUGE, LIE_NONE, LIE_RANDOM, LIE_OTHER_NAMES, LIE_OTHER_PLACES, NR_LIES };

static void tell_lie(enum lie lie, Elf64_Sym *syms, size_t nr)
{
	uint8_t *bytes = (uint8_t *)syms;
	Elf64_Addr first = syms[1].st_value;
	size_t i;

	for (i = 1; i < nr && lie == LIE_OTHER_PLACES; i++)
		syms[i].st_value = i + 1 < nr ? syms[i + 1].st_value : first;
	for (i = 1; i < nr && lie == LIE_OTHER_NAMES; i++)
		syms[i].st_name = UINT32_MAX - i;
	for (i = 0; i < nr * sizeof(*syms) && lie < LIE_OTHER_NAMES; i++)
		bytes[i] = lie == LIE_RANDOM ? random() : lie == LIE_HUGE ? 0xff : 0;
}

/* Changes the symbols in the file of a C library that a program uses. */
static void lie_in(const char *path, enum lie lie)
{
	const Elf64_Shdr *sections;
	const Elf64_Ehdr *ehdr;
	struct stat st;
	char *file;
	int i, fd = open(path, O_RDWR);

	if (fd < 0 || fstat(fd, &st))
		exit(1);
	file = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (file == MAP_FAILED)
		exit(1);
	ehdr = (const void *)file;
	sections = (const void *)(file + ehdr->e_shoff);
	for (i = 0; i < ehdr->e_shnum; i++)
		if (sections[i].sh_type == SHT_DYNSYM)
			tell_lie(lie, (void *)(file + sections[i].sh_offset),
				 sections[i].sh_size / sizeof(Elf64_Sym));
	munmap(file, st.st_size);
	close(fd);
}

static void find_libc(char *path)
{
	char line[4096] = "";
	FILE *f = fopen("/proc/self/maps", "r");

	*path = '\0';
	while (f && !*path && fgets(line, sizeof(line), f))
		if (strstr(line, "/libc.so.6") || strstr(line, "/libc-2."))
			sscanf(strchr(line, '/'), "%4095s", path);
	if (f)
		fclose(f);
}

static void use_lies(void)
{
	const char *path = getenv("LD_LIBRARY_PATH");
	char paths[8192];

	snprintf(paths, sizeof(paths), "lies:%s", path ? path : "");
	setenv("LD_LIBRARY_PATH", paths, 1);
	setenv("LD_BIND_NOW", "1", 1);
}

/*
 * Injection into a program whose C library has wrong symbols fails in bounded time. If each symbol
 * has the address of another function, the recorder cannot notice this. The injection may then harm
 * the program, but nothing else.
 */
static void test_lies(void)
{
	static const char *const names[] = {
		"huge numbers", "zeros", "random bytes", "no names", "other functions' addresses",
	};
	const struct refusal t = { .before = use_lies };
	char command[8300], libc[4096], shim[4096], line[64];
	struct inject_result r;
	struct program p;
	int lie, err;
	bool runs;

	snprintf(shim, sizeof(shim), "%s/libxpushim.so", build);
	find_libc(libc);
	snprintf(command, sizeof(command),
		 "rm -rf lies && mkdir lies && cp %s lies/libc.so.6", libc);
	for (lie = 0; lie < NR_LIES; lie++) {
		if (system(command))
			exit(1);
		program__run(&p, &t);
		if (read(p.out, line, sizeof(line)) <= 0)
			diag("the program does not start");
		ok(program__maps(&p, "/lies/libc.so.6"), "a lying C library is mapped");
		lie_in("lies/libc.so.6", lie);
		memset(&r, 0, sizeof(r));
		err = inject__into(p.pid, shim, &r);
		ok(err && err != -EEXIST, "refused: a C library whose symbols are %s: %s",
		   names[lie], r.why);
		runs = !waitpid(p.pid, NULL, WNOHANG);
		ok(lie == LIE_OTHER_PLACES || runs, "the program with it runs on");
		if (runs) {
			kill(p.pid, SIGKILL);
			waitpid(p.pid, NULL, 0);
		}
		close(p.in);
		close(p.out);
	}
}

/*
 * Return: whether an unprivileged user is refused, with @reason. @apart: the user is in a user
 * namespace of its own.
 */
static bool is_refused_to_user(pid_t target, bool apart, const char *reason)
{
	char why[INJECT_WHY] = "";
	int status;
	pid_t pid = fork();

	if (!pid) {
		be_user();
		if (apart && unshare(CLONE_NEWUSER))
			_exit(2);
		if (inject__check(target, why) == -EACCES && strstr(why, reason))
			_exit(0);
		diag("%s", why);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	return !status;
}

/* Starts a copy of a program, with the file mode @mode, as an unprivileged user. */
static pid_t run_copy(const char *name, unsigned int mode)
{
	char command[256], path[64];
	pid_t pid;
	int i;

	snprintf(command, sizeof(command), "cp \"$(command -v sleep)\" %s && chmod %o %s && "
		 "chmod 755 .", name, mode, name);
	if (system(command))
		diag("%s: failed", command);
	snprintf(command, sizeof(command), "./%s", name);
	pid = fork();
	if (!pid) {
		be_user();
		execl(command, command, "100", NULL);
		_exit(127);
	}
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	for (i = 0; i < 6000 && !has_text(path, name); i++)
		nap_us(10000);
	return pid;
}

static void test_users(void)
{
	static const struct { const char *name, *what; unsigned int mode; } copies[] = {
		{ "unreadable", "a program that its user may not read", 0711 },
		{ "setuid", "a set-user-ID program", 04711 },
	};
	struct program p;
	size_t i;
	pid_t pid;

	if (geteuid()) {
		skip(4, "root can become another user");
		return;
	}
	program__run(&p, &refusals[2]);
	ok(is_refused_to_user(p.pid, false, "it belongs to user 0"),
	   "refused: a process of another user");
	nap_us(100000);
	kill(p.pid, SIGKILL);
	waitpid(p.pid, NULL, 0);
	pid = run_copy("plain", 0755);
	ok(is_refused_to_user(pid, true, "outside of your user namespace"),
	   "refused: a process outside of the user's user namespace");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (has_text("/proc/sys/fs/suid_dumpable", "1")) {
		skip(2, "fs.suid_dumpable is 1, so that users may trace such programs");
		return;
	}
	for (i = 0; i < 2; i++) {
		pid = run_copy(copies[i].name, copies[i].mode);
		ok(is_refused_to_user(pid, false, "it has or had privileges"), "refused: %s",
		   copies[i].what);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

/* Tests a harmless filter, like the filters of containers. */
static void test_filtered(void)
{
	const struct refusal t = { .before = fail_clone3 };
	struct inject_result r = { 0 };
	char shim[4096], line[64];
	struct program p;

	if (geteuid()) {
		skip(2, "Linux shows seccomp filters to root only");
		return;
	}
	snprintf(shim, sizeof(shim), "%s/libxpushim.so", build);
	program__run(&p, &t);
	if (read(p.out, line, sizeof(line)) <= 0)
		diag("the program does not start");
	is_int(inject__into(p.pid, shim, &r), 0, "a seccomp filter as in containers: %s", r.why);
	ok(program__end(&p), "a seccomp filter as in containers: the program goes on");
}

int main(void)
{
	const char *times = getenv("XPU_INJECT_TIMES"), *kills = getenv("XPU_INJECT_KILLS");
	const char *san = getenv("XPU_SAN");
	int nr = times ? atoi(times) : 2;
	size_t i;

	if (san && *san)
		skip_all("a sanitizer's allocator wraps every call that waits");
	build = getenv("XPU_BUILD");
	if (!build || nr < 1 || nr > MAX_ROUNDS)
		return 1;
	srandom(getpid());
	msg__quiet = true;
	test_rounds("all kinds of threads", "16", "adtrfpwl", nr);
	test_rounds("32 threads that allocate, load and throw", "32", "adt", (nr + 1) / 2);
	test_rounds("16 threads that allocate", "16", "a", (nr + 1) / 2);
	test_rounds("waiting threads", "3", "w", nr);
	test_rounds("one launching thread", "1", "l", nr);
	if (!system("python3 -c 'import os; os.waitstatus_to_exitcode'"))
		test_rounds("Python with threads, garbage and forks", NULL, NULL, nr);
	else
		skip(3, "there is no Python 3.9");
	test_steps();
	test_killed("8", "adtrfpl", kills ? atoi(kills) : 2 * nr);
	for (i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
		test_refusal(&refusals[i]);
	test_vfork();
	test_strict();
	for (i = 0; i < sizeof(built) / sizeof(built[0]); i++)
		test_built(&built[i]);
	test_lies();
	test_users();
	test_filtered();
	return done_testing();
}
