// SPDX-License-Identifier: GPL-3.0-or-later
#include "symbols/callchain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "symbols/demangle.h"
#include "hash.h"
#include "symbols/jitmap.h"
#include "symbols/name_keeper.h"
#include "symbols/recorded_names.h"

struct frame_key {
	const char *name;
	struct dso *dso;
};

struct frame_entry {
	struct frame_key key;
	struct frame frame;
	UT_hash_handle hh;
};

/* Key of the frames at an address: its function and the functions inlined there. */
struct place_key {
	const struct dso *dso;
	uint64_t vaddr;
	/* Files of two recordings may differ although their keys are equal. */
	const struct recorded_place *place;
};

struct place_entry {
	struct place_key key;
	UT_hash_handle hh;
	uint32_t nr;
	const struct frame *frames[];
};

/* Call paths share most of their addresses, so this cache pays off. */
#define NR_KNOWN	16384

struct stack_entry {
	UT_hash_handle hh;
	struct stack stack;
};

void callchains__init(struct callchains *c, struct dsos *dsos, struct strpool *strings, bool trim)
{
	memset(c, 0, sizeof(*c));
	c->dsos = dsos;
	c->strings = strings;
	c->trim = trim;
	srclines__init(&c->srclines, strings);
}

void callchains__exit(struct callchains *c)
{
	HASH_CLEAR(hh, c->frames);
	HASH_CLEAR(hh, c->stacks);
	HASH_CLEAR(hh, c->places);
	free(c->known);
	srclines__exit(&c->srclines);
	array_free(&c->chain);
	array_free(&c->scratch);
	arena__free(&c->arena);
}

void callchains__next(struct callchains *c)
{
	free(c->known);
	c->known = NULL;
	/* The keys of these entries point to places of one recording. */
	if (c->names)
		HASH_CLEAR(hh, c->places);
}

/* Return: the cache entry for an address, or NULL if memory is short. */
static struct known_address *callchains__known(struct callchains *c, uint64_t addr)
{
	if (!c->known)
		c->known = calloc(NR_KNOWN, sizeof(*c->known));
	return c->known ? &c->known[(addr * 0x9e3779b97f4a7c15ull >> 32) % NR_KNOWN] : NULL;
}

static const struct frame *callchains__frame(struct callchains *c, const char *name,
					     struct dso *dso, bool symbolized)
{
	struct frame_key key = { name, dso };
	struct frame_entry *e;
	bool oom = false;

	if (!name)
		return NULL;
	HASH_FIND(hh, c->frames, &key, sizeof(key), e);
	if (e)
		return &e->frame;
	e = arena__alloc(&c->arena, sizeof(*e));
	if (!e)
		return NULL;
	e->key = key;
	e->frame = (struct frame){ name, dso, symbolized };
	HASH_ADD(hh, c->frames, key, sizeof(e->key), e);
	return oom ? NULL : &e->frame;
}

static const struct frame *callchains__label_frame(struct callchains *c, const char *name)
{
	return callchains__frame(c, strpool__intern(c->strings, name, strlen(name)), NULL, true);
}

/* Return: the name of an address in generated code, not demangled; or NULL. */
static const char *callchains__jit_name(struct callchains *c, const struct image *image,
					const struct map *map, uint64_t addr)
{
	const struct recorded_place *place;
	struct dso_key key;

	if (c->names && image) {
		key = dso_key__generated(image->pid, image->time_ns);
		place = recorded_names__find(c->names, &key, addr);
		if (place)
			return place->name;
	}
	return c->jit ? c->jit(c->lookup_ctx, image, map->rec->hdr.misc & XPU_MISC_MMAP_SYNTH,
			       addr) : NULL;
}

static bool is_uncertain(const char *name)
{
	size_t len = strlen(name), mark = strlen(JIT_UNCERTAIN);

	return len > mark && !strcmp(name + len - mark, JIT_UNCERTAIN);
}

/* Return: the demangled name, for the caller to free; NULL if it is not mangled. */
static char *demangle_generated(const char *name)
{
	char *plain, *pretty, *marked;

	if (!is_uncertain(name))
		return demangle(name);
	plain = strndup(name, strlen(name) - strlen(JIT_UNCERTAIN));
	pretty = plain ? demangle(plain) : NULL;
	if (!pretty || asprintf(&marked, "%s" JIT_UNCERTAIN, pretty) < 0)
		marked = NULL;
	free(plain);
	free(pretty);
	return marked;
}

