// SPDX-License-Identifier: MIT
/*
 * stacks - launches from every kind of stack that compiled C++ makes
 *
 *	stacks [-n TIMES] [SCENARIO...]		default: all scenarios; -l lists them
 *
 * Built with -O2 -fomit-frame-pointer: unwinding by frame pointers fails in this program. Every
 * scenario is a function scenario_NAME(); only launch() launches.
 */
#include <alloca.h>
#include <cerrno>
#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

#include "assembly.h"
#include "kernels.h"

KERNEL(k_launch)

static char program_dir[4096];

/* It is not static, because the plug-ins launch, too. */
extern "C" NOINLINE void launch(void);
extern "C" void launch(void)
{
	LAUNCH(k_launch, nullptr, 1000);
	NO_TAIL_CALL();
}

/* ---- inlining, templates, recursion ---------------------------------------------------------- */

static inline __attribute__((always_inline)) void inlined_twice()
{
	launch();
	NO_TAIL_CALL();
}

static inline __attribute__((always_inline)) void inlined_once()
{
	inlined_twice();
	inlined_twice();
}

NOINLINE void scenario_inlining()
{
	inlined_once();
	NO_TAIL_CALL();
}

template <typename T, unsigned N> struct Tower {
	static NOINLINE void climb(T value)
	{
		Tower<T, N - 1>::climb(value);
		NO_TAIL_CALL();
	}
};

template <typename T> struct Tower<T, 0> {
	static NOINLINE void climb(T)
	{
		launch();
		NO_TAIL_CALL();
	}
};

NOINLINE void scenario_templates()
{
	Tower<std::string, 3>::climb("text");
	Tower<double, 2>::climb(1.5);
	NO_TAIL_CALL();
}

NOINLINE int recurse(int depth)
{
	int sum = depth;

	if (!depth) {
		launch();
		return 0;
	}
	__asm__ volatile("" : "+m"(sum));	/* keeps the recursion from becoming a loop */
	return recurse(depth - 1) + sum;
}

NOINLINE void scenario_recursion()
{
	recurse(199);
	NO_TAIL_CALL();
}

struct Base {
	virtual ~Base() { launch(); NO_TAIL_CALL(); }
	virtual void work() = 0;
};

struct Derived : Base {
	std::string text = "some text that is too long to be kept in place";
	~Derived() override { launch(); NO_TAIL_CALL(); }
	NOINLINE void work() override { launch(); NO_TAIL_CALL(); }
};

NOINLINE void scenario_virtual()
{
	std::unique_ptr<Base> p = std::make_unique<Derived>();
	std::function<void()> f = [&p] { p->work(); NO_TAIL_CALL(); };

	f();
}

