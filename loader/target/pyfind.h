/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pyfind.h - finds interpreters in processes without a preloaded shim
 *
 * If a process has mapped a file with one of CPython's names, the file's symbols give the addresses
 * of the interpreter's variables. The file may be hostile, and this process has privileges. So this
 * process opens the file without reading it (O_PATH), and passes the descriptor to a child without
 * privileges. The child runs as another user, has no capabilities and cannot get any, may open only
 * files that everybody may read, and may make only a few system calls. The child returns a few
 * addresses, and the code that uses them checks everything that it reads.
 */
#ifndef XPU_LOADER_PYFIND_H
#define XPU_LOADER_PYFIND_H

#include <stdint.h>
#include <sys/types.h>

#include "xpu_record.h"

struct pyfind;

/* Called for an interpreter that @pid has mapped at @time_ns. */
typedef void (*pyfind_fn)(void *ctx, pid_t pid, uint64_t time_ns, const struct xpu_python *python);

/*
 * Starts the child. Must be called before this process has threads, rings, maps or files that the
 * child should not inherit. Return: NULL on failure.
 */
struct pyfind *pyfind__new(void);
void pyfind__free(struct pyfind *f);

/* Must be called for each executable mapping, as soon as possible. Never blocks. */
void pyfind__mmap(struct pyfind *f, const struct xpu_record_mmap *r);

/*
 * Return: a descriptor, owned by @f, that is readable when an answer waits; -1: no more answers
 * come.
 */
int pyfind__fd(const struct pyfind *f);

/* Calls @fn for each waiting answer. */
void pyfind__drain(struct pyfind *f, pyfind_fn fn, void *ctx);

#endif /* XPU_LOADER_PYFIND_H */
