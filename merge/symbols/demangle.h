/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * demangle.h - finds the names that the programmer wrote
 *
 * The demangler is in libbfd. See libbfd.h.
 */
#ifndef MERGE_DEMANGLE_H
#define MERGE_DEMANGLE_H

/**
 * demangle - demangle a C++ or Rust symbol
 * @name: as in the symbol table
 *
 * Return: the demangled name with parameters, for the caller to free(); NULL if @name is not
 * mangled or memory is short: then use @name itself. Source: bfd_demangle() of libbfd.
 */
char *demangle(const char *name);

#endif /* MERGE_DEMANGLE_H */
