// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/kernel_names.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"

#define NR_FRAMES	4		/* the stub is one of the last 4 frames of a path */
#define DEVICE_STUB	"device_stub_"

#define UNKNOWN_FORM	NO_INDEX	/* the name has a form that no kernel has */

enum form_flags {
	FORM_KERNEL	= 1,		/* some kernel has this form */
	FORM_ALONE	= 2,		/* for a base: some kernel with this base has no
					 * namespace */
	FORM_BASE_ONLY	= 4,		/* for a base: its full forms cannot be compared */
};

/* The parts of a name. */
struct name_parts {
	struct span base;		/* the name without namespace, template arguments and
					 * parameters */
	struct span full;		/* the name without the return type */
	bool detailed;			/* @full has template arguments or parameters */
};

/* ---- texts ---------------------------------------------------------------------------------- */

static bool is_identifier(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.';
}

/* Splits a name. The full form of "void ns::k<float>(float*)" is "ns::k<float>(float*)". */
static bool name_parts__init(struct name_parts *p, struct span s)
{
	static const char anonymous[] = "(anonymous namespace)";
	size_t begin = 0, base = 0, end = s.len, i;
	int depth = 0;

	for (i = 0; i < s.len; i++) {
		char c = s.s[i];

		if (c == '<') {
			if (!depth++ && end == s.len)
				end = i;
		} else if (c == '>') {
			depth -= depth > 0;
		} else if (depth) {
			continue;
		} else if (c == '(' && s.len - i >= sizeof(anonymous) - 1 &&
			   !memcmp(s.s + i, anonymous, sizeof(anonymous) - 1)) {
			i += sizeof(anonymous) - 2;
		} else if (c == '(') {
			break;
		} else if (c == ' ' || c == '*' || c == '&') {
			begin = base = i + 1;
			end = s.len;
		} else if (c == ':' && i + 1 < s.len && s.s[i + 1] == ':') {
			base = i += 2;
			end = s.len;
			i--;
		}
	}
	end = end < i ? end : i;
	p->detailed = end < s.len;
	if (end <= base)
		return false;
	p->base = (struct span){ s.s + base, end - base };
	p->full = (struct span){ s.s + begin, s.len - begin };
	return true;
}

/*
 * Return: the FNV-1a hash of a text, continued from @h, the hash of the preceding text. Skips
 * blanks, because tools differ in where they put blanks.
 */
static uint64_t hash(uint64_t h, const char *s, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (s[i] != ' ')
			h = (h ^ (unsigned char)s[i]) * 0x100000001b3ull;
	return h;
}

#define HASH_BASE	0xcbf29ce484222325ull
#define HASH_FULL	0x9ae16a3b2f90404full
#define HASH_SCOPED	0xc3a5c85c97cb3127ull

/* ---- forms ---------------------------------------------------------------------------------- */

/* Return: the id of a form, at least 1; 0 if the form is unknown and @add is false. */
static uint32_t kernel_names__form(struct kernel_names *n, uint64_t h, bool add)
{
	uint32_t id = 0;

	if (n->err || idmap__get(&n->forms, h, &id) || !add)
		return id;
	if (!n->flags.nr)
		n->err = array_push(&n->flags, 0);
	id = n->flags.nr;
	n->err = n->err ?: idmap__put(&n->forms, h, id) ?: array_push(&n->flags, 0);
	return n->err ? 0 : id;
}

static bool kernel_names__has(const struct kernel_names *n, uint32_t form)
{
	return form && form != UNKNOWN_FORM && n->flags.v[form] & FORM_KERNEL;
}

/*
 * Return: the forms of a name that is not mangled. @base: the actual base, which may differ from
 * p->base.
 */
static struct kernel_name kernel_names__name(struct kernel_names *n, const struct name_parts *p,
					     struct span base, bool add)
{
	struct kernel_name name = { 0 };
	uint64_t h = hash(HASH_FULL, p->full.s, p->base.s - p->full.s);
	const char *after = base.s + base.len, *end = p->full.s + p->full.len;

	name.base = kernel_names__form(n, hash(HASH_BASE, base.s, base.len), add);
	if (p->detailed)
		name.full = kernel_names__form(n, hash(hash(h, base.s, base.len), after,
						       end - after), add) ?: UNKNOWN_FORM;
	return name;
}

/*
 * Return: the kernel that a function launches.
 * @stub: set if the function is a stub; otherwise the function has the kernel's own name
 * @add: add the forms of the name that are new
 * @scoped: set to the id of the form "ns::k", or of "k" if there is no namespace
 */
