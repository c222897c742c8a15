/* SPDX-License-Identifier: MIT */
/*
 * hot.h - what every launch runs and reads, in few pages and cache lines
 *
 * A program runs much else between two launches: what is not near what was fetched already is
 * waited for.
 */
#ifndef XPU_PRELOAD_HOT_H
#define XPU_PRELOAD_HOT_H

#define HOT_CODE	__attribute__((hot))
#define HOT_DATA	__attribute__((section("xpu_hot")))

#endif /* XPU_PRELOAD_HOT_H */
