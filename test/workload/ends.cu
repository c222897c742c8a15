// SPDX-License-Identifier: MIT
/*
 * ends.cu - the ways in which a CUDA program can end
 *
 *	ends [-n LAUNCHES] [-k NS] HOW
 *
 * Launches LAUNCHES kernels of NS nanoseconds from site_work, waits for them unless HOW says
 * otherwise, prints on stdout how many it has launched, and ends:
 *
 *	return, exit, _exit, quick_exit, abort, segv, kill, int		as the name says
 *	running		exit() while its last kernel has a second to run
 *	running_exit	as running, with _exit()
 *	threads		exit() while other threads launch, from site_other
 *	threads_exit	as threads, with _exit()
 *	loading		exit() in a library's constructor, after it has launched
 *	loading_exit	as loading, with _exit()
 *	beside		exit() while another thread is in a library's constructor
 *	reset		cudaDeviceReset(), and as many launches again from site_again
 *	context		as reset, with another context that it destroys
 *	wait		waits for a signal
 *	waiting		as wait, while kernels run that nobody waits for
 *	daemon		its child becomes a daemon, launches from site_again all the time
 *			until the file "stop" exists, and then writes to the file "daemon" what it
 *			launched; the parent returns as soon as the child has launched for the first
 *			time
 *	badexec		tries to exec a missing file, and continues with site_again
 *	vfork		vfork and exec of /bin/true, and continues with site_again
 *	fork		forks a child that only calls exit(), and continues with site_again
 *	exec		executes itself with HOW return: a new image with the same pid
 *	exec=FILE	executes FILE without arguments
 *	killed		SIGKILL while other threads launch, from site_other, and count it in the
 *			file "counts": for each thread, launches that began and that returned
 *	rawexec		as killed, but executes /bin/true, bypassing the C library
 *
 * Only site_NAME launches kernel_NAME.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernels.h"

static unsigned long long cost_ns = 3000;
static long nr_launches = 1000;
static long nr_made;
static cudaStream_t stream;
static int *volatile nowhere = (int *)4096;	/* not NULL, because UBSan would report that */

