/* SPDX-License-Identifier: GPL-3.0-or-later */
/* top.h - the command "xpumerge top", with a command line of its own */
#ifndef MERGE_TOP_COMMAND_H
#define MERGE_TOP_COMMAND_H

/* @argv: from the word "top" on. Return: the status to exit with. */
int top_command(int argc, char **argv);

#endif /* MERGE_TOP_COMMAND_H */
