/* SPDX-License-Identifier: MIT */
/*
 * xpu_pylayout.h - offsets of CPython's structure members, for the shim, which runs inside the
 * process, and for the loader, which reads the process from outside. Include xpu_record.h before it
 */
#ifndef XPU_PYLAYOUT_H
#define XPU_PYLAYOUT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * Offsets in bytes, with CPython's names. The numbers are from CPython's headers. A comment at each
 * version names the headers and their releases. The numbers do not change after a version's first
 * release. Python 3.13 publishes most of its own offsets, in _PyRuntime.debug_offsets.
 */
struct py_layout {
	uint8_t minor;
	bool anchored;			/* each evaluation loop has an anchor on the C stack */
	bool has_cframe;		/* tstate points to a _PyCFrame, which points to the
					 * frame */
	uint16_t ts_frame;		/* PyThreadState: frame, cframe or current_frame */
	uint16_t ts_cframe;		/* 3.10: cframe, which is only an anchor */
	uint16_t cframe_frame, cframe_previous;
	uint16_t f_code, f_previous, f_instr, f_entry, f_owner, f_bytes;
	uint16_t co_name, co_filename, co_firstlineno, co_linetable, co_version;
	uint16_t co_firsttraceable, co_code, co_bytes;
	uint16_t ascii_bytes, compact_bytes;	/* bytes of the header before the characters */
	/* The members below are for readers outside of the process. */
	uint16_t runtime_main, interp_threads, ts_thread_id;
};

static const struct py_layout py_layouts[] = {
	{
		/* Include/pystate.h, Include/frameobject.h, Include/code.h; 3.8.18 */
		.minor = 8,
		.runtime_main = 40, .interp_threads = 8, .ts_thread_id = 176,
		.ts_frame = 24,
		.f_previous = 24, .f_code = 32, .f_instr = 104, .f_bytes = 112,
		.co_firstlineno = 40, .co_filename = 104, .co_name = 112, .co_linetable = 120,
		.co_bytes = 152,
		.ascii_bytes = 48, .compact_bytes = 72,
	}, {
		/* Include/cpython/{pystate,frameobject,code}.h; 3.9.18 */
		.minor = 9,
		.runtime_main = 40, .interp_threads = 8, .ts_thread_id = 176,
		.ts_frame = 24,
		.f_previous = 24, .f_code = 32, .f_instr = 104, .f_bytes = 112,
		.co_firstlineno = 40, .co_filename = 104, .co_name = 112, .co_linetable = 120,
		.co_bytes = 152,
		.ascii_bytes = 48, .compact_bytes = 72,
	}, {
		/*
		 * Include/cpython/{pystate,frameobject,code}.h; 3.10.13. struct CFrame has no
		 * pointer to a frame, but lies on the evaluation loop's stack.
		 */
		.minor = 10,
		.anchored = true,
		.runtime_main = 40, .interp_threads = 8, .ts_thread_id = 176,
		.ts_frame = 24, .ts_cframe = 48, .cframe_previous = 8,
		.f_previous = 24, .f_code = 32, .f_instr = 96, .f_bytes = 104,
		.co_firstlineno = 40, .co_filename = 104, .co_name = 112, .co_linetable = 120,
		.co_bytes = 152,
		.ascii_bytes = 48, .compact_bytes = 72,
	}, {
		/* Include/cpython/{pystate,code}.h, .../internal/pycore_frame.h; 3.11.2, 3.11.7 */
		.minor = 11,
		.anchored = true, .has_cframe = true,
		.runtime_main = 48, .interp_threads = 16, .ts_thread_id = 152,
		.ts_frame = 56, .cframe_frame = 8, .cframe_previous = 16,
		.f_code = 32, .f_previous = 48, .f_instr = 56, .f_entry = 68, .f_owner = 69,
		.f_bytes = 72,
		.co_firstlineno = 72, .co_filename = 112, .co_name = 128, .co_linetable = 136,
		.co_firsttraceable = 168, .co_code = 184, .co_bytes = 184,
		.ascii_bytes = 48, .compact_bytes = 72,
	}, {
		/* Same files as for 3.11, in version 3.12.1 */
		.minor = 12,
		.anchored = true, .has_cframe = true,
		.runtime_main = 48, .interp_threads = 72, .ts_thread_id = 136,
		.ts_frame = 56, .cframe_frame = 0, .cframe_previous = 8,
		.f_code = 0, .f_previous = 8, .f_instr = 56, .f_owner = 70, .f_bytes = 72,
		.co_firstlineno = 68, .co_version = 92, .co_filename = 112, .co_name = 128,
		.co_linetable = 136, .co_firsttraceable = 176, .co_code = 192, .co_bytes = 192,
		.ascii_bytes = 40, .compact_bytes = 56,
	}, {
		/*
		 * Same files as for 3.11, in version 3.13.0. debug_offsets takes precedence over
		 * these numbers.
		 */
		.minor = 13,
		.anchored = true,
		.runtime_main = 640, .interp_threads = 7344, .ts_thread_id = 152,
		.ts_frame = 72,
		.f_code = 0, .f_previous = 8, .f_instr = 56, .f_owner = 70, .f_bytes = 72,
		.co_firstlineno = 68, .co_version = 92, .co_filename = 112, .co_name = 128,
		.co_linetable = 136, .co_firsttraceable = 184, .co_code = 200, .co_bytes = 200,
		.ascii_bytes = 40, .compact_bytes = 56,
	},
};