/* Return: the frame of generated code; NULL if its name is unknown or memory is short. */
static const struct frame *callchains__jit(struct callchains *c, const struct image *image,
					   const struct map *map, uint64_t addr)
{
	const char *name;
	char *pretty;

	if (!map->dso->is_memory)
		return NULL;
	name = callchains__jit_name(c, image, map, addr);
	if (!name)
		return NULL;
	if (c->keeper && image &&
	    name_keeper__add_generated(c->keeper, image->pid, image->time_ns, addr, name))
		return NULL;
	pretty = demangle_generated(name);
	name = strpool__intern(c->strings, pretty ?: name, strlen(pretty ?: name));
	free(pretty);
	return callchains__frame(c, name, map->dso, true);
}

/* Return: the frame of a function that has no name. */
static const struct frame *callchains__unnamed(struct callchains *c, struct dso *dso,
					       uint64_t function)
{
	const char *name;

	/* Addresses in [anon] and similar mappings mean nothing: show one frame for all of them. */
	if (dso->name[0] == '[' && strcmp(dso->name, "[vdso]"))
		name = dso->name;
	else
		name = strpool__internf(c->strings, "%s+0x%llx", dso->name,
					(unsigned long long)function);
	return callchains__frame(c, name, dso, false);
}

/* Return: the frame that the recording has for cf->place. */
static const struct frame *callchains__recorded(struct callchains *c, struct dso *dso,
						struct chain_frame *cf)
{
	const char *name = cf->place->name;

	cf->vaddr = cf->place->vaddr;
	if (!name)
		return callchains__unnamed(c, dso, cf->place->function);
	return callchains__frame(c, strpool__intern(c->strings, name, strlen(name)), dso, true);
}

/* Keeps the name of a place, if its file was read. Return: 0 or -ENOMEM. */
static int callchains__keep(struct callchains *c, struct dso *dso, const struct chain_frame *cf,
			    const struct frame *f)
{
	struct recorded_place place = {
		.offset = cf->offset, .vaddr = cf->vaddr, .name = f->symbolized ? f->name : NULL,
	};

	if (!c->keeper || dso->state != DSO_LOADED)
		return 0;
	if (!place.name)
		place.function = dso__function(dso, cf->vaddr);
	return name_keeper__add(c->keeper, dso, &place, dso__has_lines(dso));
}

/* Looks up an address like callchains__address(), without the cache. */
static const struct frame *callchains__look_up(struct callchains *c, struct image *image,
					       uint32_t epoch, uint64_t addr,
					       struct chain_frame *cf)
{
	struct map *map = image__find_map(image, epoch, addr);
	struct dso_symbol *sym = NULL;
	const struct frame *f;
	struct dso *dso;
	bool again;

	if (!map)
		return callchains__frame(c, strpool__intern(c->strings, "[unknown]", 9), NULL,
					 false);
	if (!map->dso)
		map->dso = dsos__get(c->dsos, map->rec);
	if (!map->dso)
		return NULL;
	dso = map->dso;
	cf->offset = addr - map->start + map->pgoff;
	if (c->names)
		cf->place = recorded_names__find(c->names, dso->key, cf->offset);
	again = cf->place && c->keeper && !cf->place->has_lines;
	if (!cf->place || c->files_first || again)
		sym = dsos__find_symbol(c->dsos, dso, cf->offset, &cf->vaddr);
	if (sym || (again && dso->state == DSO_LOADED))
		cf->place = NULL;
	if (cf->place)
		return callchains__recorded(c, dso, cf);
	if (sym) {
		f = callchains__frame(c, dsos__symbol_name(c->dsos, sym), dso, true);
	} else {
		f = callchains__jit(c, image, map, addr);
		if (f)
			return f;
		f = callchains__unnamed(c, dso, dso__function(dso, cf->vaddr));
	}
	return f && !callchains__keep(c, dso, cf, f) ? f : NULL;
}