static struct kernel_name kernel_names__parse(struct kernel_names *n, struct span s, bool add,
					      bool *stub, uint32_t *scoped)
{
	struct kernel_name name = { 0 };
	char *symbol = NULL, *pretty = NULL, *inner = NULL;
	const char *at;
	struct name_parts p;
	struct span base;
	size_t len;

	*stub = false;
	*scoped = 0;
	if (s.len > 2 && !memcmp(s.s, "_Z", 2)) {
		symbol = strndup(s.s, s.len);
		pretty = symbol ? demangle(symbol) : NULL;
		if (pretty)
			s = span__of(pretty);
	}
	if (!name_parts__init(&p, s))
		goto out;
	base = p.base;
	/*
	 * Stubs have names such as __device_stub__k, __device_stub__Z1kPf and
	 * __wrapper__device_stub_k.
	 */
	at = memmem(base.s, base.len, DEVICE_STUB, sizeof(DEVICE_STUB) - 1);
	if (at && base.s[0] == '_') {
		at += sizeof(DEVICE_STUB) - 1;
		*stub = true;
		base = (struct span){ at, base.s + base.len - at };
		/* Skip one more '_', unless it belongs to "_Z". */
		if (base.len > 1 && *base.s == '_') {
			for (len = 0; len < base.len && is_identifier(base.s[len]); len++)
				;
			free(symbol);
			symbol = base.len > 2 && base.s[1] == 'Z' ? strndup(base.s, len) : NULL;
			inner = symbol ? demangle(symbol) : NULL;
			base.s++;
			base.len--;
		}
		if (inner) {
			if (!name_parts__init(&p, span__of(inner)))
				goto out;
			base = p.base;
		}
		if (!base.len)
			goto out;
	}
	name = kernel_names__name(n, &p, base, add);
	*scoped = p.full.s == p.base.s ? name.base :
		  kernel_names__form(n, hash(HASH_SCOPED, p.full.s, p.base.s + p.base.len -
					     p.full.s), add);
out:
	free(inner);
	free(pretty);
	free(symbol);
	return name;
}

/* ---- kernels and paths ---------------------------------------------------------------------- */

uint32_t kernel_names__add_kernel(struct kernel_names *n, struct span s)
{
	uint64_t h = hash(HASH_BASE, s.s, s.len);
	struct kernel_name name;
	uint32_t kernel = 0, scoped;
	bool stub;

	if (n->err || idmap__get(&n->texts, h, &kernel))
		return kernel;
	name = kernel_names__parse(n, s, true, &stub, &scoped);
	kernel = n->kernels.nr;
	n->err = n->err ?: idmap__put(&n->texts, h, kernel) ?: array_push(&n->kernels, name);
	if (n->err)
		return 0;
	if (!name.base)
		return kernel;
	n->flags.v[name.base] |= FORM_KERNEL;
	n->flags.v[scoped] |= scoped == name.base ? FORM_ALONE : FORM_KERNEL;
	if (name.full)
		n->flags.v[name.full] |= FORM_KERNEL;
	else
		n->flags.v[name.base] |= FORM_BASE_ONLY;
	return kernel;
}

void kernel_names__add_path(struct kernel_names *n, struct span path)
{
	struct kernel_name name = { 0 }, found;
	uint32_t i, nr_named = 0, scoped;
	bool stub = false;

	for (i = 0; i < NR_FRAMES && path.len && !stub && !n->err; i++) {
		const char *last = memrchr(path.s, ';', path.len);
		struct span frame = { .s = last ? last + 1 : path.s };

		frame.len = path.s + path.len - frame.s;
		path.len = last ? last - path.s : 0;
		while (frame.len && isspace((unsigned char)*frame.s)) {
			frame.s++;
			frame.len--;
		}
		if (!frame.len || *frame.s == '[' || span__is(frame, "<no-symbol>") ||
		    (frame.len > 4 && !memcmp(frame.s, "hip", 3) && isupper(frame.s[3])))
			continue;
		/*
		 * Most frames are neither a stub nor the direct caller: skip such a frame without
		 * parsing its name.
		 */
		if (nr_named && !memmem(frame.s, frame.len, DEVICE_STUB, sizeof(DEVICE_STUB) - 1))
			continue;
		found = kernel_names__parse(n, frame, false, &stub, &scoped);
		if (stub) {
			name = kernel_names__parse(n, frame, true, &stub, &scoped);
			break;
		}
		/*
		 * Only the direct caller can contain an inlined stub; the caller then has the
		 * kernel's name.
		 */
		if (nr_named++)
			continue;
		if (found.full || scoped != found.base ?
		    kernel_names__has(n, found.full ?: scoped) :
		    found.base && n->flags.v[found.base] & FORM_ALONE)
			name = found;
	}
	n->err = n->err ?: array_push(&n->paths, name);
}

int kernel_names__settle(struct kernel_names *n)
{
	if (n->err)
		return n->err;
	array_each(&n->paths, name) {
		if (!name->base)
			continue;
		n->nr_stubs++;
		n->nr_known += kernel_names__has(n, name->base);
		if (!kernel_names__has(n, name->full))
			n->flags.v[name->base] |= FORM_BASE_ONLY;
	}
	return 0;
}

static uint32_t kernel_name__id(const struct kernel_names *n, struct kernel_name name)
{
	/*
	 * If fewer than half of the names on paths are names of known kernels, names prove nothing.
	 */
	if (!name.base || n->nr_known * 2 < n->nr_stubs || !n->nr_known)
		return 0;
	return name.full && !(n->flags.v[name.base] & FORM_BASE_ONLY) ? name.full : name.base;
}

uint32_t kernel_names__of_kernel(const struct kernel_names *n, uint32_t kernel)
{
	return kernel_name__id(n, n->kernels.v[kernel]);
}

uint32_t kernel_names__of_path(const struct kernel_names *n, uint32_t path)
{
	return kernel_name__id(n, n->paths.v[path]);
}

void kernel_names__exit(struct kernel_names *n)
{
	array_free(&n->flags);
	array_free(&n->paths);
	array_free(&n->kernels);
	idmap__free(&n->texts);
	idmap__free(&n->forms);
}
