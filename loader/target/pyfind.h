/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pyfind.h - finds interpreters in processes that nothing is preloaded into
 *
 * A process has mapped a file that is called as CPython is: its symbols tell where its things are.
 * The file is somebody else's, and this process has privileges. So it opens the file without
 * looking at it (O_PATH) and passes it to a child that has none left: another user, no capabilities
 * and no way to new ones, no file but what others may read, few system calls. A few addresses come
 * back; what they lead to is looked at with doubt by whoever follows them.
 */
#ifndef XPU_LOADER_PYFIND_H
#define XPU_LOADER_PYFIND_H

#include <stdint.h>
#include <sys/types.h>

#include "xpu_record.h"

struct pyfind;

/* Told of an interpreter that @pid has mapped at @time_ns. */
typedef void (*pyfind_fn)(void *ctx, pid_t pid, uint64_t time_ns, const struct xpu_python *python);

/* Starts the child: before there are threads, rings, maps and files that it should not have.
 * Return: NULL if that failed. */
struct pyfind *pyfind__new(void);
void pyfind__free(struct pyfind *f);

/* Told of each executable mapping, as soon as possible; never blocks. */
void pyfind__mmap(struct pyfind *f, const struct xpu_record_mmap *r);

/* Polls readable when an answer waits; owned by @f. -1: there will be none. */
int pyfind__fd(const struct pyfind *f);

/* Passes on all answers that wait. */
void pyfind__drain(struct pyfind *f, pyfind_fn fn, void *ctx);

#endif /* XPU_LOADER_PYFIND_H */
