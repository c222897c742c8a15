/* SPDX-License-Identifier: GPL-3.0-or-later */
/* commands.h - what users of perf type after the program's name, other than record */
#ifndef XPU_LOADER_COMMANDS_H
#define XPU_LOADER_COMMANDS_H

/*
 * Does what "report", "script" and "diff" mean, which is xpumerge's work and is done by it, as the user
 * who called sudo; says what to run for "annotate", "stat" and "stats". "xpuload -- stat" runs a program of
 * that name.
 *
 * Return: -1 if the first word is none of these, or the status to exit with.
 */
int commands__run(int argc, char **argv);

#endif /* XPU_LOADER_COMMANDS_H */