static int compare(const void *a, const void *b)
{
	static int nr;

	if (nr++ % 8 == 0)
		launch();
	return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

NOINLINE void scenario_library()
{
	int numbers[] = { 5, 3, 4, 1, 2 };

	qsort(numbers, 5, sizeof(numbers[0]), compare);
	NO_TAIL_CALL();
}

/* ---- unusual frames -------------------------------------------------------------------------- */

typedef double vec4 __attribute__((vector_size(64)));

/*
 * The frame is aligned more strictly than the ABI requires, and its size is unknown, so a DWARF
 * expression gives the CFA.
 */
NOINLINE double aligned_frame(size_t size)
{
	vec4 v = { 1, 2, 3, 4 };
	char *p = static_cast<char *>(alloca(size));

	memset(p, 1, size);
	__asm__ volatile("" : : "r"(&v), "r"(p) : "memory");
	launch();
	__asm__ volatile("" : : "r"(&v), "r"(p) : "memory");
	return v[0] + p[size - 1];
}

NOINLINE void large_frame()
{
	char buffer[3 << 20];

	buffer[0] = 1;
	__asm__ volatile("" : : "r"(buffer) : "memory");
	launch();
	__asm__ volatile("" : : "r"(buffer) : "memory");
}

NOINLINE void pushed_arguments(long, long, long, long, long, long, long h, long i, long j)
{
	__asm__ volatile("" : : "r"(h), "r"(i), "r"(j));
	launch();
	NO_TAIL_CALL();
}

/*
 * The call is the last instruction of the function, so its return address is in the next function.
 */
NOINLINE __attribute__((noreturn)) void never_returns(jmp_buf *where)
{
	launch();
	longjmp(*where, 1);
}

extern "C" void cfa_in_rbx(void (*)());
__asm__(ASSEMBLY_CFA_IN_RBX);

NOINLINE void scenario_frames()
{
	jmp_buf where;

	aligned_frame(200);
	large_frame();
	pushed_arguments(1, 2, 3, 4, 5, 6, 7, 8, 9);
	if (!setjmp(where))
		never_returns(&where);
	cfa_in_rbx(launch);
	NO_TAIL_CALL();
}

/* ---- exceptions ------------------------------------------------------------------------------ */

struct Launches {
	~Launches() { launch(); NO_TAIL_CALL(); }
};

NOINLINE void throws(int depth)
{
	Launches at_end;

	launch();
	if (!depth)
		throw std::runtime_error("thrown");
	throws(depth - 1);
	NO_TAIL_CALL();
}

NOINLINE void rethrows()
{
	try {
		throws(2);
	} catch (const std::exception &) {
		launch();
		throw;
	}
}

NOINLINE void scenario_exceptions()
{
	for (int i = 0; i < 2; i++) {
		try {
			rethrows();
		} catch (const std::runtime_error &e) {
			launch();
		}
	}
	NO_TAIL_CALL();
}

/* ---- coroutines ------------------------------------------------------------------------------ */

struct Task {
	struct promise_type {
		std::coroutine_handle<> continuation = std::noop_coroutine();

		Task get_return_object()
		{
			return { std::coroutine_handle<promise_type>::from_promise(*this) };
		}
		std::suspend_always initial_suspend() noexcept { return {}; }
		struct Final {
			bool await_ready() noexcept { return false; }
			std::coroutine_handle<> await_suspend(
				std::coroutine_handle<promise_type> h) noexcept
			{
				return h.promise().continuation;
			}
			void await_resume() noexcept {}
		};
		Final final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() { std::terminate(); }
	};

	std::coroutine_handle<promise_type> handle;

	bool await_ready() { return false; }
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> h)
	{
		handle.promise().continuation = h;
		return handle;
	}
	void await_resume() { handle.destroy(); }
};

Task inner(int n)
{
	launch();
	if (n)
		co_await inner(n - 1);
	launch();
}

Task outer()
{
	launch();
	co_await inner(2);
	launch();
}

NOINLINE void scenario_coroutines()
{
	Task t = outer();

	t.handle.resume();
	t.handle.destroy();
}

/*
 * Coroutines with their own stacks. Each stack is unmapped, and the next one may get its address.
 */
static ucontext_t main_context, other_context;

static void on_other_stack(int depth)
{
	recurse(depth);
	swapcontext(&other_context, &main_context);
	recurse(depth + 1);
}