/* Numbers for all versions: Include/object.h, Include/cpython/{bytesobject,unicodeobject}.h. */
#define OB_TYPE		8
#define BYTES_SIZE	16
#define BYTES_DATA	32
#define STR_LENGTH	16
#define STR_HASH	24		/* the hash is -1 until it is computed */
#define STR_STATE	32
#define STATE_KIND(s)	((s) >> 2 & 7)	/* bytes per character */
#define STATE_COMPACT	0x20
#define STATE_ASCII	0x40
#define STATE_SHAPE	0x7c		/* STATE_KIND, STATE_COMPACT and STATE_ASCII together */

/* The head of struct _Py_DebugOffsets, Include/internal/pycore_runtime.h; 3.13.0. */
struct py_debug_offsets {
	char cookie[8];
	uint64_t version, free_threaded;
	struct {
		uint64_t size, finalizing, interpreters_head;
	} runtime_state;
	struct {
		uint64_t size, id, next, threads_head, rest[9];
	} interpreter_state;
	struct {
		uint64_t size, prev, next, interp, current_frame, thread_id, native_thread_id,
			datastack_chunk, status;
	} thread_state;
	struct {
		uint64_t size, previous, executable, instr_ptr, localsplus, owner;
	} frame;
	struct {
		uint64_t size, filename, name, qualname, linetable, firstlineno, argcount,
			localsplusnames, localspluskinds, code_adaptive;
	} code;
	struct {
		uint64_t size, type;
	} object;
	uint64_t type[4], tuple[3], list[3], dict[3], float_[2], long_[3];
	struct {
		uint64_t size, ob_size, sval;
	} bytes;
	struct {
		uint64_t size, state, length, ascii_size;
	} unicode;
};

/* Finds the layout of CPython @version, a PY_VERSION_HEX. Return: false if it is unknown. */
static inline bool py_layout__find(unsigned long version, struct py_layout *l)
{
	size_t i;

	for (i = 0; i < sizeof(py_layouts) / sizeof(py_layouts[0]); i++) {
		if (version >> 24 != 3 || (version >> 16 & 0xff) != py_layouts[i].minor)
			continue;
		if ((version & 0xf0) < 0xc0)	/* older than the first release candidate */
			break;
		*l = py_layouts[i];
		return true;
	}
	return false;
}

/*
 * Sets @l to the offsets that Python 3.13 publishes. Return: false if Python's other data
 * contradict @l, or if this Python has no GIL.
 */
static inline bool py_layout__debug(struct py_layout *l, const struct py_debug_offsets *d)
{
	if (memcmp(d->cookie, "xdebugpy", sizeof(d->cookie)) || d->free_threaded ||
	    d->object.type != OB_TYPE || d->bytes.ob_size != BYTES_SIZE ||
	    d->bytes.sval != BYTES_DATA || d->unicode.state != STR_STATE ||
	    d->unicode.length != STR_LENGTH || d->unicode.ascii_size != l->ascii_bytes ||
	    d->code.firstlineno != l->co_firstlineno || d->code.qualname != l->co_name ||
	    d->code.filename != l->co_filename || d->code.linetable != l->co_linetable ||
	    d->code.code_adaptive != l->co_code || d->frame.owner > 1024 ||
	    d->thread_state.current_frame > 4096)
		return false;
	l->runtime_main = d->runtime_state.interpreters_head + 8;
	l->interp_threads = d->interpreter_state.threads_head;
	l->ts_thread_id = d->thread_state.thread_id;
	l->ts_frame = d->thread_state.current_frame;
	l->f_code = d->frame.executable;
	l->f_previous = d->frame.previous;
	l->f_instr = d->frame.instr_ptr;
	l->f_owner = d->frame.owner;
	l->f_bytes = d->frame.size;
	return true;
}

/* Return: @l as it is in a record, without addresses. */
static inline struct xpu_python py_layout__wire(const struct py_layout *l)
{
	return (struct xpu_python){
		.interp_threads = l->interp_threads,
		.minor = l->minor,
		.has_cframe = l->has_cframe,
		.runtime_main = l->runtime_main,
		.ts_thread_id = l->ts_thread_id,
		.ts_frame = l->ts_frame,
		.ts_cframe = l->ts_cframe,
		.cframe_frame = l->cframe_frame,
		.cframe_previous = l->cframe_previous,
		.f_code = l->f_code,
		.f_previous = l->f_previous,
		.f_instr = l->f_instr,
		.f_entry = l->f_entry,
		.f_owner = l->f_owner,
		.co_name = l->co_name,
		.co_filename = l->co_filename,
		.co_firstlineno = l->co_firstlineno,
		.co_linetable = l->co_linetable,
		.co_code = l->co_code,
		.co_bytes = l->co_bytes,
		.ascii_bytes = l->ascii_bytes,
		.compact_bytes = l->compact_bytes,
	};
}

#endif /* XPU_PYLAYOUT_H */
