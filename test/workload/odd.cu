// SPDX-License-Identifier: MIT
/*
 * odd.cu - launches from unusual places, and processes that do unusual things
 *
 *	odd HOW
 *
 * Prints how many launches it has made, "odd: launches N", and any profiler effects that it
 * noticed. Only site_NAME launches kernel_NAME. HOW:
 *
 *	atexit		exit handlers that launch, registered before and after CUDA was used
 *	destructor	a static object's destructor that launches
 *	thread_local	destructors of thread_local objects, and of thread-specific data
 *	threads		200 short threads, 8 at a time
 *	crowd		2000 threads at once
 *	stack=BYTES	a thread with BYTES of stack; with ODD_SAY in the environment, it prints
 *			how much of the stack was used
 *	switch		coroutines on short-lived stacks, which threads resume in turn
 *	signal		signal handlers, on the thread's stack and on their own
 *	jump		siglongjmp() out of a handler that interrupted launches
 *	modules		100 modules and libraries, each loaded for a single launch or graph
 *	unloads		500 libraries are loaded and unloaded while two threads launch
 *	throw		exceptions through the frames of a launch site
 *	refused		6050 launches with more threads than a block may have, some in a handler
 *	sigwait		blocks all signals, and has a thread that receives them
 *	closefrom	closes all descriptors before it launches
 *	nofile		may open no more files once CUDA is initialized
 *	seccomp		most system calls kill the process once CUDA is initialized
 *	setuid		becomes another user once CUDA is initialized
 *	mlockall	locks present and future memory
 *	limit		200 threads at a time, with 500 MB of address space left
 *	rawfork		makes a child by the raw system call; the child ends by exit()
 *	rawthread	as rawfork, but the child ends its only thread
 *	vfork		a vfork child, which ends by _exit()
 *	spawn		posix_spawn() of /bin/true, system(), popen()
 *	exec_thread	a thread other than the first execs this program, with HOW throw
 *	exit_thread	a thread other than the first calls exit()
 *	main_exits	the first thread ends by pthread_exit(), the last one ends the process
 *	tasks		prints whether a thread that is not the program's own takes a signal
 *	early		launches in a constructor; ODD_EARLY must be in the environment
 */
#include <cuda.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdexcept>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "kernels.h"

#define COST	2000

static cudaStream_t stream;
static volatile long nr_made;

#define SITE(name)								\
	KERNEL(kernel_##name)							\
	extern "C" NOINLINE void site_##name(void)				\
	{									\
		LAUNCH(kernel_##name, stream, COST);				\
		__atomic_fetch_add(&nr_made, 1, __ATOMIC_RELAXED);		\
		NO_TAIL_CALL();							\
	}

SITE(main)
SITE(late)
SITE(other)
SITE(handler)

static void sync_all(void)
{
	CHECK(cudaStreamSynchronize(stream));
}

static void start(void)
{
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	site_main();
	sync_all();
}

static void say(void)
{
	printf("odd: launches %ld\n", nr_made);
	fflush(stdout);
}

static void repeat(void (*site)(void), int nr)
{
	for (int i = 0; i < nr; i++)
		site();
	sync_all();
}

static void wait_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&ts, &ts))
		;
}

static pthread_t thread_new(void *(*fn)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, fn, arg)) {
		perror("odd: pthread_create");
		exit(1);
	}
	return thread;
}

/* ---- ends of the program --------------------------------------------------------------------- */

static void early_handler(void)
{
	repeat(site_other, 10);
	say();
}

static void late_handler(void)
{
	repeat(site_late, 10);
}

static void how_atexit(void)
{
	atexit(early_handler);
	start();
	atexit(late_handler);
}

struct dying {
	bool armed;
	void (*site)(void);
	bool last;

	~dying()
	{
		if (!armed)
			return;
		repeat(site, 10);
		if (last)
			say();
	}
};

static dying static_object;

static void how_destructor(void)
{
	start();
	static_object = { true, site_late, true };
}

static thread_local dying thread_object;
static pthread_key_t key;

static void key_destructor(void *arg)
{
	(void)arg;
	repeat(site_handler, 10);
}

