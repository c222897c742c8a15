/* SPDX-License-Identifier: MIT */
/*
 * formats.h - the list of formats that xpumerge writes, in the order of help and messages
 *
 * FORMAT(IDENTIFIER, NAME, SUFFIX): IDENTIFIER_format is its struct format, in a file of
 * merge/write/formats/; -f takes the NAME; a file with that SUFFIX is of the format.
 */
#ifndef LIB_FORMATS_H
#define LIB_FORMATS_H

#include <stddef.h>

#define FORMATS(FORMAT)					\
	FORMAT(folded, "folded", ".folded")		\
	FORMAT(chrome, "chrome", ".json")		\
	FORMAT(text, "text", ".txt")			\
	FORMAT(pprof, "pprof", ".pb.gz")		\
	FORMAT(html, "html", ".html")			\
	FORMAT(perf, "perf", ".perf")			\
	FORMAT(pftrace, "pftrace", ".pftrace")		\
	FORMAT(data, "data", ".data")			\
	FORMAT(csv, "csv", ".csv")

/**
 * formats__suffixes - the list of suffixes, for help: ".folded, .json, .txt"
 * @buf: the list goes here, in lines; 512 bytes are enough
 * @without: a suffix that is left out, or ""
 * @column: where in its line the list begins
 * @indent: where further lines begin
 */
void formats__suffixes(char *buf, size_t size, const char *without, unsigned int column,
		       unsigned int indent);

#endif /* LIB_FORMATS_H */
