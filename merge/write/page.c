// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/page.h"

/* File names are relative to the root of the source, where make runs the compiler. */
#define EMBED(name, file)				\
	__asm__(".pushsection .rodata\n"		\
		".globl " #name "\n"			\
		".type " #name ", @object\n"		\
		#name ":\n"				\
		".incbin \"" file "\"\n"		\
		".byte 0\n"				\
		".size " #name ", . - " #name "\n"	\
		".popsection\n")

EMBED(page_html, "merge/write/page/page.html");
EMBED(page_panels, "panels.html");
EMBED(page_css, "page.css");
EMBED(page_script, "page.js");
