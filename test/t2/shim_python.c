// SPDX-License-Identifier: MIT
/*
 * Python frames in call chains. Wherever py_stacks.py launches, the call chain must equal Python's
 * own call chain, in every CPython on this machine. The call chain of a memory event just before
 * the launch must equal Python's call chain, too. A library that differs from all known versions of
 * CPython must do no harm. The test builds the memory of an unknown library, and reads this memory
 * with the layout of each known version.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"
#include "launch/launch.h"
#include "listener.h"
#include "tap.h"
#include "xpu_slot.h"

#define MAX_SITES	4096

static const char *build, *src, *self;

struct site {
	unsigned long nr;		/* launches */
	char *chain;
};

/* ---- inside: a program that contains Python -------------------------------------------------- */

static void append(char *to, size_t size, const char *what)
{
	size_t len = strlen(to);

	snprintf(to + len, size - len, "%s%s", len ? ";" : "", what);
}

enum function { NONE_OF_THESE, LOOP, THROUGH };

/*
 * Return: the function called at @word. Results are cached, because each dladdr() searches a whole
 * symbol table.
 */
static enum function function_at(uint64_t word)
{
	static struct {
		uint64_t word;
		enum function function;
	} cache[4096], *c;
	Dl_info info;

	c = &cache[word % 4096];
	if (c->word == word)
		return c->function;
	c->word = word;
	c->function = NONE_OF_THESE;
	if (dladdr((void *)(uintptr_t)(word - 1), &info) && info.dli_sname) {
		if (!strcmp(info.dli_sname, "_PyEval_EvalFrameDefault"))
			c->function = LOOP;
		else if (!strcmp(info.dli_sname, "py_through"))
			c->function = THROUGH;
	}
	return c->function;
}

/*
 * Writes the chain in the format of py_stacks.py. @nr_loops counts interpreter loops that should
 * have been removed.
 */
static void describe(const struct listener_launch *l, char *chain, size_t size, int *nr_loops)
{
	const char *file, *name;
	char frame[1024];
	enum function function;
	uint32_t code, i;
	uint64_t word;

	chain[0] = '\0';
	for (i = l->nr_frames; i-- > 0; ) {
		word = l->frames[i];
		if (!XPU_FRAME_IS_PYTHON(word)) {
			function = function_at(word);
			*nr_loops += function == LOOP;
			if (function == THROUGH)
				append(chain, size, "py_through");
			continue;
		}
		code = XPU_FRAME_CODE(word);
		file = name = NULL;
		if (code < 4096 && listener.pycodes[code].name) {
			name = listener.strings[listener.pycodes[code].name];
			file = listener.strings[listener.pycodes[code].filename];
		}
		if (file && strrchr(file, '/'))
			file = strrchr(file, '/') + 1;
		snprintf(frame, sizeof(frame), "%s:%s:%u", file ? file : "?", name ? name : "?",
			 XPU_FRAME_LINE(word));
		append(chain, size, frame);
	}
}

static size_t read_sites(const char *path, struct site *sites)
{
	static char line[65536], chain[60000];
	unsigned long nr;
	size_t nr_sites = 0, n;
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f) &&
	       sscanf(line, "%zu %lu %59999[^\n]", &n, &nr, chain) == 3 && n < MAX_SITES) {
		sites[n].nr = nr;
		sites[n].chain = strdup(chain);
		nr_sites++;
	}
	if (f)
		fclose(f);
	return nr_sites;
}

/* Allocates memory before each launch; its size in bytes is the site number + 1. */
static void make_block(int site)
{
	const struct alloc a = {
		.what = XPU_ALLOC_MADE, .space = XPU_SPACE_BLOCK, .address = 0x1000,
		.bytes = 1 + site, .order = allocs__order(1),
	};

	launch__tell_alloc(&a, XPU_DOMAIN_ALLOCATORS, XPU_ALLOCATOR_TORCH);
}

static int compare(const void *a, const void *b)
{
	const struct listener_kernel *ka = a, *kb = b;

	return (ka->correlation_id > kb->correlation_id) -
	       (ka->correlation_id < kb->correlation_id);
}

/*
 * Compares every launch with the expected chain of its site. Prints the verdict, which shell()
 * reads.
 */