static void *dying_main(void *arg)
{
	pthread_setspecific(key, arg);
	repeat(site_other, 10);
	thread_object = { true, site_late, false };
	return NULL;
}

static void how_thread_local(void)
{
	start();
	pthread_key_create(&key, key_destructor);
	for (int i = 0; i < 20; i++)
		pthread_join(thread_new(dying_main, &key), NULL);
	say();
}

/* ---- threads and stacks ---------------------------------------------------------------------- */

static void *short_main(void *arg)
{
	repeat(site_other, 5);
	return arg;
}

static void how_threads(void)
{
	pthread_t threads[8];

	start();
	for (int i = 0; i < 25; i++) {
		for (int j = 0; j < 8; j++)
			threads[j] = thread_new(short_main, NULL);
		for (int j = 0; j < 8; j++)
			pthread_join(threads[j], NULL);
	}
	say();
}

static void *detached_main(void *arg)
{
	repeat(site_other, 5);
	__atomic_fetch_sub((int *)arg, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void how_stack(size_t bytes)
{
	const uint8_t pattern = 0xa5;
	int nr_left = 1;
	pthread_attr_t attr;
	pthread_t thread;
	uint8_t *stack;
	size_t i;

	start();
	bytes = (bytes + 4095) & ~(size_t)4095;
	/* The space below the stack shows an overrun without a crash. */
	stack = (uint8_t *)mmap(NULL, bytes + 65536, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(stack, pattern, bytes + 65536);
	pthread_attr_init(&attr);
	if (pthread_attr_setstack(&attr, stack + 65536, bytes) ||
	    pthread_create(&thread, &attr, detached_main, &nr_left)) {
		perror("odd: a thread of its own stack");
		exit(1);
	}
	pthread_join(thread, NULL);
	for (i = 0; i < bytes + 65536 && stack[i] == pattern; i++)
		;
	if (getenv("ODD_SAY"))
		printf("odd: stack used %zu of %zu\n", bytes + 65536 - i, bytes);
	say();
}

static pthread_barrier_t all_there;

static void *crowd_main(void *arg)
{
	pthread_barrier_wait(&all_there);
	for (int i = 0; i < 5; i++)
		site_main();
	pthread_barrier_wait(&all_there);
	return arg;
}

static void how_crowd(void)
{
	static pthread_t threads[2000];
	const int nr = sizeof(threads) / sizeof(threads[0]);

	start();
	pthread_barrier_init(&all_there, NULL, nr);
	for (int i = 0; i < nr; i++)
		threads[i] = thread_new(crowd_main, NULL);
	for (int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	sync_all();
	say();
}

/*
 * Coroutines: each has a stack of a different size. Two threads resume a coroutine in turn, and
 * then its stack is unmapped.
 */
struct coroutine {
	ucontext_t context, caller;
	char *stack;
	size_t bytes;
	bool over;
};

static void coroutine_main(unsigned int lo, unsigned int hi)
{
	struct coroutine *c = (struct coroutine *)((uintptr_t)hi << 32 | lo);

	for (int i = 0; i < 4; i++) {
		site_other();
		swapcontext(&c->context, &c->caller);
	}
	c->over = true;
	swapcontext(&c->context, &c->caller);
}

static struct coroutine *coroutine_new(size_t bytes)
{
	struct coroutine *c = new coroutine();

	c->bytes = bytes;
	c->stack = (char *)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);
	getcontext(&c->context);
	c->context.uc_stack.ss_sp = c->stack;
	c->context.uc_stack.ss_size = bytes;
	c->context.uc_link = NULL;
	makecontext(&c->context, (void (*)(void))coroutine_main, 2,
		    (unsigned int)(uintptr_t)c, (unsigned int)((uintptr_t)c >> 32));
	return c;
}

static struct coroutine *resumed;
static pthread_barrier_t turn;
static bool no_more;

static void *resumer_main(void *arg)
{
	for (;;) {
		pthread_barrier_wait(&turn);
		if (no_more)
			return arg;
		swapcontext(&resumed->caller, &resumed->context);
		pthread_barrier_wait(&turn);
	}
}

static void how_switch(void)
{
	static const size_t sizes[] = { 64, 256, 68, 128, 1024, 72, 512, 96 };
	pthread_t thread;
	bool mine = false;

	start();
	pthread_barrier_init(&turn, NULL, 2);
	thread = thread_new(resumer_main, NULL);
	for (int i = 0; i < 100; i++) {
		struct coroutine *c = coroutine_new(sizes[i % 8] * 1024);

		for (; !c->over; mine = !mine) {
			if (mine) {
				swapcontext(&c->caller, &c->context);
				continue;
			}
			resumed = c;
			pthread_barrier_wait(&turn);
			pthread_barrier_wait(&turn);
		}
		munmap(c->stack, c->bytes);
		delete c;
	}
	no_more = true;
	pthread_barrier_wait(&turn);
	pthread_join(thread, NULL);
	sync_all();
	say();
}

/* ---- signals --------------------------------------------------------------------------------- */

static void on_signal(int sig)
{
	(void)sig;
	site_handler();
}

static void handle(int sig, void (*handler)(int), int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = flags;
	sigaction(sig, &action, NULL);
}

static void how_signal(void)
{
	static char alternate[65536];
	stack_t ss;

	memset(&ss, 0, sizeof(ss));
	ss.ss_sp = alternate;
	ss.ss_size = sizeof(alternate);
	start();
	sigaltstack(&ss, NULL);
	handle(SIGUSR1, on_signal, 0);
	handle(SIGUSR2, on_signal, SA_ONSTACK);
	for (int i = 0; i < 50; i++) {
		raise(SIGUSR1);
		raise(SIGUSR2);
	}
	sync_all();
	say();
}

static sigjmp_buf back;

static void on_alarm(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

static void how_jump(void)
{
	volatile int nr = 0;

	start();
	handle(SIGUSR1, on_alarm, 0);
	while (nr++ < 50)
		if (!sigsetjmp(back, 1)) {
			site_other();
			raise(SIGUSR1);
		}
	repeat(site_other, 50);
	say();
}

static NOINLINE void throw_after(int depth)
{
	if (depth) {
		throw_after(depth - 1);
		NO_TAIL_CALL();
		return;
	}
	site_other();
	throw std::runtime_error("thrown");
}

static void how_throw(void)
{
	int nr_caught = 0;

	start();
	for (int i = 0; i < 100; i++) {
		try {
			throw_after(i % 10);
		} catch (const std::exception &) {
			nr_caught++;
		}
	}
	sync_all();
	printf("odd: caught %d\n", nr_caught);
	say();
}

static void *taker_main(void *arg)
{
	sigset_t all;
	int sig, nr = 0;

	sigfillset(&all);
	while (nr < 20) {
		sigwait(&all, &sig);
		nr += sig == SIGUSR1;
		repeat(site_other, 1);
		__atomic_store_n((int *)arg, nr, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void how_sigwait(void)
{
	int nr_taken = 0;
	sigset_t all;
	pthread_t thread;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	start();
	thread = thread_new(taker_main, &nr_taken);
	for (int i = 0; i < 20; i++) {
		kill(getpid(), SIGUSR1);	/* the signal is sent to the process, so another
						 * thread could get the signal */
		while (__atomic_load_n(&nr_taken, __ATOMIC_ACQUIRE) <= i)
			wait_ms(1);
	}
	pthread_join(thread, NULL);
	say();
}

/* ---- modules --------------------------------------------------------------------------------- */

#define DRIVER(fn)	static __typeof__(&fn) d_##fn

DRIVER(cuLaunchKernel);
DRIVER(cuLibraryGetKernel);
DRIVER(cuLibraryLoadData);
DRIVER(cuLibraryUnload);
DRIVER(cuModuleGetFunction);
DRIVER(cuModuleLoadData);
DRIVER(cuModuleUnload);

static void *find(const char *name)
{
	enum cudaDriverEntryPointQueryResult found;
	void *fn = NULL;

	CHECK(cudaGetDriverEntryPointByVersion(name, &fn, 12000, cudaEnableDefault, &found));
	return fn;
}

#define FIND(fn)	(*(void **)&d_##fn = find(#fn))
#define DCHECK(call)	CHECK((cudaError_t)(call))

#define MODULE(name)								\
	static const char ptx_##name[] =					\
		".version 7.0\n.target sm_70\n.address_size 64\n"		\
		".visible .entry kernel_" #name "()\n{\n  ret;\n}\n";		\
	extern "C" NOINLINE void site_##name(CUfunction fn)			\
	{									\
		DCHECK(d_cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));	\
		nr_made++;							\
		NO_TAIL_CALL();							\
	}

MODULE(first)
MODULE(second)
MODULE(third)

/* Unloads a module; then the next module's kernel gets the same address. */
static void how_modules(void)
{
	static const struct {
		const char *name, *ptx;
		void (*site)(CUfunction fn);
	} kernels[] = {
		{ "kernel_first", ptx_first, site_first },
		{ "kernel_second", ptx_second, site_second },
		{ "kernel_third", ptx_third, site_third },
	};
	CUlibrary library;
	CUkernel kernel;
	CUmodule module;
	CUfunction fn;

	start();
	FIND(cuLaunchKernel);
	FIND(cuLibraryGetKernel);
	FIND(cuLibraryLoadData);
	FIND(cuLibraryUnload);
	FIND(cuModuleGetFunction);
	FIND(cuModuleLoadData);
	FIND(cuModuleUnload);
	for (int i = 0; i < 100; i++) {
		const char *name = kernels[i % 3].name, *ptx = kernels[i % 3].ptx;

		if (i < 50) {
			DCHECK(d_cuModuleLoadData(&module, ptx));
			DCHECK(d_cuModuleGetFunction(&fn, module, name));
		} else {
			DCHECK(d_cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
			DCHECK(d_cuLibraryGetKernel(&kernel, library, name));
			fn = (CUfunction)kernel;
		}
		if (i % 5 == 4) {
			cudaGraphExec_t exec;
			cudaGraph_t graph;

			CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
			kernels[i % 3].site(fn);
			CHECK(cudaStreamEndCapture(stream, &graph));
			CHECK(cudaGraphInstantiate(&exec, graph, 0));
			CHECK(cudaGraphLaunch(exec, stream));
			sync_all();
			CHECK(cudaGraphExecDestroy(exec));
			CHECK(cudaGraphDestroy(graph));
		} else {
			kernels[i % 3].site(fn);
		}
		if (i % 2)
			sync_all();
		DCHECK(i < 50 ? d_cuModuleUnload(module) : d_cuLibraryUnload(library));
	}
	sync_all();
	say();
}

static void *launcher_main(void *arg)
{
	repeat(site_other, 1000);
	return arg;
}

static void how_unloads(void)
{
	pthread_t threads[2];
	CUlibrary library;

	start();
	FIND(cuLibraryLoadData);
	FIND(cuLibraryUnload);
	for (pthread_t &thread : threads)
		thread = thread_new(launcher_main, NULL);
	for (int i = 0; i < 500; i++) {
		DCHECK(d_cuLibraryLoadData(&library, ptx_first, NULL, NULL, 0, NULL, NULL, 0));
		DCHECK(d_cuLibraryUnload(library));
		wait_ms(1);
	}
	for (pthread_t thread : threads)
		pthread_join(thread, NULL);
	sync_all();
	say();
}

/* ---- launches that CUDA refuses -------------------------------------------------------------- */

static NOINLINE void site_bad(void)
{
	void *args[] = { NULL };

	if (cudaLaunchKernel((const void *)kernel_main, dim3(1), dim3(4096), args, 0, stream) !=
	    cudaSuccess)
		cudaGetLastError();
	NO_TAIL_CALL();
}

static void on_signal_bad(int sig)
{
	(void)sig;
	site_bad();
}

static void how_refused(void)
{
	start();
	handle(SIGUSR1, on_signal_bad, 0);
	for (int i = 0; i < 6000; i++)
		site_bad();
	for (int i = 0; i < 50; i++) {
		site_other();
		raise(SIGUSR1);
	}
	sync_all();
	say();
}

/* ---- forbidden system calls and resources ---------------------------------------------------- */

static void how_closefrom(void)
{
	closefrom(3);
	start();
	repeat(site_other, 100);
	say();
}

static void how_nofile(void)
{
	struct rlimit none = { 3, 3 };

	start();
	setrlimit(RLIMIT_NOFILE, &none);
	wait_ms(300);
	repeat(site_other, 100);
	say();
}

#define ALLOW(nr)								\
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1),			\
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void how_seccomp(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_write), ALLOW(SYS_exit_group), ALLOW(SYS_exit), ALLOW(SYS_futex),
		ALLOW(SYS_rt_sigreturn), ALLOW(SYS_mmap), ALLOW(SYS_munmap), ALLOW(SYS_mprotect),
		ALLOW(SYS_madvise),
		ALLOW(SYS_clock_nanosleep), ALLOW(SYS_nanosleep), ALLOW(SYS_ioctl),
#ifdef SYS_poll
		ALLOW(SYS_poll),
#endif
		ALLOW(SYS_ppoll), ALLOW(SYS_sched_yield), ALLOW(SYS_brk),
		ALLOW(SYS_newfstatat), ALLOW(SYS_fstat),		/* for printf() */
		ALLOW(SYS_rt_sigprocmask), ALLOW(SYS_gettid), ALLOW(SYS_getpid),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	start();
	repeat(site_other, 100);
	wait_ms(300);			/* waits until every library has started its threads */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program)) {
		perror("odd: seccomp");
		exit(1);
	}
	wait_ms(200);			/* lets the shim's thread run */
	repeat(site_other, 100);
	wait_ms(200);
	say();
}

static void how_setuid(void)
{
	start();
	if (setgid(65534) || setuid(65534)) {	/* changes all threads */
		perror("odd: setuid");
		exit(1);
	}
	repeat(site_other, 100);
	say();
}

static void how_mlockall(void)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
		perror("odd: mlockall");
		exit(1);
	}
	how_threads();
}

#define NR_LIMITED	200

static pthread_barrier_t limited;

static void *limited_main(void *arg)
{
	pthread_barrier_wait(&limited);		/* all threads exist */
	repeat(site_other, 5);
	pthread_barrier_wait(&limited);
	return arg;
}

static void how_limit(void)
{
	pthread_t threads[NR_LIMITED];
	unsigned long pages = 0;
	struct rlimit limit;
	pthread_attr_t attr;
	FILE *f;

	mallopt(M_ARENA_MAX, 1);		/* each arena takes 64 MB of the limit */
	start();
	f = fopen("/proc/self/statm", "r");
	if (!f || fscanf(f, "%lu", &pages) != 1)
		exit(1);
	fclose(f);
	limit.rlim_cur = limit.rlim_max = pages * 4096 + (500 << 20);
	setrlimit(RLIMIT_AS, &limit);
	pthread_barrier_init(&limited, NULL, NR_LIMITED);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (int i = 0; i < NR_LIMITED; i++)
		if (pthread_create(&threads[i], &attr, limited_main, NULL)) {
			perror("odd: pthread_create");
			exit(1);
		}
	for (int i = 0; i < NR_LIMITED; i++)
		pthread_join(threads[i], NULL);
	say();
}

/* ---- processes ------------------------------------------------------------------------------- */

static void print_status(const char *what, int status)
{
	printf("odd: %s ended with %d\n", what, status);
	fflush(stdout);
}

static void rawfork(void (*ends)(void))
{
	struct timespec before, after;
	int status = -1;
	pid_t pid;

	start();
	clock_gettime(CLOCK_MONOTONIC, &before);
	pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid)
		ends();
	waitpid(pid, &status, 0);
	clock_gettime(CLOCK_MONOTONIC, &after);
	print_status("a child", status);
	printf("odd: %s\n", after.tv_sec - before.tv_sec > 2 ? "it took long" : "it was quick");
	wait_ms(300);			/* the shim's thread handles threads that have ended */
	repeat(site_other, 10);
	say();
}