#define SITE(name)								\
	KERNEL(kernel_##name)							\
	extern "C" NOINLINE void site_##name(unsigned long long ns)		\
	{									\
		LAUNCH(kernel_##name, stream, ns);				\
		NO_TAIL_CALL();							\
	}

SITE(work)
SITE(again)
SITE(last)
SITE(other)

static void launch(void (*site)(unsigned long long ns))
{
	for (long i = 0; i < nr_launches; i++)
		site(cost_ns);
	nr_made += nr_launches;
}

static void say(void)
{
	printf("ends: launches %ld\n", nr_made);
	fflush(stdout);
}

static void wait_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

static int nr_others;			/* other threads that have launched */

static void *other_main(void *arg)
{
	site_other(cost_ns);
	__atomic_add_fetch(&nr_others, 1, __ATOMIC_RELAXED);
	for (;;)
		site_other(cost_ns);
	return arg;
}

static void start_others(void)
{
	pthread_t thread;

	for (int i = 0; i < 3; i++)
		if (pthread_create(&thread, NULL, other_main, NULL))
			exit(1);
	while (__atomic_load_n(&nr_others, __ATOMIC_RELAXED) < 3)
		wait_ms(1);
}

struct count {
	volatile long begun, done;
};

static void *counting_main(void *arg)
{
	for (struct count *c = (struct count *)arg;;) {
		c->begun++;
		site_other(cost_ns);
		c->done++;
	}
	return arg;
}

static void start_counting(void)
{
	const int nr = 16, fd = open("counts", O_RDWR | O_CREAT | O_TRUNC, 0644);
	const size_t bytes = (nr + 1) * sizeof(struct count);
	struct count *c;
	pthread_t thread;

	if (fd < 0 || ftruncate(fd, bytes))
		exit(1);
	c = (struct count *)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (c == MAP_FAILED)
		exit(1);
	for (int i = 0; i < nr; i++)
		if (pthread_create(&thread, NULL, counting_main, c++))
			exit(1);
	wait_ms(100);
	for (; c->begun < 100; c->done++) {
		c->begun++;
		site_last(cost_ns);
	}
}

static void raw_exec(char **argv)
{
	syscall(SYS_execve, "/bin/true", argv, environ);
	exit(1);
}

static void again(void)
{
	launch(site_again);
	CHECK(cudaDeviceSynchronize());
	say();
}

static void reset(void)
{
	CHECK(cudaDeviceReset());
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	again();
}

typedef CUresult (*ctx_create_fn)(CUcontext *, unsigned int, CUdevice);
typedef CUresult (*ctx_destroy_fn)(CUcontext);

static void *entry(const char *name)
{
	enum cudaDriverEntryPointQueryResult found;
	void *fn = NULL;

	CHECK(cudaGetDriverEntryPointByVersion(name, &fn, 12000, cudaEnableDefault, &found));
	return fn;
}

/* Launches in a context that is destroyed before any flush. */
static void context(void)
{
	ctx_create_fn create = (ctx_create_fn)entry("cuCtxCreate");
	ctx_destroy_fn destroy = (ctx_destroy_fn)entry("cuCtxDestroy");
	cudaStream_t own = stream;
	CUcontext ctx;

	if (!create || !destroy || create(&ctx, 0, 0)) {
		fputs("ends: cuCtxCreate failed\n", stderr);
		exit(1);
	}
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	again();
	if (destroy(ctx))
		exit(1);
	stream = own;
	launch(site_last);
	CHECK(cudaDeviceSynchronize());
	say();
}

/* The child uses CUDA, so the parent must not use it before the fork. */
static void become_daemon(void)
{
	int ready[2];
	FILE *f;
	char c;

	if (pipe(ready))
		exit(1);
	if (fork()) {
		if (read(ready[0], &c, 1) != 1)
			exit(1);
		say();
		return;
	}
	setsid();
	if (fork())
		_exit(0);
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	launch(site_work);
	CHECK(cudaDeviceSynchronize());
	if (write(ready[1], "", 1) != 1)
		_exit(1);
	for (int i = 0; i < 600 && access("stop", F_OK); i++) {
		launch(site_again);
		CHECK(cudaDeviceSynchronize());
		wait_ms(20);
	}
	f = fopen("daemon.new", "w");
	if (f) {
		fprintf(f, "daemon: launches %ld\n", nr_made);
		fclose(f);
	}
	if (rename("daemon.new", "daemon"))
		exit(1);
	exit(0);
}

static void bad_exec(void)
{
	char none[] = "no such file", *argv[] = { none, NULL };

	execv("./no/such/file", argv);
	execvp("no-such-file-anywhere", argv);
	execl("./no/such/file", none, (char *)NULL);
	again();
}

static void vfork_exec(void)
{
	int status = 0;
	pid_t pid;

	for (volatile int i = 0; i < 3; i++) {
		pid = vfork();
		if (!pid) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			exit(1);
	}
	again();
}

static void fork_exit(void)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		exit(7);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7)
		exit(1);
	again();
}

/* ---- ends while the dynamic loader's lock is held -------------------------------------------- */

static const char *end_in_constructor;
static bool is_loading, may_return;

/* longer than the interval at which the shim looks at the loaded objects */
#define LOADING_MS	1500

static void release(void)
{
	__atomic_store_n(&may_return, true, __ATOMIC_RELEASE);
}