/* Sets @cf->f to the frame of one address; to NULL only if memory is short. */
static void callchains__address(struct callchains *c, struct image *image, uint32_t epoch,
				uint64_t addr, struct chain_frame *cf)
{
	struct known_address *known = callchains__known(c, addr);
	uint64_t word = cf->word;

	if (image && known && known->image == image && known->addr == addr &&
	    known->epoch == epoch) {
		*cf = known->frame;
		cf->word = word;
		return;
	}
	cf->f = callchains__look_up(c, image, epoch, addr, cf);
	if (cf->f && known)
		*known = (struct known_address){ image, addr, *cf, epoch };
}

/* Return: the frame of a kernel address; NULL only if memory is short. */
static const struct frame *callchains__kernel(struct callchains *c, uint64_t addr)
{
	const char *name = c->kallsyms ? kallsyms__find(c->kallsyms, addr) : NULL;

	return callchains__frame(c, strpool__internf(c->strings, "%s_[k]", name ?: "[kernel]"),
				 NULL, name);
}

/* Return: the frame of a word that encodes a Python function; NULL only if memory is short. */
static const struct frame *callchains__python(struct callchains *c, uint64_t word)
{
	uint32_t line = XPU_FRAME_LINE(word), id = XPU_FRAME_CODE(word);
	struct pycode code;
	const char *file, *name;

	if (id == XPU_CODE_NATIVE)
		return callchains__label_frame(c, "[native]");
	if (!c->pycode || !c->pycode(c->lookup_ctx, id, &code))
		return callchains__frame(c, strpool__intern(c->strings, "[python]", 8), NULL,
					 false);
	file = strrchr(code.filename, '/');
	file = file && file[1] && c->python_style != PYTHON_FULL ? file + 1 : code.filename;
	if (!line || c->python_style == PYTHON_NO_LINE)
		name = strpool__internf(c->strings, "%s:%s", file, code.name);
	else
		name = strpool__internf(c->strings, "%s:%s:%u", file, code.name, line);
	return callchains__frame(c, name, NULL, true);
}

/* Return: the frame of a word that encodes the ID of a name; NULL only if memory is short. */
static const struct frame *callchains__named(struct callchains *c, uint64_t word)
{
	const char *name = c->string ? c->string(c->lookup_ctx, XPU_FRAME_STRING(word)) : NULL;

	if (!name || !*name || !strcmp(name, "[unknown]"))
		return callchains__frame(c, strpool__intern(c->strings, "[unknown]", 9), NULL,
					 false);
	return callchains__label_frame(c, name);
}

