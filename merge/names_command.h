/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * names_command.h - the command "names", which xpuload runs at the end of a recording
 *
 * It writes the names of all call paths to standard output, as blocks that follow the recording's
 * last block.
 */
#ifndef MERGE_NAMES_COMMAND_H
#define MERGE_NAMES_COMMAND_H

/* Return: the exit status, which is 1 if names are left for later, and 2 on failure. */
int names_command(int argc, char **argv);

#endif /* MERGE_NAMES_COMMAND_H */
