/* SPDX-License-Identifier: GPL-3.0-or-later */
/* input.h - the contents of a file to import; parts already read can be released from memory */
#ifndef MERGE_INPUT_H
#define MERGE_INPUT_H

#include <stdbool.h>
#include <stddef.h>

struct input_file {
	const char *buf;
	size_t size;
	size_t released;
	bool mapped;
	char *own;			/* the buffer of a file that was read, not mapped; NULL: the
					 * caller owns buf */
};

/*
 * Opens a file: maps it if it is a plain file, otherwise reads or unpacks it. A mapped file that is
 * truncated raises SIGBUS. Return: like import__load(). The caller calls input_file__close(), even
 * after a failure.
 */
int input_file__open(struct input_file *in, const char *path);
void input_file__close(struct input_file *in);

/*
 * Frees the memory of all contents before @upto, which points into in->buf. Reading these contents
 * again works, but is slower.
 */
void input_file__release(struct input_file *in, const char *upto);

#endif /* MERGE_INPUT_H */
