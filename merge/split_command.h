/* SPDX-License-Identifier: GPL-3.0-or-later */
/* split_command.h - the command "xpumerge split", with a command line of its own */
#ifndef MERGE_SPLIT_COMMAND_H
#define MERGE_SPLIT_COMMAND_H

/* Runs the command. @argv: begins with the word "split". Return: the exit status. */
int split_command(int argc, char **argv);

#endif /* MERGE_SPLIT_COMMAND_H */
