/* SPDX-License-Identifier: GPL-3.0-or-later */
/* text_answer.h - the first lines of the summary */
#ifndef MERGE_TEXT_ANSWER_H
#define MERGE_TEXT_ANSWER_H

#include <stdio.h>

#include "join/session.h"

/*
 * Writes three lines: how long the program took and how busy the GPUs were; who waited for whom;
 * the largest kernel and the largest call path. @width: width of the terminal; 0: unlimited.
 * Return: 0 or -ENOMEM.
 */
int text__write_answer(const struct session *s, FILE *f, unsigned int width);

#endif /* MERGE_TEXT_ANSWER_H */
