/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * input.h - the contents of a file to import; parts that were read take no memory
 */
#ifndef MERGE_INPUT_H
#define MERGE_INPUT_H

#include <stdbool.h>
#include <stddef.h>

struct input_file {
	const char *buf;
	size_t size;
	size_t released;
	bool mapped;
	char *own;			/* buf, if it was read and not mapped; NULL: the caller's
					 * buffer */
};

/*
 * Opens a file: maps it if it is a plain file, else reads or unpacks it. A mapped file that is
 * truncated raises SIGBUS. Return: as import__load(); the caller calls input_file__close() in any
 * case.
 */
int input_file__open(struct input_file *in, const char *path);
void input_file__close(struct input_file *in);

/*
 * Frees the memory of all contents before @upto, which points into in->buf. They can be read again,
 * more slowly.
 */
void input_file__release(struct input_file *in, const char *upto);

#endif /* MERGE_INPUT_H */
