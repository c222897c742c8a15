/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output_name.h - names of files with %h, %p and so on in them, as Nsight Systems' -o has them */
#ifndef XPU_LOADER_OUTPUT_NAME_H
#define XPU_LOADER_OUTPUT_NAME_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * output_name__expand - put in what a name stands for
 * @pattern: %h the host, %p the target's pid, %q{VAR} a variable of the environment, %n or %i the smallest
 *	number, from 1 on, with which there is no such file, %% a percent sign
 * @pid: 0 to look at the pattern alone, with a pid and numbers of no meaning
 *
 * Return: 0, with *@name for the caller to free(); -ENOMEM, or -EINVAL after a message.
 */
int output_name__expand(const char *pattern, pid_t pid, char **name);

/*
 * As output_name__expand() for a row of files: %n stays for the number of each, and %% for a percent
 * sign; if the number is not in it, it comes last.
 */
int output_name__expand_row(const char *pattern, pid_t pid, char **names);

/* Return: the name of file @number of a row, or NULL without memory. */
char *output_name__of_row(const char *names, unsigned int number);

/* Whether a number that is not taken is in it. */
bool output_name__has_number(const char *pattern);

/* Whether the target's pid is in it. */
bool output_name__has_pid(const char *pattern);

#endif /* XPU_LOADER_OUTPUT_NAME_H */
