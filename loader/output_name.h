/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output_name.h - file names with %h, %p and so on, as in -o of Nsight Systems */
#ifndef XPU_LOADER_OUTPUT_NAME_H
#define XPU_LOADER_OUTPUT_NAME_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * output_name__expand - expand the pattern of a name
 * @pattern: %h is the host, %p the target's pid, %q{VAR} an environment variable, %% a percent
 *	sign, and %n or %i the smallest number from 1 for which no file exists
 * @pid: 0 to check only the pattern: the name then has a meaningless pid and number
 *
 * Return: 0, with *@name for the caller to free(); -ENOMEM, or -EINVAL after a message.
 */
int output_name__expand(const char *pattern, pid_t pid, char **name);

/*
 * Like output_name__expand(), for the names of a series of files: keeps %n for each file's number,
 * and %% for a percent sign. If the pattern has no number, adds .%n at the end.
 */
int output_name__expand_row(const char *pattern, pid_t pid, char **names);

/* Return: the name of file @number of a series, or NULL if memory runs out. */
char *output_name__of_row(const char *names, unsigned int number);

/* Whether @pattern contains %n or %i, which stand for a number. */
bool output_name__has_number(const char *pattern);

/* Whether @pattern contains %p, which stands for the target's pid. */
bool output_name__has_pid(const char *pattern);

#endif /* XPU_LOADER_OUTPUT_NAME_H */
