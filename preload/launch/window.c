// SPDX-License-Identifier: MIT
#include "launch/window.h"

bool window__are_used;
uint8_t window__marks[WINDOW_MARKS];	/* pages get memory when they are used */