static bool has_prefix(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

/* Return: whether the frame is an API function of CUDA or OpenCL. */
static bool frame__is_api(const struct frame *f)
{
	if (!f->symbolized || !f->dso)
		return false;
	if (f->dso->role == DSO_CUDA)
		return has_prefix(f->name, "cu") && is_upper(f->name[2]);
	if (f->dso->role == DSO_OPENCL)
		return has_prefix(f->name, "cl") && is_upper(f->name[2]);
	if (f->dso->role == DSO_CUDART)
		return (has_prefix(f->name, "cuda") && is_upper(f->name[4])) ||
		       (has_prefix(f->name, "__cuda") && is_upper(f->name[6]));
	return false;
}

/* Return: whether the frame is inside a CUDA runtime that is linked into the program statically. */
static bool frame__is_static_cudart(const struct frame *f)
{
	return f->symbolized &&
	       (has_prefix(f->name, "libcudart_static_") || has_prefix(f->name, "__cudart"));
}

/*
 * Return: whether the frame is the statically linked API function itself. A program may have its
 * own functions called cudaSomething, so only the API functions that the shim watches are accepted.
 */
static bool frame__is_static_api(const struct frame *f)
{
	static const char *const prefixes[] = {
		"cudaLaunch", "__cudaLaunch", "cudaMemcpy", "cudaMemset", "cudaGraphLaunch",
		"cudaMemPrefetch", "cudaStreamSynchronize", "cudaDeviceSynchronize",
		"cudaEventSynchronize", "cudaThreadSynchronize",
	};
	size_t i;

	/* A demangled C++ function has parameters after its name. */
	if (!f->symbolized || strpbrk(f->name, "(<: "))
		return false;
	for (i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (has_prefix(f->name, prefixes[i]))
			return true;
	return false;
}

/*
 * callchain__trim - find where the program ends and CUDA or OpenCL begins
 * @v, @nr: frames, innermost first
 * @api: set to the frame of the API function if the frame is trimmed, otherwise unchanged
 *
 * Return: how many frames to leave out, counted from the innermost.
 */
static size_t callchain__trim(const struct chain_frame *v, size_t nr, const struct frame **api)
{
	const struct frame *outermost = NULL;
	bool runtime = false;
	size_t i;

	for (i = 0; i < nr; i++) {
		enum dso_role role = v[i].f->dso ? v[i].f->dso->role : DSO_PLAIN;

		if (role == DSO_SHIM || role == DSO_CUPTI)
			continue;
		if (role == DSO_CUDA || role == DSO_CUDART || role == DSO_OPENCL) {
			outermost = v[i].f;
			runtime = role != DSO_CUDA;
			continue;
		}
		/*
		 * A statically linked API function is in the program itself, and must be adjacent
		 * to trimmed frames.
		 */
		if (!i || runtime)
			break;
		if (frame__is_static_cudart(v[i].f)) {
			outermost = v[i].f;
			continue;
		}
		if (frame__is_static_api(v[i].f)) {
			*api = v[i].f;
			return i + 1;
		}
		break;
	}
	if (outermost && frame__is_api(outermost))
		*api = outermost;
	return i;
}

/*
 * Return: whether @f is a frame of the Python interpreter, which has its own file or is part of a
 * program.
 */
static bool frame__is_interpreter(const struct frame *f)
{
	static const char *const prefixes[] = {
		"_Py", "Py_", "PyEval_", "PyObject_", "PyRun_", "PyVectorcall_",
	};
	const char *name;
	size_t i;

	if (!f->dso)
		return false;
	name = f->dso->name;
	if (has_prefix(name, "libpython3"))
		return true;
	if (has_prefix(name, "python")) {
		name += strlen("python");
		if (!name[strspn(name, "0123456789.")])
			return true;
	}
	/*
	 * python -X perf makes a trampoline for each function, and the trampoline has its own frame
	 * in the chain.
	 */
	if (f->symbolized && f->dso->is_memory && has_prefix(f->name, "py::"))
		return true;
	/* The interpreter may be built into the program. */
	for (i = 0; f->symbolized && i < ARRAY_SIZE(prefixes); i++)
		if (has_prefix(f->name, prefixes[i]))
			return true;
	return false;
}

static bool frame__is_entry(const struct frame *f)
{
	return f->symbolized && !strcmp(f->name, "_start");
}

/*
 * callchain__trim_python - leave out the interpreter's own frames
 * @v: @nr frames, innermost first
 *
 * The program's entry point stays, although it belongs to the interpreter: it shows that the path
 * is complete.
 *
 * Return: how many frames are left.
 */
static size_t callchain__trim_python(struct chain_frame *v, size_t nr)
{
	size_t i, left = 0;

	for (i = 0; i < nr && !XPU_FRAME_IS_PYTHON(v[i].word); i++)
		;
	if (i == nr)
		return nr;
	for (i = 0; i < nr; i++)
		if (XPU_FRAME_IS_PYTHON(v[i].word) || !frame__is_interpreter(v[i].f) ||
		    (i == nr - 1 && frame__is_entry(v[i].f)))
			v[left++] = v[i];
	return left;
}

/* Return: the interned path of the frames in scratch, which are root first; or NULL. */
static const struct stack *callchains__intern(struct callchains *c)
{
	size_t bytes = c->scratch.nr * sizeof(*c->scratch.v);
	struct stack_entry *e;
	bool oom = false;

	HASH_FIND(hh, c->stacks, c->scratch.v, bytes, e);
	if (e)
		return &e->stack;
	e = arena__alloc(&c->arena, sizeof(*e) + bytes);
	if (!e)
		return NULL;
	e->stack.nr = c->scratch.nr;
	memcpy(e->stack.frames, c->scratch.v, bytes);
	HASH_ADD_KEYPTR(hh, c->stacks, e->stack.frames, bytes, e);
	return oom ? NULL : &e->stack;
}

static int callchains__push(struct callchains *c, const struct frame *f)
{
	return f ? array_push(&c->scratch, f) : -1;
}

/*
 * Return: the frame of one of the functions at a place; NULL if memory is short.
 */
static const struct frame *callchains__line(struct callchains *c, const struct chain_frame *cf,
					    const char *name, const struct srcline *line,
					    bool inlined)
{
	const char *tail = inlined ? " (inlined)" : "";

	if (c->show_srcline && line->file && line->line)
		name = strpool__internf(c->strings, "%s (%s:%" PRIu32 ")%s", name, line->file,
					line->line, tail);
	else
		name = strpool__internf(c->strings, "%s%s", name, tail);
	return callchains__frame(c, name, cf->f->dso, inlined || cf->f->symbolized);
}

/* Copies the recorded lines of a place to @v. Return: the number of lines. */
static int callchains__recorded_lines(struct callchains *c, const struct recorded_place *place,
				      struct srcline *v)
{
	const struct recorded_line *lines = c->names->lines.v + place->first_line;
	uint32_t i;

	for (i = 0; i < place->nr_lines && i < SRCLINE_MAX; i++)
		v[i] = (struct srcline){ lines[i].function, lines[i].file, lines[i].line };
	return i;
}

/* Sets @v to the functions and lines at a place. Return: the number of entries. */
static int callchains__lines(struct callchains *c, const struct chain_frame *cf, struct srcline *v)
{
	uint64_t vaddr;

	if (cf->place && cf->place->has_lines)
		return callchains__recorded_lines(c, cf->place, v);
	/* The name was in the recording, so the file may not have been opened yet. */
	if (cf->place)
		dsos__find_symbol(c->dsos, cf->f->dso, cf->offset, &vaddr);
	return srclines__find(&c->srclines, cf->f->dso, cf->vaddr, v);
}

/* Looks up a place and the functions that are inlined there. Return: NULL if memory is short. */
static const struct place_entry *callchains__place(struct callchains *c,
						   const struct chain_frame *cf)
{
	struct place_key key = { cf->f->dso, cf->vaddr, cf->place };
	struct srcline lines[SRCLINE_MAX];
	struct place_entry *e;
	bool oom = false;
	int nr, i;

	HASH_FIND(hh, c->places, &key, sizeof(key), e);
	if (e)
		return e;
	nr = callchains__lines(c, cf, lines);
	e = arena__alloc(&c->arena, sizeof(*e) + (nr + 1) * sizeof(e->frames[0]));
	if (!e)
		return NULL;
	e->key = key;
	for (i = 0; c->show_inline && i < nr - 1; i++) {
		if (!lines[i].function)
			continue;
		e->frames[e->nr] = callchains__line(c, cf, lines[i].function, &lines[i], true);
		if (!e->frames[e->nr++])
			return NULL;
	}
	/*
	 * The outermost function is not inlined. It gets its symbol's name, which also
	 * distinguishes parts and copies of a function.
	 */
	e->frames[e->nr] = !nr ? cf->f :
			   callchains__line(c, cf, cf->f->name, &lines[c->show_inline ? nr - 1 : 0],
					    false);
	if (!e->frames[e->nr++])
		return NULL;
	HASH_ADD(hh, c->places, key, sizeof(e->key), e);
	return oom ? NULL : e;
}

/* For a frame that trimming kept, adds the frames to show. Return: 0 or -ENOMEM. */
static int callchains__show(struct callchains *c, const struct chain_frame *cf)
{
	const struct place_entry *e;
	uint32_t i;

	if (!cf->f->dso || (!c->show_inline && !c->show_srcline))
		return callchains__push(c, cf->f);
	e = callchains__place(c, cf);
	for (i = 0; e && i < e->nr; i++)
		if (callchains__push(c, e->frames[i]))
			return -ENOMEM;
	return e ? 0 : -ENOMEM;
}

const struct stack *callchains__label(struct callchains *c, const char *name)
{
	c->scratch.nr = 0;
	if (callchains__push(c, callchains__label_frame(c, name)))
		return NULL;
	return callchains__intern(c);
}

const struct stack *callchains__concat(struct callchains *c, const struct stack *a,
				       const char *name, const struct stack *b)
{
	uint32_t i;

	c->scratch.nr = 0;
	for (i = 0; i < a->nr; i++)
		if (callchains__push(c, a->frames[i]))
			return NULL;
	if (callchains__push(c, callchains__label_frame(c, name)))
		return NULL;
	for (i = 0; i < b->nr; i++)
		if (callchains__push(c, b->frames[i]))
			return NULL;
	return callchains__intern(c);
}

/*
 * Return: whether @name names a Python frame in a file whose name ends with @end. The shim and
 * samples name a frame FILE:FUNCTION:LINE; PyTorch names it FILE(LINE): FUNCTION.
 */
static bool has_python_file(const char *name, const char *end)
{
	static const char digits[] = "0123456789";
	const char *p = name;
	size_t nr;

	while ((p = strstr(p, end))) {
		p += strlen(end);
		/* PyTorch invents file names such as <eval_with_key>.7. */
		if (*end == '>' && *p == '.')
			p += 1 + strspn(p + 1, digits);
		/* <T as Trait>::f is a Rust function, not a Python file. */
		if (p[0] == ':' && p[1] != ':')
			return true;
		nr = *p == '(' ? strspn(p + 1, digits) : 0;
		if (nr && has_prefix(p + 1 + nr, "): "))
			return true;
	}
	return false;
}

bool frame__is_python(const struct frame *f)
{
	/*
	 * "py::" begins a name in the perf map of python3 -X perf; <string> replaces the name of a
	 * file.
	 */
	return has_prefix(f->name, "py::") ||
	       (!f->dso && (has_python_file(f->name, ".py") ||
			    (*f->name == '<' && has_python_file(f->name, ">"))));
}

bool frame__is_call(const struct frame *f)
{
	const char *name = f->name;

	if (has_prefix(name, "[api "))
		return true;
	if (!has_prefix(name, "cu"))
		return false;
	name += has_prefix(name, "cuda") ? 4 : 2;
	return is_upper(*name) && !strpbrk(name, "(<: ");
}

/*
 * Return: whether the frame has no name, or is in the kernel, the C library or CUDA. Such a frame
 * says little about a program.
 */
static bool frame__is_anybodys(const struct frame *f)
{
	static const char *const libraries[] = {
		"libc.so", "libc-2", "libpthread", "libm.so", "librt.so", "ld-linux", "[vdso]",
		"linux-vdso",
	};
	size_t i, len = strlen(f->name);

	if (!f->dso)
		return !f->symbolized || frame__is_call(f) ||
		       (len > 4 && !strcmp(f->name + len - 4, "_[k]"));
	if (f->dso->role != DSO_PLAIN || !f->symbolized)
		return true;
	for (i = 0; i < ARRAY_SIZE(libraries); i++)
		if (has_prefix(f->dso->name, libraries[i]))
			return true;
	return frame__is_interpreter(f);
}

enum frame_place frame__place(const struct frame *f)
{
	return frame__is_python(f) ? PLACE_PYTHON :
	       frame__is_anybodys(f) ? PLACE_ANYBODYS : PLACE_OWN;
}

const struct frame *stack__place(const struct stack *stack)
{
	enum frame_place place;
	uint32_t i;

	for (place = PLACE_PYTHON; place > PLACE_ANYBODYS; place--)
		for (i = stack->nr; i--;)
			if (frame__place(stack->frames[i]) == place)
				return stack->frames[i];
	for (i = stack->nr; i--;)
		if (stack->frames[i]->dso)
			return stack->frames[i];
	return stack->nr ? stack->frames[stack->nr - 1] : NULL;
}

/* Return: how many innermost frames belong to the scheduler or to the recorder. */
static size_t callchain__trim_scheduler(const struct chain_frame *v, size_t nr)
{
	static const char *const prefixes[] = {
		"__schedule", "bpf_", "__bpf_", "__traceiter_", "__probestub_", "trace_event_raw_",
		"perf_trace_", "[kernel]",
	};
	size_t i, k;

	for (i = 0; i < nr && !v[i].f->dso; i++) {
		for (k = 0; k < ARRAY_SIZE(prefixes); k++)
			if (has_prefix(v[i].f->name, prefixes[k]))
				break;
		if (k == ARRAY_SIZE(prefixes))
			break;
	}
	return i;
}

/*
 * Reads the frames of @rec into c->chain, innermost first, without trimming. Return: how many are
 * native addresses, or -ENOMEM.
 */
static ssize_t callchains__read(struct callchains *c, const struct xpu_record_callchain *rec,
				struct image *image, uint32_t epoch)
{
	bool cpu = rec->hdr.misc & XPU_CHAIN_CPU, entry = true;
	size_t i, nr_native = 0;

	if (array_reserve(&c->chain, rec->nr_frames))
		return -ENOMEM;
	for (i = 0; i < rec->nr_frames; i++) {
		struct chain_frame *cf = &c->chain.v[i];
		uint64_t addr = rec->frames[i];

		*cf = (struct chain_frame){ .word = addr };
		/*
		 * A kernel address here means that a frame pointer was wrong: the remaining
		 * addresses are not a chain.
		 */
		if (cpu && !entry && XPU_FRAME_IS_KERNEL(addr))
			break;
		if (XPU_FRAME_IS_PYTHON(addr)) {
			cf->f = callchains__python(c, addr);
		} else if (XPU_FRAME_IS_NAMED(addr)) {
			cf->f = callchains__named(c, addr);
		} else if (cpu && XPU_FRAME_IS_KERNEL(addr)) {
			nr_native++;
			cf->f = callchains__kernel(c, i ? addr - 1 : addr);
		} else {
			nr_native++;
			/*
			 * A return address follows its call instruction. All frames except the
			 * innermost are return addresses.
			 */
			if (!cpu ? i || rec->hdr.misc & XPU_CHAIN_SHIM : !entry)
				addr--;
			entry = false;
			callchains__address(c, image, epoch, addr, cf);
		}
		if (!cf->f)
			return -ENOMEM;
	}
	c->chain.nr = i;
	return nr_native;
}

/*
 * Removes from c->chain the frames that do not belong to the program. @api_frame: see @api of
 * callchain__trim().
 */
static void callchains__trim(struct callchains *c, uint16_t misc, const struct frame **api_frame)
{
	size_t trimmed = 0;

	if (!(misc & XPU_CHAIN_CPU))
		trimmed = callchain__trim(c->chain.v, c->chain.nr, api_frame);
	else if (misc & XPU_CHAIN_OFF)
		trimmed = callchain__trim_scheduler(c->chain.v, c->chain.nr);
	c->chain.nr -= trimmed;
	if (trimmed)
		memmove(c->chain.v, c->chain.v + trimmed, c->chain.nr * sizeof(*c->chain.v));
	if (c->chain.nr)
		c->chain.nr = callchain__trim_python(c->chain.v, c->chain.nr);
}

const struct stack *callchains__resolve(struct callchains *c,
					const struct xpu_record_callchain *rec,
					struct image *image, uint32_t epoch, const char *api)
{
	bool failed = !rec || !rec->nr_frames || rec->hdr.misc & XPU_CHAIN_FAILED;
	const struct frame *api_frame = NULL, *f;
	ssize_t nr_native = 0;
	size_t i;

	c->scratch.nr = c->chain.nr = 0;
	if (!failed)
		nr_native = callchains__read(c, rec, image, epoch);
	if (nr_native < 0)
		return NULL;
	if (!failed && c->trim)
		callchains__trim(c, rec->hdr.misc, &api_frame);
	for (i = 0; i < c->chain.nr; i++)
		if (callchains__show(c, &c->chain.v[i]))
			return NULL;
	for (i = 0; i < c->scratch.nr; i++) {
		f = c->scratch.v[i];
		c->nr_frames++;
		c->nr_unsymbolized += !f->symbolized;
		c->nr_uncertain += f->dso && f->dso->is_memory && is_uncertain(f->name);
		if (f->dso && !f->symbolized)
			f->dso->nr_unnamed++;
	}
	/*
	 * Trimming removes all frames of a stack that has only scheduler frames, but no stack may
	 * be empty.
	 */
	failed |= rec && rec->hdr.misc & XPU_CHAIN_CPU && !c->scratch.nr;
	if ((failed || rec->hdr.misc & XPU_CHAIN_TRUNCATED) &&
	    callchains__push(c, callchains__label_frame(c, failed ? "[no stack]" : "[truncated]")))
		return NULL;
	for (i = 0; i < c->scratch.nr / 2; i++) {
		f = c->scratch.v[i];
		c->scratch.v[i] = c->scratch.v[c->scratch.nr - 1 - i];
		c->scratch.v[c->scratch.nr - 1 - i] = f;
	}
	/* An untrimmed path already has the API function, unless the path has no native frames. */
	if (!(rec && rec->hdr.misc & XPU_CHAIN_CPU) && (c->trim || !nr_native)) {
		if (!api_frame)
			api_frame = callchains__label_frame(c, api ? api : "[api unknown]");
		if (callchains__push(c, api_frame))
			return NULL;
	}
	return callchains__intern(c);
}
