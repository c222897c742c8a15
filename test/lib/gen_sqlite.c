// SPDX-License-Identifier: GPL-3.0-or-later
/* gen_sqlite FILE <SQL - makes an SQLite file, as sqlite3(1) would */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	size_t size = 0, cap = 0, nr;
	char *sql = NULL, *error;
	sqlite3 *db;

	if (argc != 2)
		return 2;
	do {
		if (cap - size < 65536)
			sql = realloc(sql, cap = 2 * cap + 65536 + 1);
		if (!sql)
			abort();
		nr = fread(sql + size, 1, cap - size - 1, stdin);
		size += nr;
	} while (nr);
	sql[size] = 0;
	unlink(argv[1]);
	if (sqlite3_open(argv[1], &db) || sqlite3_exec(db, sql, NULL, NULL, &error)) {
		fprintf(stderr, "gen_sqlite: %s\n", sqlite3_errmsg(db));
		return 1;
	}
	sqlite3_close(db);
	free(sql);
	return 0;
}
