/* SPDX-License-Identifier: MIT */
/*
 * xpu_pyline.h - reads CPython's line tables. The shim reads them in the process; the merger reads
 * copies made by the loader
 *
 * line__* - return the line of the instruction at byte @addr of the code, 0 if it has none
 * @p, @end: the table; nothing outside it is read, whatever it contains
 * @line: the code object's first line
 * @stop: set to the end of the entry that has the line; later bytes do not change the result
 *
 * Sources: Objects/lnotab_notes.txt, PyCode_Addr2Line() (3.8, 3.9); advance() in
 * Objects/codeobject.c (3.10); Objects/locations.md (3.11), InternalDocs/code_objects.md (3.13).
 */
#ifndef XPU_PYLINE_H
#define XPU_PYLINE_H

#include <stdint.h>

/* 3.8, 3.9: co_lnotab */
static inline int line__lnotab(const uint8_t *p, const uint8_t *end, int line, int addr,
			const uint8_t **stop)
{
	int at = 0;

	for (; end - p >= 2; p += 2) {
		at += p[0];
		if (at > addr)
			break;
		line += (int8_t)p[1];
	}
	*stop = end - p >= 2 ? p + 2 : end;
	return line;
}

/* 3.10 */
static inline int line__linetable(const uint8_t *p, const uint8_t *end, int line, int addr,
			   const uint8_t **stop)
{
	int at = 0, found = line, delta;

	if (addr >= 0) {
		for (found = 0; end - p >= 2 && at <= addr; p += 2) {
			at += p[0];
			delta = (int8_t)p[1];
			if (delta != -128)
				line += delta;
			found = delta == -128 ? 0 : line;
		}
	}
	*stop = p;
	return found;
}

static inline int64_t line__svarint(const uint8_t **p, const uint8_t *end)
{
	unsigned int shift = 0;
	uint64_t value = 0;
	uint8_t byte;

	do {
		byte = *p < end ? *(*p)++ : 0;
		value |= (uint64_t)(byte & 0x3f) << shift;
		shift += 6;
	} while (byte & 0x40 && shift < 36);
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* 3.11 and later */
static inline int line__locations(const uint8_t *p, const uint8_t *end, int line, int addr,
			   const uint8_t **stop)
{
	int at = 0, kind, bytes;

	if (addr < 0)
		end = p;
	while (p < end) {
		kind = *p >> 3 & 15;
		bytes = ((*p & 7) + 1) * 2;
		p++;
		if (kind == 13 || kind == 14)
			line += line__svarint(&p, end);
		else if (kind >= 10 && kind <= 12)
			line += kind - 10;
		while (p < end && !(*p & 0x80))
			p++;
		at += bytes;
		if (addr < at) {
			*stop = p;
			return kind == 15 ? 0 : line;
		}
	}
	*stop = end;
	return line;
}

#endif /* XPU_PYLINE_H */
