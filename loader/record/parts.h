/* SPDX-License-Identifier: GPL-3.0-or-later */
/* parts.h - pointers that the parts of the recorder share; the recorder owns the objects */
#ifndef XPU_LOADER_PARTS_H
#define XPU_LOADER_PARTS_H

struct parts {
	struct writer *writer;
	struct chains *chains;
	struct threads *threads;
	struct events *events;
	struct processes *processes;
};

#endif /* XPU_LOADER_PARTS_H */
