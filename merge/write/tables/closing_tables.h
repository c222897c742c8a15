/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * closing_tables.h - the tables that are written after the whole recording was read: processes,
 * paths, losses ...
 */
#ifndef MERGE_TABLES_CLOSING_TABLES_H
#define MERGE_TABLES_CLOSING_TABLES_H

struct tables_recording;
struct model;

/* Writes the tables of processes, paths, losses and so on. Return: 0 or -errno. */
int closing_tables__write(struct tables_recording *r, const struct model *m);

#endif /* MERGE_TABLES_CLOSING_TABLES_H */
