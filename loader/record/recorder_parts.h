/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * recorder_parts.h - pointers that the parts of the recorder share; the recorder owns the objects
 */
#ifndef XPU_LOADER_RECORDER_PARTS_H
#define XPU_LOADER_RECORDER_PARTS_H

struct recorder_parts {
	struct writer *writer;
	struct chains *chains;
	struct threads *threads;
	struct event_packer *events;
	struct processes *processes;
};

#endif /* XPU_LOADER_RECORDER_PARTS_H */
