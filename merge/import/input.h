/* SPDX-License-Identifier: GPL-3.0-or-later */
/* input.h - the contents of a file to import, of which what was read takes no memory */
#ifndef MERGE_INPUT_H
#define MERGE_INPUT_H

#include <stdbool.h>
#include <stddef.h>

struct input_file {
	const char *buf;
	size_t size;
	size_t released;
	bool mapped;
	char *own;			/* buf, if it was not mapped, but read; NULL: the caller's */
};

/*
 * Opens a file, mapped if it is a plain one, else read or unpacked. A mapped file that becomes
 * shorter raises SIGBUS. Return: 0 or as import__load(); input_file__close() is due in any case.
 */
int input_file__open(struct input_file *in, const char *path);
void input_file__close(struct input_file *in);

/* Tells that all before @upto, in in->buf, has been read; it can be read again, more slowly. */
void input_file__release(struct input_file *in, const char *upto);

#endif /* MERGE_INPUT_H */
