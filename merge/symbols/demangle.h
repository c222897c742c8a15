/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * demangle.h - the names that the programmer wrote
 *
 * libbfd demangles them, see libbfd.h.
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
