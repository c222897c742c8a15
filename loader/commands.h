/* SPDX-License-Identifier: GPL-3.0-or-later */
/* commands.h - perf's commands other than record, which users may type after xpuload's name */
#ifndef XPU_LOADER_COMMANDS_H
#define XPU_LOADER_COMMANDS_H

/*
 * For "report", "script" and "diff", runs xpumerge as the user who called sudo. For perf's other
 * commands, prints what to run instead. "xpuload -- stat" runs a program called stat.
 *
 * Return: the status to exit with; -1 if the first word is not a command of perf.
 */
int commands__run(int argc, char **argv);

#endif /* XPU_LOADER_COMMANDS_H */
