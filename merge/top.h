/* SPDX-License-Identifier: GPL-3.0-or-later */
/* top.h - the command "xpumerge top", with a command line of its own */
#ifndef MERGE_TOP_COMMAND_H
#define MERGE_TOP_COMMAND_H

/* Runs the command. @argv: begins with the word "top". Return: the exit status. */
int top_command(int argc, char **argv);

#endif /* MERGE_TOP_COMMAND_H */
