/* SPDX-License-Identifier: MIT */
/*
 * formats.h - the list of formats that xpumerge writes, in the order of help and messages
 *
 * FORMAT(IDENTIFIER, NAME, SUFFIX): IDENTIFIER_format is its struct format, in a file of
 * merge/write/formats/; -f takes the NAME; a file with that SUFFIX is of the format. The
 * suffix / is that of directories.
 */
#ifndef LIB_FORMATS_H
#define LIB_FORMATS_H

#define FORMATS(FORMAT)					\
	FORMAT(folded, "folded", ".folded")		\
	FORMAT(chrome, "chrome", ".json")		\
	FORMAT(text, "text", ".txt")			\
	FORMAT(pprof, "pprof", ".pb.gz")		\
	FORMAT(html, "html", ".html")			\
	FORMAT(perf, "perf", ".perf")			\
	FORMAT(pftrace, "pftrace", ".pftrace")		\
	FORMAT(data, "data", ".data")			\
	FORMAT(csv, "csv", ".csv")			\
	FORMAT(stacks, "stacks", ".stacks")		\
	FORMAT(cupti, "cupti", ".cupti.json")		\
	FORMAT(parquet, "parquet", "/")

#endif /* LIB_FORMATS_H */