static void exit_7(void)
{
	exit(7);
}

static void how_rawfork(void)
{
	rawfork(exit_7);
}

static void end_thread(void)
{
	pthread_exit(NULL);
}

static void how_rawthread(void)
{
	rawfork(end_thread);
}

static void how_vfork(void)
{
	int status = -1;
	pid_t pid;

	start();
	pid = vfork();
	if (!pid)
		_exit(8);
	waitpid(pid, &status, 0);
	print_status("a child", status);
	repeat(site_other, 10);
	say();
}

extern char **environ;

static void how_spawn(void)
{
	char name[] = "/bin/true";
	char *argv[] = { name, NULL };
	int status = -1;
	char line[64] = "";
	FILE *pipe;
	pid_t pid;

	start();
	if (posix_spawn(&pid, name, NULL, NULL, argv, environ))
		exit(1);
	waitpid(pid, &status, 0);
	print_status("posix_spawn", status);
	print_status("system", system("exit 3"));
	pipe = popen("echo said", "r");
	if (!pipe || !fgets(line, sizeof(line), pipe))
		exit(1);
	print_status(line, pclose(pipe));
	repeat(site_other, 10);
	say();
}

static void *exec_main(void *arg)
{
	repeat(site_other, 10);
	say();
	execl("/proc/self/exe", "odd", "throw", (char *)NULL);
	return arg;
}

