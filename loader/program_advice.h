/* SPDX-License-Identifier: GPL-3.0-or-later */
/* program_advice.h - what to do when COMMAND cannot be run, or when the shim will not be loaded */
#ifndef XPU_LOADER_PROGRAM_ADVICE_H
#define XPU_LOADER_PROGRAM_ADVICE_H

#include <stddef.h>

/*
 * Puts advice for the user into @buf. The advice begins with ": ". Without advice, @buf is "".
 * @name: COMMAND, which could not be run; @err: the reason
 */
void program_advice__on_error(const char *name, int err, char *buf, size_t size);

/*
 * Return: why the shim will not be loaded where @name runs, and what to do; NULL if it may be
 * loaded.
 */
const char *program_advice__on_start(const char *name);

#endif /* XPU_LOADER_PROGRAM_ADVICE_H */
