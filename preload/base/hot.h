/* SPDX-License-Identifier: MIT */
/*
 * hot.h - puts the code and data that every launch uses into few pages and cache lines
 *
 * A program runs much other code between two launches, so a launch waits for each cache line and
 * page that it uses, and should use few of them. In each file the code of memory events comes after
 * the code of launches.
 */
#ifndef XPU_PRELOAD_HOT_H
#define XPU_PRELOAD_HOT_H

#define HOT_CODE	__attribute__((hot))
#define HOT_MEMORY	__attribute__((section(".text.hot.memory")))
#define HOT_DATA	__attribute__((section("xpu_hot")))

/* For declarations of hot data, so that the compiler accesses it without a GOT entry. */
#define HIDDEN		__attribute__((visibility("hidden")))

#endif /* XPU_PRELOAD_HOT_H */
