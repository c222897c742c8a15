/* SPDX-License-Identifier: MIT */
/* vendor_windows.h - begins and ends the windows of --capture for all vendors */
#ifndef XPU_PRELOAD_VENDOR_WINDOWS_H
#define XPU_PRELOAD_VENDOR_WINDOWS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct windows {
	atomic_bool watches;		/* the shim waits for the next window, and records nothing
					 * until then */
	atomic_bool settling;		/* device work of the last window may still arrive */
	atomic_bool late;		/* launches of the last window have not returned, so the
					 * vendors still record device work, until late_end_ns */
	uint64_t late_end_ns;
	uint64_t nr_before;		/* number of launches before the current window */
	uint32_t nr;
	uint64_t open_ns;		/* when the current window opened */
};

/*
 * Changed under capture__lock(), or while no other thread can open or close a window. The shim's
 * thread also reads the atomic members without the lock.
 */
extern struct windows windows;

void windows__begin(void);
void windows__end(void);

/*
 * Runs on the shim's thread: collects the device work of the last window. Once all of it has
 * arrived, the vendors record nothing until the next window.
 */
void windows__settle(void);

/* Closes the window that the program has left open; called at exit. */
void windows__close_at_exit(void);

#endif /* XPU_PRELOAD_VENDOR_WINDOWS_H */
