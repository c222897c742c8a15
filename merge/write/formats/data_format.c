// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/format.h"

/*
 * In the manual:
 * What was imported as a recording, whole whatever is asked for: to be read again, compared with
 * others or merged with them; see
 * .Sx OTHER TOOLS' RECORDINGS .
 */
const struct format data_format = {
	.help = "a recording made from an import",
	.binary = true,
	.imported = true,
};