static void verdict(const char *expected)
{
	static struct site sites[MAX_SITES];
	static char chain[60000];
	size_t nr_sites = read_sites(expected, sites), site, i, missing = 0;
	unsigned int nr_wrong = 0, nr_wrong_allocs = 0;
	struct listener_launch event = { 0 };
	const struct listener_path *path;
	struct listener_kernel *k, key = { 0 };
	int nr_loops = 0;

	qsort(listener.kernels, listener.nr_kernels, sizeof(listener.kernels[0]), compare);
	for (i = 0; i < listener.nr_launches; i++) {
		const struct listener_launch *l = &listener.launches[i];

		key.correlation_id = l->correlation_id;
		k = bsearch(&key, listener.kernels, listener.nr_kernels, sizeof(*k), compare);
		if (!k || sscanf(listener.strings[k->name], "site_%zu", &site) != 1 ||
		    site >= nr_sites) {
			nr_wrong++;
			continue;
		}
		describe(l, chain, sizeof(chain), &nr_loops);
		if (strcmp(chain, sites[site].chain) && nr_wrong++ < 3)
			diag("site %zu: expected %s\n#      got %s", site, sites[site].chain,
			     chain);
		sites[site].nr--;
	}
	for (i = 0; i < listener.nr_allocs; i++) {
		path = &listener.paths[listener.allocs[i].path_id];
		site = listener.allocs[i].bytes - 1;
		event.nr_frames = path->nr_frames;
		event.frames = path->frames;
		describe(&event, chain, sizeof(chain), &nr_loops);
		if ((site >= nr_sites || strcmp(chain, sites[site].chain)) && nr_wrong_allocs++ < 3)
			diag("memory at site %zu: expected %s\n#      got %s", site,
			     site < nr_sites ? sites[site].chain : "none", chain);
	}
	for (i = 0; i < nr_sites; i++)
		missing += sites[i].nr != 0;
	printf("sites %zu launches %u wrong %u missing %zu loops %d bad %u events %u wrong %u\n",
	       nr_sites, listener.nr_launches, nr_wrong, missing, nr_loops, listener.nr_bad,
	       listener.nr_allocs, nr_wrong_allocs);
	fflush(stdout);
}

/* Runs py_stacks.py in this process. Python is loaded before or after the shim wakes. */
static int inside(const char *library, const char *how, const char *held)
{
	void (*initialize)(int), (*finalize)(void), (**before)(int);
	int (*run)(const char *);
	void *python = NULL, *launches;
	char script[4096];
	int i;

	listener.keep_frames = true;
	listener__attach();
	cuInit(0);
	if (!strcmp(how, "early"))
		python = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
	InitializeInjection();
	if (!python)
		python = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
	if (!python) {
		diag("%s", dlerror());
		return 1;
	}
	*(void **)&initialize = dlsym(python, "Py_InitializeEx");
	*(void **)&finalize = dlsym(python, "Py_Finalize");
	*(void **)&run = dlsym(python, "PyRun_SimpleString");
	initialize(0);
	if (strcmp(how, "early"))
		pause_ms(1500);		/* the shim looks for Python once a second */
	snprintf(script, sizeof(script), "%s/workload/py_launch.so", build);
	launches = dlopen(script, RTLD_NOW);
	before = launches ? dlsym(launches, "py_before_launch") : NULL;
	if (!before)
		return 1;
	*before = make_block;
	snprintf(script, sizeof(script),
		 "import sys\n"
		 "sys.argv = ['py_stacks.py', '%s/workload/py_launch.so', 'expected', '%s']\n"
		 "exec(compile(open('%s/test/workload/py_stacks.py').read(), 'py_stacks.py', "
		 "'exec'))\n",
		 build, held, src);
	if (run(script))
		return 1;
	for (i = 0; i < 1000 && (heard(nr_kernels) < heard(nr_launches) ||
				 heard(nr_allocs) < heard(nr_launches)); i++)
		pause_ms(10);
	pause_ms(300);			/* definitions arrive with the next batch */
	finalize();
	verdict("expected");
	return 0;
}

/*
 * Launches without Python, with py_fake.so in the process. @scenario selects the contents
 * of the memory that py_fake.so points to.
 */