NOINLINE void scenario_contexts()
{
	static int i;		/* static, not in a register: getcontext() may return twice */

	for (i = 0; i < 3; i++) {
		size_t size = (256u >> i) << 10;
		void *stack = mmap(nullptr, size, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		getcontext(&other_context);
		other_context.uc_stack.ss_sp = stack;
		other_context.uc_stack.ss_size = size;
		other_context.uc_link = &main_context;
		makecontext(&other_context, reinterpret_cast<void (*)()>(on_other_stack), 1, i + 2);
		swapcontext(&main_context, &other_context);
		launch();
		swapcontext(&main_context, &other_context);
		munmap(stack, size);
	}
	NO_TAIL_CALL();
}

/* ---- signals --------------------------------------------------------------------------------- */

static int handler_depth;

static void handler(int)
{
	int saved = errno;

	launch();
	if (handler_depth-- > 0)
		raise(SIGUSR2);
	errno = saved;
}

static void set_handler(int sig, int flags)
{
	struct sigaction sa = {};

	sa.sa_handler = handler;
	sa.sa_flags = flags;
	sigaction(sig, &sa, nullptr);
}

extern "C" void traps();
__asm__(ASSEMBLY_TRAPS);

static void skip_trap(int, siginfo_t *, void *uc)
{
	launch();
	ASSEMBLY_SKIP_TRAP(static_cast<ucontext_t *>(uc));
}

NOINLINE void trap_somewhere()
{
	struct sigaction sa = {};

	sa.sa_sigaction = skip_trap;
	sa.sa_flags = SA_SIGINFO;
	sigaction(SIGILL, &sa, nullptr);
	traps();
	NO_TAIL_CALL();
}

NOINLINE void scenario_signals()
{
	stack_t alt = {};

	set_handler(SIGUSR1, 0);
	set_handler(SIGUSR2, SA_NODEFER);
	raise(SIGUSR1);
	handler_depth = 3;			/* a handler in a handler in a handler */
	raise(SIGUSR2);

	alt.ss_size = 256 << 10;
	alt.ss_sp = malloc(alt.ss_size);
	sigaltstack(&alt, nullptr);
	set_handler(SIGUSR1, SA_ONSTACK);
	handler_depth = 2;			/* the inner handlers stay on the alternate stack */
	set_handler(SIGUSR2, SA_ONSTACK | SA_NODEFER);
	raise(SIGUSR1);
	trap_somewhere();
	alt.ss_flags = SS_DISABLE;
	sigaltstack(&alt, nullptr);
	free(alt.ss_sp);
}

static void *first_in_handler(void *)
{
	raise(SIGUSR1);			/* this thread's first launch is in the handler */
	launch();
	return nullptr;
}

struct AtThreadEnd {
	bool used = false;
	~AtThreadEnd() { launch(); NO_TAIL_CALL(); }
};

static void *launch_at_end(void *)
{
	static thread_local AtThreadEnd at_end;

	at_end.used = true;
	launch();
	return nullptr;
}

NOINLINE void scenario_threads()
{
	pthread_t thread;

	set_handler(SIGUSR1, 0);
	pthread_create(&thread, nullptr, first_in_handler, nullptr);
	pthread_join(thread, nullptr);
	pthread_create(&thread, nullptr, launch_at_end, nullptr);
	pthread_join(thread, nullptr);
}

/* ---- plug-ins -------------------------------------------------------------------------------- */

static void use_plugin(const char *name)
{
	std::string path = std::string(program_dir) + "/" + name;
	void *handle = dlopen(path.c_str(), RTLD_NOW);
	void (*work)(void (*)());

	if (!handle) {
		fprintf(stderr, "stacks: %s\n", dlerror());
		exit(1);
	}
	*reinterpret_cast<void **>(&work) = dlsym(handle, "plugin_work");
	work(launch);
	dlclose(handle);
}

/*
 * The two plug-ins differ only in the size of their frames, and replace each other at one address.
 */
NOINLINE void scenario_plugin()
{
	for (int i = 0; i < 3; i++) {
		use_plugin("stacks_a.so");
		use_plugin("stacks_b.so");
	}
	NO_TAIL_CALL();
}

/*
 * Launches in constructors while other threads load and unload libraries. A constructor also waits
 * for threads that make their first launch: a launch that needs the dynamic loader's lock would
 * deadlock.
 */
static void *first_launch(void *)
{
	launch();
	return nullptr;
}

static thread_local bool thread_in_constructor;

extern "C" NOINLINE void launch_in_constructor(void);
extern "C" void launch_in_constructor(void)
{
	pthread_t thread;

	if (thread_in_constructor) {
		pthread_create(&thread, nullptr, first_launch, nullptr);
		pthread_join(thread, nullptr);
	}
	launch();
	NO_TAIL_CALL();
}

static void *load_and_unload(void *arg)
{
	std::string from = std::string(program_dir) + "/stacks_a.so", to = "/tmp/stacks.XXXXXX";
	char buffer[65536];
	ssize_t n;
	int in, out;

	in = open(from.c_str(), O_RDONLY);
	out = mkstemp(&to[0]);
	while ((n = read(in, buffer, sizeof(buffer))) > 0)
		if (write(out, buffer, n) != n)
			break;
	close(in);
	close(out);
	for (int i = 0; i < 50; i++) {
		thread_in_constructor = i % 10 == 0;
		void *handle = dlopen(to.c_str(), RTLD_NOW);

		thread_in_constructor = false;
		if (handle)
			dlclose(handle);
	}
	unlink(to.c_str());
	return arg;
}

static void *launch_often(void *arg)
{
	for (int i = 0; i < 200; i++)
		recurse(i % 20);
	return arg;
}

NOINLINE void scenario_loader()
{
	pthread_t threads[6];

	for (int i = 0; i < 6; i++)
		pthread_create(&threads[i], nullptr, i < 4 ? load_and_unload : launch_often,
			       nullptr);
	for (pthread_t thread : threads)
		pthread_join(thread, nullptr);
}

/* ---- code without unwind information --------------------------------------------------------- */

static unsigned char *jit_code;

static void *emit(const void *code, size_t size)
{
	static size_t used;
	unsigned char *at;

	if (!jit_code)
		jit_code = static_cast<unsigned char *>(
			mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	at = jit_code + used;
	used += (size + 63) & ~size_t(63);
	memcpy(at, code, size);
	__builtin___clear_cache(reinterpret_cast<char *>(at), reinterpret_cast<char *>(at) + size);
	/* Writes a perf map, as JIT compilers do when asked to. */
	if (getenv("STACKS_PERF_MAP")) {
		char path[64];
		FILE *f;

		snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
		f = fopen(path, "a");
		if (f) {
			fprintf(f, "%lx %zx generated code %zu\n",
				reinterpret_cast<unsigned long>(at), size, used);
			fclose(f);
		}
	}
	return at;
}

NOINLINE void scenario_jit()
{
	static void (*call)(void (*)());

	if (!call)
		*reinterpret_cast<void **>(&call) = emit(code_framed,
								sizeof(code_framed));
	call([] {
		call([] {			/* through compiled code, back into JIT code */
			recurse(3);
		});
		NO_TAIL_CALL();
	});
	NO_TAIL_CALL();
}

NOINLINE void scenario_trampoline()
{
	static void (*call)(void (*)());

	if (!call)
		*reinterpret_cast<void **>(&call) = emit(code_trampoline,
								sizeof(code_trampoline));
	call([] { recurse(2); });
	NO_TAIL_CALL();
}

/* ---------------------------------------------------------------------------------------------- */

struct Scenario {
	const char *name;
	void (*run)();
};

#define SCENARIO(name) { #name, scenario_##name }

static const Scenario scenarios[] = {
	SCENARIO(inlining), SCENARIO(templates), SCENARIO(recursion), SCENARIO(virtual),
	SCENARIO(library), SCENARIO(frames), SCENARIO(exceptions), SCENARIO(coroutines),
	SCENARIO(contexts), SCENARIO(signals), SCENARIO(threads), SCENARIO(plugin),
	SCENARIO(loader), SCENARIO(jit), SCENARIO(trampoline),
};

static int run(const char *name)
{
	for (const Scenario &s : scenarios) {
		if (!name || !strcmp(name, s.name)) {
			s.run();
			if (name)
				return 0;
		}
	}
	return name ? 1 : 0;
}

int main(int argc, char **argv)
{
	int c, times = 1, failed = 0;
	ssize_t n;

	while ((c = getopt(argc, argv, "ln:")) != -1) {
		switch (c) {
		case 'l':
			for (const Scenario &s : scenarios)
				puts(s.name);
			return 0;
		case 'n':
			times = atoi(optarg);
			break;
		default:
			return 2;
		}
	}
	n = readlink("/proc/self/exe", program_dir, sizeof(program_dir) - 1);
	if (n > 0)
		*strrchr(program_dir, '/') = '\0';

	CHECK(cudaFree(nullptr));
	while (times--) {
		if (optind == argc)
			failed |= run(nullptr);
		for (int i = optind; i < argc; i++)
			failed |= run(argv[i]);
	}
	CHECK(cudaDeviceSynchronize());
	return failed;
}
