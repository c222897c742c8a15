/* SPDX-License-Identifier: GPL-3.0-or-later */
/* input.h - maps or reads a file to import; the memory of parts already read can be released */
#ifndef MERGE_INPUT_H
#define MERGE_INPUT_H

#include <stdbool.h>
#include <stddef.h>

struct input_file {
	const char *buf;
	size_t size;
	size_t released;
	bool mapped;
	char *own;			/* the buffer if the file was read instead of mapped; NULL:
					 * the caller owns buf */
};

/*
 * Opens a file: maps it if it is a regular file, otherwise reads or decompresses it. A mapped file
 * that is truncated raises SIGBUS. Return: as import__load(). The caller must call
 * input_file__close(), even after a failure.
 */
int input_file__open(struct input_file *in, const char *path);
void input_file__close(struct input_file *in);

/*
 * Frees the memory of the contents before @upto, which points into in->buf. The freed contents can
 * still be read, but more slowly.
 */
void input_file__release(struct input_file *in, const char *upto);

#endif /* MERGE_INPUT_H */
