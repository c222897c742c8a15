// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/tables/schema.h"

#include "util.h"

#define COLUMN(name, type, encoding, optional) \
	{ #name, PARQUET_##type, PARQUET_##encoding, optional },
#define TABLE(name, columns) \
	static const struct parquet_column name##_columns[] = { columns(COLUMN) };
TABLES(TABLE)

#define SCHEMA(name, columns)	{ #name, name##_columns, ARRAY_SIZE(name##_columns) },
const struct tables_schema tables_schemas[NR_TABLES] = { TABLES(SCHEMA) };
