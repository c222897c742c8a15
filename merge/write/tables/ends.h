/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ends.h - the tables that are written after a recording was read: processes, paths, losses ... */
#ifndef MERGE_TABLES_ENDS_H
#define MERGE_TABLES_ENDS_H

struct tables_recording;
struct model;

/* Writes these tables. Return: 0 or -errno. */
int ends__write(struct tables_recording *r, const struct model *m);

#endif /* MERGE_TABLES_ENDS_H */