static void how_exec_thread(void)
{
	start();
	pthread_join(thread_new(exec_main, NULL), NULL);
}

static void *exit_main(void *arg)
{
	(void)arg;
	repeat(site_other, 10);
	say();
	exit(5);
}

static void how_exit_thread(void)
{
	start();
	pthread_join(thread_new(exit_main, NULL), NULL);
}

static void *last_main(void *arg)
{
	pthread_join(*(pthread_t *)arg, NULL);
	wait_ms(300);
	repeat(site_other, 10);
	say();
	exit(0);
}

static void how_main_exits(void)
{
	static pthread_t self;

	self = pthread_self();
	start();
	thread_new(last_main, &self);
	pthread_exit(NULL);
}

/*
 * A signal that is sent to the process goes to some thread that does not block this signal. The
 * thread must be one of the program's threads.
 */
static volatile int wrong_thread;
static pthread_t right_thread;

static void on_usr1(int sig)
{
	(void)sig;
	if (!pthread_equal(pthread_self(), right_thread))
		wrong_thread = 1;
}

static void how_tasks(void)
{
	sigset_t set;

	start();
	right_thread = pthread_self();
	handle(SIGPROF, on_usr1, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGPROF);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	kill(getpid(), SIGPROF);
	wait_ms(300);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	printf("odd: %s\n",
	       wrong_thread ? "another thread took the signal" : "no other thread did");
	repeat(site_other, 10);
	say();
}

