/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * windows.h - the windows that processes have opened: see struct xpu_record_window
 *
 * The BPF programs sample only in windows. Perf events sample all the time. Their
 * samples must be dropped if no window was open. This module finds such samples, from the records
 * in the ring that report windows.
 */
#ifndef XPU_LOADER_WINDOWS_H
#define XPU_LOADER_WINDOWS_H

#include <stddef.h>
#include <stdint.h>

struct windows;

/* Makes an empty list of windows. Return: NULL if memory runs out. */
struct windows *windows__new(void);
void windows__free(struct windows *w);

/* Notes a window that opens or closes, if @record is a batch that reports one. */
void windows__take(struct windows *w, const void *record, size_t size);

/* Return: the largest window number. */
uint32_t windows__last(const struct windows *w);

enum windows_place {
	WINDOWS_OUTSIDE,
	WINDOWS_INSIDE,
	WINDOWS_UNKNOWN,	/* before the latest 64 windows, or memory ran out */
};

/* Return: whether a window of the process image @proc_id was open at @time_ns. */
enum windows_place windows__place(const struct windows *w, uint32_t proc_id, uint64_t time_ns);

#endif /* XPU_LOADER_WINDOWS_H */