static int fake(const char *scenario)
{
	uint64_t *version, *tstate_memory, *memory, *runtime, code_type;
	char path[4096];
	void **tstate, *library;
	uint64_t one = 1;
	void *args[] = { &one };
	CUfunction function;
	CUcontext context;
	CUmodule module;
	int i;

	snprintf(path, sizeof(path), "%s/workload/py_fake.so", build);
	if (!strcmp(scenario, "for its own use")) {
		if (symlink(path, "libpython3.99.so"))
			return 1;
		library = dlopen("./libpython3.99.so", RTLD_NOW | RTLD_LOCAL);
	} else {
		library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	}
	if (!library)
		return 1;
	version = dlsym(library, "Py_Version");
	tstate = dlsym(library, "fake_tstate");
	runtime = dlsym(library, "_PyRuntime");
	code_type = (uintptr_t)dlsym(library, "PyCode_Type");
	/* Two readable pages between unreadable ones. */
	tstate_memory = (uint64_t *)((char *)mmap(NULL, 4 * 4096, PROT_NONE,
						  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 4096);
	mprotect(tstate_memory, 2 * 4096, PROT_READ | PROT_WRITE);
	memory = tstate_memory + 512;
	*tstate = tstate_memory;
	*version = 0x030b07f0;
	tstate_memory[7] = (uintptr_t)memory;		/* 3.11: cframe */
	memory[1] = (uintptr_t)(memory + 8);		/* current_frame */

	if (!strcmp(scenario, "unknown version") || !strcmp(scenario, "for its own use")) {
		*version = 0x030e00f0;
	} else if (!strcmp(scenario, "alpha")) {
		*version = 0x030c00a1;
	} else if (!strcmp(scenario, "no cookie")) {
		*version = 0x030d00f0;
	} else if (!strcmp(scenario, "no GIL")) {
		*version = 0x030d00f0;
		memcpy(runtime, "xdebugpy", 8);
		runtime[1] = *version;
		runtime[2] = 1;
	} else if (!strcmp(scenario, "wild thread state")) {
		*tstate = (char *)tstate_memory - 4096;
	} else if (!strcmp(scenario, "crooked thread state")) {
		*tstate = (char *)tstate_memory + 3;
	} else if (!strcmp(scenario, "wild cframe")) {
		tstate_memory[7] = 8;
	} else if (!strcmp(scenario, "wild frame")) {
		memory[1] = 0xdeadbeefdeadbee8ull;
	} else if (!strcmp(scenario, "frame at the edge")) {
		memory[1] = (uintptr_t)(tstate_memory + 1024 - 2);
	} else if (!strcmp(scenario, "wild code")) {
		memory[8 + 4] = 0x1000;
	} else if (!strcmp(scenario, "no code")) {
		memory[8 + 4] = (uintptr_t)memory;	/* an object of another type */
	} else if (!strcmp(scenario, "wild table")) {
		memory[8 + 4] = (uintptr_t)(memory + 64);
		memory[64 + 1] = code_type;
		memory[64 + 17] = 0xffffffffff000000ull;
	} else if (!strcmp(scenario, "3.8: wild frame")) {
		*version = 0x030812f0;
		tstate_memory[3] = 0x7fffffffe000ull;
	} else if (!strcmp(scenario, "no frames")) {
		memory[1] = 0;
	} else {
		return 1;
	}

	listener.keep_frames = true;
	listener__attach();
	device__start(&context, &module, &function);
	for (i = 0; i < 100; i++)
		cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL);
	cuCtxSynchronize();
	listener__wait(&listener.nr_kernels, 100);
	pause_ms(300);
	for (i = 0; i < (int)listener.nr_launches; i++)
		if (!listener.launches[i].nr_frames ||
		    XPU_FRAME_IS_PYTHON(listener.launches[i].frames[0]))
			break;
	printf("launches %u native %d bad %u messages %u: %s\n", listener.nr_launches, i,
	       listener.nr_bad, listener.nr_messages, listener.message);
	fflush(stdout);
	return 0;
}

/* ---- outside: the test, which runs these programs -------------------------------------------- */

/*
 * Runs this program again with @args. @line receives the last line of its output. Return: its exit
 * status.
 */
static int shell(const char *env, const char *args, char *line, size_t size)
{
	char command[4096];
	FILE *f;

	line[0] = '\0';
	snprintf(command, sizeof(command), "%s '%s' %s", env, self, args);
	f = popen(command, "r");
	if (!f)
		return -1;
	while (fgets(line, size, f))
		line[strcspn(line, "\n")] = '\0';
	return pclose(f);
}

