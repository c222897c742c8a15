// SPDX-License-Identifier: MIT
#include "python/interpreter.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/hot.h"
#include "base/libc.h"
#include "base/number.h"
#include "base/environment.h"
#include "wire/probe.h"
#include "wire/wire.h"

#define LOOK_S		1		/* interval between searches for an interpreter */

HOT_DATA _Atomic enum python_mode python__mode;
HOT_DATA struct interpreter py;

static const char *_Atomic trouble;	/* why Python frames are missing, if not yet reported */
static int trouble_level;

void interpreter__give_up(int level, const char *why)
{
	atomic_store(&python__mode, PYTHON_OFF);
	trouble_level = level;
	atomic_store(&trouble, why);
}

bool interpreter__tell_trouble(void)
{
	const char *why = atomic_exchange(&trouble, NULL);

	if (why)
		wire__message(trouble_level, why);
	return why;
}

static char trouble_text[256];
static bool asked_for_it;

static void refuse(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void refuse(int level, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(trouble_text, sizeof(trouble_text), fmt, args);
	va_end(args);
	interpreter__give_up(level, trouble_text);
}

static int find_library(struct dl_phdr_info *info, size_t size, void *name)
{
	const char *base = strrchr(info->dlpi_name, '/');

	(void)size;
	base = base ? base + 1 : info->dlpi_name;
	if (strncmp(base, "libpython3.", strlen("libpython3.")))
		return 0;
	snprintf(name, PATH_MAX, "%s", info->dlpi_name);
	return 1;
}

/* Whether the process has an interpreter; sets *@handle for dlsym(). */
static bool find_interpreter(void **handle)
{
	static char name[PATH_MAX];

	*handle = RTLD_DEFAULT;
	if (dlsym(RTLD_DEFAULT, "PyCode_Type"))
		return true;
	/* The program may have loaded the library with RTLD_LOCAL. */
	if (dl_iterate_phdr(find_library, name) != 1)
		return false;
	*handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
	return *handle;
}

/* Checks the offsets that Python 3.13 and later publish. */
static bool check_debug_offsets(const struct py_debug_offsets *d, unsigned long version)
{
	if (memcmp(d->cookie, "xdebugpy", sizeof(d->cookie)) || d->version != version) {
		refuse(XPU_MESSAGE_WARNING, "Python's _PyRuntime is not as expected: call chains "
					    "have no Python frames");
		return false;
	}
	if (d->free_threaded) {
		refuse(XPU_MESSAGE_WARNING, "this Python runs without a GIL: call chains have no "
					    "Python frames");
		return false;
	}
	if (!py_layout__debug(&L, d)) {
		refuse(XPU_MESSAGE_WARNING, "Python's code objects have an unknown layout: call "
					    "chains have no Python frames");
		return false;
	}
	return true;
}

/* Return: the version in the form of PY_VERSION_HEX; 0 if unknown. */
static unsigned long get_version(void *handle)
{
	const unsigned long *py_version = dlsym(handle, "Py_Version");
	unsigned int major, minor, micro;
	const char *(*get)(void);
	const char *s;

	if (py_version)
		return *py_version;
	*(void **)&get = dlsym(handle, "Py_GetVersion");
	s = get ? get() : "";
	if (!number__read(&s, &major) || *s++ != '.' || !number__read(&s, &minor) || *s++ != '.' ||
	    !number__read(&s, &micro))
		return 0;
	return (unsigned long)major << 24 | minor << 16 | micro << 8 |
	       (*s == 'a' ? 0xa0 : *s == 'b' ? 0xb0 : 0xf0);
}

static void find_loop(void *handle)
{
	const ElfW(Sym) *symbol = NULL;
	void *loop = dlsym(handle, "_PyEval_EvalFrameDefault");
	Dl_info info;

	if (!loop || !dladdr1(loop, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
		return;
	py.loop_start = (uintptr_t)loop;
	py.loop_bytes = symbol->st_size;
}

/*
 * Reports where the interpreter is, so that samples can have its frames. It may not have started
 * yet, and the process may never use CUDA. @handle: dlopen()'s handle of the object that contains
 * the interpreter
 */
static void tell(void *handle, bool early)
{
	struct xpu_record_python r = { .hdr = { XPU_RECORD_PYTHON, 0, sizeof(r) } };
	const struct py_debug_offsets *d = dlsym(handle, "_PyRuntime");
	const char *asked = environment__get(XPU_PYTHON_ENV);
	uintptr_t code = (uintptr_t)dlsym(handle, "PyCode_Type");
	uintptr_t unicode = (uintptr_t)dlsym(handle, "PyUnicode_Type");
	struct py_layout l;

	if (!d || !code || !unicode || (asked && !strcmp(asked, "off")) ||
	    !py_layout__find(get_version(handle), &l))
		return;
	if (l.minor == 13 && !py_layout__debug(&l, d))
		return;
	r.python = py_layout__wire(&l);
	r.python.runtime = (uintptr_t)d;
	r.python.code_type = code;
	r.python.unicode_type = unicode;
	if (early)
		xpu_early(&r, sizeof(r));
	else
		probe__batch(&r, sizeof(r));
}

void python__tell(bool early)
{
	int saved_errno = errno;
	void *handle;

	/* A loader that attaches later may take samples, too. */
	if ((probe__live() || environment__get(XPU_SAMPLES_ENV)) && find_interpreter(&handle))
		tell(handle, early);
	dlerror();
	errno = saved_errno;
}

static void prepare(void *handle, enum python_mode wanted, bool unwound)
{
	unsigned long version = get_version(handle);
	Dl_info info;

	py.code_type = (uintptr_t)dlsym(handle, "PyCode_Type");
	py.unicode_type = (uintptr_t)dlsym(handle, "PyUnicode_Type");
	py.bytes_type = (uintptr_t)dlsym(handle, "PyBytes_Type");
	*(void **)&py.get_tstate = dlsym(handle, "PyGILState_GetThisThreadState");
	if (sizeof(void *) != 8 || !py_layout__find(version, &L)) {
		refuse(XPU_MESSAGE_WARNING, "Python %lu.%lu is unknown: call chains have no Python "
					    "frames (3.8 to 3.13 have them)", version >> 24,
		       version >> 16 & 0xff);
		return;
	}
	if (!py.code_type || !py.unicode_type || !py.bytes_type || !py.get_tstate) {
		refuse(XPU_MESSAGE_WARNING, "this Python does not export the symbols that the shim "
					    "needs: call chains have no Python frames");
		return;
	}
	if (L.minor == 13) {
		const struct py_debug_offsets *runtime = dlsym(handle, "_PyRuntime");

		if (!runtime) {
			refuse(XPU_MESSAGE_WARNING, "this Python does not export _PyRuntime: call "
						    "chains have no Python frames");
			return;
		}
		if (!check_debug_offsets(runtime, version))
			return;
	}
	find_loop(handle);
	if (wanted == PYTHON_ON && !unwound) {
		refuse(asked_for_it ? XPU_MESSAGE_WARNING : XPU_MESSAGE_INFO,
		       "call chains have no Python frames: use --call-graph dwarf or "
		       "--python only");
		return;
	}
	if (wanted == PYTHON_ON && !L.anchored && !py.loop_bytes) {
		refuse(XPU_MESSAGE_WARNING, "cannot find the evaluation loop of this Python: use "
					    "--python only to record its frames");
		return;
	}
	/* The interpreter must never be unloaded: launches call into it. */
	if (dladdr((const void *)(uintptr_t)py.code_type, &info) && info.dli_fname)
		dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	atomic_store(&python__mode, wanted);
}

void python__look(bool unwound)
{
	static enum python_mode wanted = PYTHON_ON;
	static bool begun, done;
	static time_t next;
	struct timespec now;
	const char *asked;
	void *handle;

	if (done)
		return;
	if (!begun) {
		begun = true;
		asked = environment__get(XPU_PYTHON_ENV);
		asked_for_it = asked;
		if (asked && !strcmp(asked, "only"))
			wanted = PYTHON_ONLY;
		done = asked && !strcmp(asked, "off");
		if (done)
			return;
	}
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (now.tv_sec < next)
		return;
	next = now.tv_sec + LOOK_S;
	if (find_interpreter(&handle)) {
		done = true;
		prepare(handle, wanted, unwound);
		python__tell(false);
	}
	dlerror();			/* hide the error from the application */
}
