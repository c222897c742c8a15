// SPDX-License-Identifier: MIT
#include "portable/old.h"

#if defined(__x86_64__) || defined(__aarch64__)

OLD(exp, 2.2.5);
OLD(log, 2.2.5);
OLD(pow, 2.2.5);

#endif
