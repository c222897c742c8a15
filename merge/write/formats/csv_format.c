// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/format.h"

/*
 * In the manual:
 * Prints the tables of the summary, as with
 * .Fl Fl csv .
 */
const struct format csv_format = {
	.help = "the tables of the summary",
	.as = &text_format,
	.table_format = TABLE_CSV,
};
