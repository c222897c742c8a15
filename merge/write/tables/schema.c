// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/tables/schema.h"

#include "util.h"

#define TABLE(name, columns) \
	static const struct parquet_column name##_columns[] = { columns(TABLES_COLUMN) };
TABLES(TABLE)

#define SCHEMA(name, columns)	\
	[tables_##name] = { #name, name##_columns, ARRAY_SIZE(name##_columns) },
static const struct tables_schema schemas[] = { TABLES(SCHEMA) };

struct tables_schema tables__schema(unsigned int table)
{
	const struct feature *feature = table < NR_FEATURES ? features[table] : NULL;

	if (!feature)
		return schemas[table];
	if (!feature->table)
		return (struct tables_schema){ .name = feature->name };
	return (struct tables_schema){ feature->table->name ?: feature->name,
				       feature->table->columns, feature->table->nr };
}