static __attribute__((constructor)) void before_main(void)
{
	void *memory;

	if (!getenv("ODD_EARLY"))
		return;
	CHECK(cudaMalloc(&memory, 4096));
	for (int i = 0; i < 10; i++)		/* kernels may not be registered yet */
		CHECK(cudaMemset(memory, i, 4096));
	nr_made += 10;
}

static void how_early(void)
{
	repeat(site_main, 10);
	say();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} ways[] = {
		{ "atexit", how_atexit }, { "destructor", how_destructor },
		{ "thread_local", how_thread_local }, { "threads", how_threads },
		{ "crowd", how_crowd },
		{ "switch", how_switch }, { "signal", how_signal }, { "jump", how_jump },
		{ "modules", how_modules }, { "unloads", how_unloads }, { "throw", how_throw },
		{ "refused", how_refused }, { "sigwait", how_sigwait },
		{ "closefrom", how_closefrom }, { "nofile", how_nofile },
		{ "seccomp", how_seccomp }, { "setuid", how_setuid },
		{ "mlockall", how_mlockall }, { "limit", how_limit }, { "rawfork", how_rawfork },
		{ "rawthread", how_rawthread },
		{ "vfork", how_vfork }, { "spawn", how_spawn },
		{ "exec_thread", how_exec_thread }, { "exit_thread", how_exit_thread },
		{ "main_exits", how_main_exits }, { "tasks", how_tasks }, { "early", how_early },
	};
	const char *how = argc == 2 ? argv[1] : "";

	if (!strncmp(how, "stack=", 6)) {
		how_stack(strtoul(how + 6, NULL, 0));
		return 0;
	}
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(how, ways[i].name)) {
			ways[i].run();
			return 0;
		}
	fprintf(stderr, "usage: odd HOW; see the source\n");
	return 2;
}