/* The library calls this in its constructor, and launch() in its destructor. */
extern "C" void launch_in_constructor(void)
{
	if (!end_in_constructor) {
		__atomic_store_n(&is_loading, true, __ATOMIC_RELEASE);
		while (!__atomic_load_n(&may_return, __ATOMIC_ACQUIRE))
			wait_ms(1);
		return;
	}
	launch(site_work);
	CHECK(cudaDeviceSynchronize());
	say();
	wait_ms(LOADING_MS);
	if (!strcmp(end_in_constructor, "loading"))
		exit(6);
	_exit(7);
}

extern "C" void launch(void)
{
}

static void *load_library(void *path)
{
	if (!dlopen((const char *)path, RTLD_NOW))
		exit(1);
	return NULL;
}

static void library_path(const char *program, char path[4096])
{
	const char *slash = strrchr(program, '/');

	snprintf(path, 4096, "%.*sstacks_a.so", slash ? (int)(slash + 1 - program) : 0, program);
}

/*
 * release() is registered before the shim's exit handler, so it runs after that handler. Then the
 * library's constructor returns.
 */
static void exit_beside(char *path)
{
	pthread_t thread;

	atexit(release);
	launch(site_work);
	if (pthread_create(&thread, NULL, load_library, path))
		exit(1);
	while (!__atomic_load_n(&is_loading, __ATOMIC_ACQUIRE))
		wait_ms(1);
	launch(site_again);
	CHECK(cudaDeviceSynchronize());
	say();
	wait_ms(LOADING_MS);
	exit(8);
}

static void end(const char *how, char **argv)
{
	char path[4096];

	library_path(argv[0], path);
	if (!strcmp(how, "beside"))
		exit_beside(path);
	if (!strncmp(how, "loading", 7)) {
		end_in_constructor = how;
		load_library(path);
	}
	bool is_async = !strncmp(how, "running", 7) || !strcmp(how, "waiting");

	if (!strcmp(how, "daemon")) {
		become_daemon();
		return;
	}
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	launch(site_work);
	if (is_async) {
		site_last(1000000000);
		nr_made++;
	} else {
		CHECK(cudaDeviceSynchronize());
	}
	if (!strncmp(how, "threads", 7))
		start_others();
	say();
	if (!strcmp(how, "killed") || !strcmp(how, "rawexec"))
		start_counting();
	if (!strcmp(how, "return"))
		return;
	if (!strcmp(how, "exit") || !strcmp(how, "running") || !strcmp(how, "threads"))
		exit(3);
	if (!strcmp(how, "_exit") || !strcmp(how, "running_exit") || !strcmp(how, "threads_exit"))
		_exit(4);
	if (!strcmp(how, "quick_exit"))
		quick_exit(5);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "segv"))
		*nowhere = 0;
	if (!strcmp(how, "rawexec"))
		raw_exec(argv);
	if (!strcmp(how, "kill") || !strcmp(how, "killed"))
		raise(SIGKILL);
	if (!strcmp(how, "int"))
		raise(SIGINT);
	if (!strcmp(how, "reset"))
		reset();
	else if (!strcmp(how, "context"))
		context();
	else if (!strcmp(how, "badexec"))
		bad_exec();
	else if (!strcmp(how, "vfork"))
		vfork_exec();
	else if (!strcmp(how, "fork"))
		fork_exit();
	else if (!strncmp(how, "wait", 4))
		sleep(30);
	else if (!strcmp(how, "exec"))
		execl("/proc/self/exe", argv[0], "return", (char *)NULL);
	else if (!strncmp(how, "exec=", 5))
		execl(how + 5, how + 5, (char *)NULL);
	else
		exit(2);
}

int main(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "n:k:")) != -1) {
		switch (opt) {
		case 'n':
			nr_launches = strtol(optarg, NULL, 0);
			break;
		case 'k':
			cost_ns = strtoull(optarg, NULL, 0);
			break;
		default:
			return 2;
		}
	}
	if (optind + 1 != argc) {
		fputs("usage: ends [-n LAUNCHES] [-k NS] HOW\n", stderr);
		return 2;
	}
	end(argv[optind], argv);
	return 0;
}
