// SPDX-License-Identifier: MIT
#include "launch/capture_window.h"

bool capture_window__are_used;
uint8_t capture_window__marks[CAPTURE_MARKS];	/* pages get memory when they are used */
