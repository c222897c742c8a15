/* SPDX-License-Identifier: GPL-3.0-or-later */
/* picture.h - draws a picture of folded lines, with fold.sh */
#ifndef MERGE_PICTURE_H
#define MERGE_PICTURE_H

#define PICTURE_MAX_NAME	32

/**
 * picture__open - make a file in memory for the folded lines
 * @name: filled in with the name of the file; it is valid until picture__draw()
 *
 * Return: its descriptor, or a negative errno.
 */
int picture__open(char name[PICTURE_MAX_NAME]);

/**
 * picture__draw - draw the lines, and close their file
 * @fd: from picture__open()
 * @output: the name of the picture
 * @input: the name of the recording, which becomes the title
 * @unit: the unit of the values
 *
 * Return: 0; or a negative errno after a message.
 */
int picture__draw(int fd, const char *output, const char *input, const char *unit);

#endif /* MERGE_PICTURE_H */
