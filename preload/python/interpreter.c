// SPDX-License-Identifier: MIT
#include "python/interpreter.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/hot.h"
#include "base/libc.h"
#include "base/loaded.h"
#include "base/number.h"
#include "base/environment.h"
#include "wire/probe.h"
#include "wire/wire.h"

#define LOOK_S		1		/* interval between searches for an interpreter */

HOT_DATA _Atomic enum python_mode python__mode;
HOT_DATA struct interpreter py;

static const char *_Atomic trouble;	/* why Python frames are missing; NULL: no reason, or
					 * already reported */
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

/* Whether the process has an interpreter. */
static bool has_interpreter(void)
{
	return symbol__find("PyCode_Type").address != 0;
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
static unsigned long get_version(void)
{
	const unsigned long *py_version = (const void *)symbol__find("Py_Version").address;
	const char *(*get)(void) = (const char *(*)(void))symbol__find("Py_GetVersion").address;
	unsigned int major, minor, micro;
	const char *s;

	if (py_version)
		return *py_version;
	s = get ? get() : "";
	if (!number__read(&s, &major) || *s++ != '.' || !number__read(&s, &minor) || *s++ != '.' ||
	    !number__read(&s, &micro))
		return 0;
	return (unsigned long)major << 24 | minor << 16 | micro << 8 |
	       (*s == 'a' ? 0xa0 : *s == 'b' ? 0xb0 : 0xf0);
}

static void find_loop(void)
{
	struct symbol loop = symbol__find("_PyEval_EvalFrameDefault");

	py.loop_start = loop.address;
	py.loop_bytes = loop.bytes;
}

/*
 * Reports where the interpreter is, so that samples can have its frames. This works even if the
 * interpreter has not started yet, and if the process never uses CUDA.
 */
static void tell(bool early)
{
	struct xpu_record_python r = { .hdr = { XPU_RECORD_PYTHON, 0, sizeof(r) } };
	const struct py_debug_offsets *d = (const void *)symbol__find("_PyRuntime").address;
	const char *asked = environment__get(XPU_PYTHON_ENV);
	uintptr_t code = symbol__find("PyCode_Type").address;
	uintptr_t unicode = symbol__find("PyUnicode_Type").address;
	struct py_layout l;

	if (!d || !code || !unicode || (asked && !strcmp(asked, "off")) ||
	    !py_layout__find(get_version(), &l))
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

	/* A loader that attaches later may take samples, too. */
	if ((probe__live() || environment__get(XPU_SAMPLES_ENV)) && has_interpreter())
		tell(early);
	errno = saved_errno;
}

static void prepare(enum python_mode wanted, bool unwound)
{
	struct symbol code = symbol__find("PyCode_Type");
	unsigned long version;
	Dl_info info;

	/*
	 * The interpreter must never be unloaded, because launches call into it. dlopen() waits
	 * until it is fully loaded: before that, its functions cannot be called.
	 */
	if (!code.in_program && dladdr((const void *)code.address, &info) && info.dli_fname)
		dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	dlerror();			/* hide the error from the application */
	version = get_version();
	py.code_type = code.address;
	py.unicode_type = symbol__find("PyUnicode_Type").address;
	py.bytes_type = symbol__find("PyBytes_Type").address;
	py.get_tstate = (__typeof__(py.get_tstate))
		symbol__find("PyGILState_GetThisThreadState").address;
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
		const struct py_debug_offsets *runtime =
			(const void *)symbol__find("_PyRuntime").address;

		if (!runtime) {
			refuse(XPU_MESSAGE_WARNING, "this Python does not export _PyRuntime: call "
						    "chains have no Python frames");
			return;
		}
		if (!check_debug_offsets(runtime, version))
			return;
	}
	find_loop();
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
	atomic_store(&python__mode, wanted);
}

void python__look(bool unwound)
{
	static enum python_mode wanted = PYTHON_ON;
	static bool begun, done;
	static time_t next;
	struct timespec now;
	const char *asked;

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
	if (has_interpreter()) {
		done = true;
		prepare(wanted, unwound);
		python__tell(false);
	}
}
