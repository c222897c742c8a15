/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * roots.h - names the functions with which every stack begins
 *
 * Distributions strip the C library and programs, so the functions at the root of nearly every
 * stack have no names. This module finds these functions by their code, and only if exactly one
 * function fits. It supports glibc and, except for _start, only x86-64:
 *
 * _start: the function at the file's entry point, whose unwind information says that it has no
 *	caller.
 * clone3: in libc.so.6, the function right after the system call clone3, whose unwind information
 *	says that it has no caller.
 * start_thread: in libc.so.6, the only function that calls through a word of a structure, with the
 *	next word as the argument, and whose address is taken by pthread_create() or by a function
 *	that it calls.
 * __libc_start_call_main: in libc.so.6, a function that __libc_start_main calls, and that
 *	calls through a pointer and passes the result of this call to exit().
 * execute_native_thread_routine: in libstdc++.so.6, the function that std::thread's constructor
 *	passes to pthread_create().
 */
#ifndef MERGE_ROOTS_H
#define MERGE_ROOTS_H

#include "symbols/ehframe.h"
#include "symbols/elf_file.h"
#include "symbols/symtab.h"

/* Adds functions of @f that have no name in @t, which is finished. Return: 0 or -ENOMEM. */
int roots__add(struct symtab *t, const struct elf_file *f);

#endif /* MERGE_ROOTS_H */
