/* SPDX-License-Identifier: GPL-3.0-or-later */
/* advice.h - what to do when Linux refuses something */
#ifndef XPU_LOADER_ADVICE_H
#define XPU_LOADER_ADVICE_H

/*
 * Return: text that tells the user the most likely cause of @err, or "". The text begins with ": ".
 * @err is an error of bpf() or perf_event_open().
 */
const char *advice_on_error(int err);

#endif /* XPU_LOADER_ADVICE_H */
