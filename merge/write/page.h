/* SPDX-License-Identifier: GPL-3.0-or-later */
/* page.h - the source files from which html.c makes a page, each with a NUL at its end */
#ifndef MERGE_PAGE_H
#define MERGE_PAGE_H

extern const char page_html[];		/* page/page.html: a line "@DATA@" marks the place of the
					 * data */
extern const char page_panels[];	/* elements of features; they replace the line "@PANELS@" */
extern const char page_css[];
extern const char page_script[];

#endif /* MERGE_PAGE_H */
