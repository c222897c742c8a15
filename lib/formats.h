/* SPDX-License-Identifier: MIT */
/*
 * formats.h - the list of formats that xpumerge writes, in the order in which help lists them
 *
 * FORMAT(IDENTIFIER, NAME, SUFFIX) adds the struct format IDENTIFIER_format, which
 * merge/write/formats/IDENTIFIER_format.c defines. -f takes its NAME, and an output whose name ends
 * with SUFFIX gets this format. SUFFIX is "/" for a directory.
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
