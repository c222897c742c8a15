/* SPDX-License-Identifier: MIT */
/*
 * hot.h - groups the code and data of every launch in few pages and cache lines
 *
 * A program runs much other code between two launches. So a launch has to wait for each cache line
 * and each page that it uses: they had better be few. Code of events of memory stands behind that of
 * launches, file by file.
 */
#ifndef XPU_PRELOAD_HOT_H
#define XPU_PRELOAD_HOT_H

#define HOT_CODE	__attribute__((hot))
#define HOT_MEMORY	__attribute__((section(".text.hot.memory")))
#define HOT_DATA	__attribute__((section("xpu_hot")))

#endif /* XPU_PRELOAD_HOT_H */
