// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/parquet/bytes.h"

#include <stdlib.h>

void bytes__free(struct bytes *b)
{
	free(b->v);
	memset(b, 0, sizeof(*b));
}
