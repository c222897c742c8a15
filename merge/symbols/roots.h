/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * roots.h - names for the functions that every stack begins with
 *
 * Distributions strip the C library and programs, and so take the names of the functions that
 * stand at the root of nearly every stack. They are found again by what they do, and only where
 * nothing else fits; glibc, and all but _start on x86-64 only:
 *
 * _start: the function at the file's entry point, whose unwind information says that it has no
 *	caller.
 * clone3: in libc.so.6, the function that has no caller by its unwind information, and that comes
 *	right behind the system call clone3.
 * start_thread: in libc.so.6, the only function that pthread_create() or one that it calls takes
 *	the address of, and that calls what a word of a structure points to with the next word as
 *	the argument.
 * __libc_start_call_main: in libc.so.6, a function that __libc_start_main calls, and that passes
 *	what a call through a pointer returned to exit().
 * execute_native_thread_routine: in libstdc++.so.6, what std::thread's constructor has
 *	pthread_create() call.
 */
#ifndef MERGE_ROOTS_H
#define MERGE_ROOTS_H

#include "symbols/ehframe.h"
#include "symbols/elf_file.h"
#include "symbols/symtab.h"

/* Adds to @t, which is built, those of @f that it has no name for. Return: 0 or -ENOMEM. */
int roots__add(struct symtab *t, const struct elf_file *f);

#endif /* MERGE_ROOTS_H */
