// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * unparquet [-s|-k] FILE...: prints the rows of Parquet files, as tab-separated values below a line
 * of column names. -s prints the columns, each as "NAME TYPE", with " null" if a value may be
 * missing; -k prints the metadata.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "unparquet.h"

static void print_value(const struct unparquet_column *c, size_t row)
{
	const struct unparquet_value *v = &c->v[row];

	if (v->null)
		fputs("NULL", stdout);
	else if (c->type == UNPARQUET_STRING)
		fwrite(v->s, 1, v->bytes, stdout);
	else if (c->type == UNPARQUET_DOUBLE)
		printf("%.17g", v->d);
	else if (c->type == UNPARQUET_BOOL)
		fputs(v->n ? "true" : "false", stdout);
	else
		printf("%" PRId64, v->n);
}

static void print_rows(const struct unparquet *u, int with_names)
{
	size_t i, row;

	for (i = 0; with_names && i < u->nr_columns; i++)
		printf("%s%s", u->columns[i].name, i + 1 < u->nr_columns ? "\t" : "\n");
	for (row = 0; row < u->nr_rows; row++) {
		for (i = 0; i < u->nr_columns; i++) {
			print_value(&u->columns[i], row);
			putchar(i + 1 < u->nr_columns ? '\t' : '\n');
		}
	}
}

static void print_schema(const struct unparquet *u)
{
	static const char *const types[] = {
		[UNPARQUET_BOOL] = "BOOLEAN", [UNPARQUET_INT64] = "INT64",
		[UNPARQUET_DOUBLE] = "DOUBLE", [UNPARQUET_STRING] = "STRING",
	};
	size_t i;

	for (i = 0; i < u->nr_columns; i++)
		printf("%s %s%s\n", u->columns[i].name, types[u->columns[i].type],
		       u->columns[i].optional ? " null" : "");
}

int main(int argc, char **argv)
{
	int first = argc > 1 && argv[1][0] == '-' ? 2 : 1, i, ret = 0;
	size_t k;

	for (i = first; i < argc; i++) {
		struct unparquet u;

		if (unparquet__read(&u, argv[i])) {
			fprintf(stderr, "%s: %s\n", argv[i], u.error);
			ret = 1;
		} else if (first == 1) {
			print_rows(&u, i == first);
		} else if (!strcmp(argv[1], "-s")) {
			print_schema(&u);
		} else {
			for (k = 0; k < u.nr_pairs; k++)
				printf("%s=%s\n", u.keys[k], u.values[k]);
		}
		unparquet__free(&u);
	}
	return ret;
}
