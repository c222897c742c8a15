// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/format.h"

/*
 * In the manual:
 * The recording, always whole, with the names of all functions and source lines in its call paths,
 * so that the recording can be read on machines without the program's files.
 * Imports of other tools' recordings are written as a recording, which can be read again, compared
 * with others or merged with them; see
 * .Sx OTHER TOOLS' RECORDINGS .
 */
const struct format data_format = {
	.help = "the recording with its names; or an import",
	.binary = true,
	.imported = true,
};
