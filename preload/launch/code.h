/* SPDX-License-Identifier: MIT */
/*
 * code.h - judges an address by the instructions around it; each processor has its own code_ARCH.c
 *
 * The caller has copied CODE_BEFORE bytes before the address and CODE_AFTER bytes at it; unreadable
 * bytes are 0.
 */
#ifndef XPU_PRELOAD_CODE_H
#define XPU_PRELOAD_CODE_H

#include <stdbool.h>
#include <stdint.h>

struct cfi_row;

#define CODE_BEFORE	24
#define CODE_AFTER	40

/* Whether the code at @at returns from a signal handler. */
bool code__is_signal_return(const uint8_t *at);

/* Whether a call instruction ends at @at: return addresses point only to such places. */
bool code__follows_call(const uint8_t *at);

/*
 * Handles code that returns right after its call, such as Python's perf trampolines. The last
 * instructions show where the frame is. Return: whether the code from @at up to @end returns like
 * this; then *@row is set for the code.
 */
bool code__read_epilogue(const uint8_t *at, const uint8_t *end, struct cfi_row *row);

/*
 * Handles a signal that interrupted code in the linkage table, on processors whose linkers write no
 * unwind information for the table. Sets *@row for that code. Return: whether @at, the interrupted
 * instruction, is in the linkage table.
 */
bool code__read_stub(const uint8_t *at, struct cfi_row *row);

#endif /* XPU_PRELOAD_CODE_H */
