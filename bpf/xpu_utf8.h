/* SPDX-License-Identifier: MIT */
/* xpu_utf8.h - converts characters to UTF-8, for Python's strings in the shim and the merger */
#ifndef XPU_UTF8_H
#define XPU_UTF8_H

#include <stdint.h>

/* Writes @c, up to 0x10ffff, as 1 to 4 bytes. Return: the place after them. */
static inline char *utf8__put(char *to, uint32_t c)
{
	if (c < 0x80) {
		*to++ = c;
	} else if (c < 0x800) {
		*to++ = 0xc0 | c >> 6;
		*to++ = 0x80 | (c & 0x3f);
	} else if (c < 0x10000) {
		*to++ = 0xe0 | c >> 12;
		*to++ = 0x80 | (c >> 6 & 0x3f);
		*to++ = 0x80 | (c & 0x3f);
	} else {
		*to++ = 0xf0 | c >> 18;
		*to++ = 0x80 | (c >> 12 & 0x3f);
		*to++ = 0x80 | (c >> 6 & 0x3f);
		*to++ = 0x80 | (c & 0x3f);
	}
	return to;
}

/*
 * Writes a character of a Python string, whatever its value. Python stores a byte of a file name
 * that is not UTF-8 as a lone surrogate. For such a surrogate, this writes the original byte. Never
 * writes a NUL.
 */
static inline char *utf8__put_python(char *to, uint32_t c)
{
	if (c >= 0xdc80 && c <= 0xdcff) {
		*to++ = c - 0xdc00;
		return to;
	}
	if (!c || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		c = '?';
	return utf8__put(to, c);
}

#endif /* XPU_UTF8_H */
