// SPDX-License-Identifier: MIT
#include "portable/old.h"

#ifdef __x86_64__

OLD(exp, 2.2.5);
OLD(log, 2.2.5);
OLD(pow, 2.2.5);

#endif