static void check_python(const char *version, const char *prefix, const char *library, bool first)
{
	static const struct {
		const char *env, *how, *held, *name;
	} runs[] = {
		{ "", "early", "released", "GIL released" },
		{ "", "early", "held", "GIL held" },
		/* These cases run only with the first Python. */
		{ "XPUSHIM_MAX_FRAMES=600", "early", "released", "long chains" },
		{ "", "late", "released", "loaded after the shim woke" },
	};
	unsigned int nr_sites, nr, nr_wrong, nr_missing, nr_bad, nr_events, nr_wrong_events;
	char line[1024], env[2048], args[2048];
	int nr_loops;
	size_t i;

	for (i = 0; i < (first ? sizeof(runs) / sizeof(runs[0]) : 2); i++) {
		snprintf(env, sizeof(env), "PYTHONHOME='%s' PYTHONDONTWRITEBYTECODE=1 %s", prefix,
			 runs[i].env);
		snprintf(args, sizeof(args), "inside '%s' %s %s", library, runs[i].how,
			 runs[i].held);
		is_int(shell(env, args, line, sizeof(line)), 0, "%s, %s: exit status 0", version,
		       runs[i].name);
		if (sscanf(line,
			   "sites %u launches %u wrong %u missing %u loops %d bad %u events %u "
			   "wrong %u",
			   &nr_sites, &nr, &nr_wrong, &nr_missing, &nr_loops, &nr_bad, &nr_events,
			   &nr_wrong_events) != 8)
			nr = 0;
		ok(nr > 9000 && nr_sites > 250 && !nr_wrong && !nr_missing && !nr_loops &&
			   !nr_bad && nr_events == nr && !nr_wrong_events,
		   "%s, %s: chains equal Python's own chains: %s", version, runs[i].name, line);
	}
	if (!first)
		return;
	snprintf(env, sizeof(env), "PYTHONHOME='%s' PYTHONDONTWRITEBYTECODE=1 XPUSHIM_PYTHON=off",
		 prefix);
	snprintf(args, sizeof(args), "inside '%s' early released 2>/dev/null", library);
	shell(env, args, line, sizeof(line));
	nr = nr_wrong = 0;
	sscanf(line, "sites %*u launches %u wrong %u", &nr, &nr_wrong);
	ok(nr > 9000 && nr_wrong == nr, "%s, off: no chain has Python frames: %s", version, line);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *scenario, *message;
	} fakes[] = {
		{ "unknown version", "Python 3.14 is unknown" },
		{ "for its own use", "Python 3.14 is unknown" },
		{ "alpha", "Python 3.12 is unknown" },
		{ "no cookie", "_PyRuntime is not as expected" },
		{ "no GIL", "without a GIL" },
		{ "wild thread state", "not where they are expected" },
		{ "crooked thread state", "not where they are expected" },
		{ "wild cframe", "not where they are expected" },
		{ "wild frame", "not where they are expected" },
		{ "frame at the edge", "not where they are expected" },
		{ "wild code", "not as expected" },
		{ "no code", "not as expected" },
		{ "wild table", "not as expected" },
		{ "3.8: wild frame", "evaluation loop" },
		{ "no frames", NULL },
	};
	char line[4096], args[1024], version[64], executable[1024], prefix[1024], library[1024];
	unsigned int nr, nr_native, nr_bad, nr_messages;
	FILE *find;
	size_t i;

	build = getenv("XPU_BUILD");
	src = getenv("XPU_SRC");
	self = argv[0];
	if (!build || !src)
		return 1;
	if (argc == 5 && !strcmp(argv[1], "inside"))
		_exit(inside(argv[2], argv[3], argv[4]));
	if (argc == 3 && !strcmp(argv[1], "fake"))
		_exit(fake(argv[2]));

	for (i = 0; i < sizeof(fakes) / sizeof(fakes[0]); i++) {
		snprintf(args, sizeof(args), "fake '%s'", fakes[i].scenario);
		is_int(shell("", args, line, sizeof(line)), 0,
		       "%s: the program ends well", fakes[i].scenario);
		nr = nr_native = nr_bad = nr_messages = 0;
		sscanf(line, "launches %u native %u bad %u messages %u", &nr, &nr_native, &nr_bad,
		       &nr_messages);
		ok(nr == 100 && nr_native == 100 && !nr_bad, "%s: chains are native: %s",
		   fakes[i].scenario, line);
		ok(fakes[i].message ? nr_messages == 1 && strstr(line, fakes[i].message)
				    : !nr_messages,
		   "%s: a message is sent exactly where one is expected", fakes[i].scenario);
	}

	snprintf(args, sizeof(args), "sh '%s/test/workload/py_find.sh'", src);
	/* The Pythons on this machine are not for the emulated machine. */
	find = getenv("XPU_EMULATED") ? NULL : popen(args, "r");
	i = 0;
	while (find && fgets(line, sizeof(line), find)) {
		if (sscanf(line, "%63s %1023s %1023s %1023s", version, executable, prefix,
			   library) != 4)
			continue;
		if (!strcmp(library, "-")) {
			skip(1, "%s has no shared library", version);
			continue;
		}
		check_python(version, prefix, library, !i++);
	}
	if (find)
		pclose(find);
	if (!i)
		skip(1, "no libpython of 3.8 to 3.13");
	return done_testing();
}
