// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/format.h"

const struct format data_format = {
	.help = "of an import, a recording to be read again",
	.binary = true,
	.imported = true,
};
