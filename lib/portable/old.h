/* SPDX-License-Identifier: MIT */
/*
 * old.h - the programs of the portable tree run with glibc 2.28 and later
 *
 * They are linked with whatever glibc the builder has, and so are the static libraries in them, which
 * were compiled before. From glibc 2.29 on some functions have new versions, most because they moved
 * into libc.so.6. The files beside this header define such functions in the program, hidden from all
 * libraries, by their old versions, which every newer glibc has, too. `make portable` refuses to make
 * a program that needs a newer version: then a line is missing here.
 */
#ifndef XPU_PORTABLE_OLD_H
#define XPU_PORTABLE_OLD_H

#define STR_(x)	#x
#define STR(x)	STR_(x)
#define OLD(name, version)					\
	__asm__(".pushsection .text\n"				\
		".globl " #name "\n"				\
		".hidden " #name "\n"				\
		".type " #name ", @function\n"			\
		#name ":\n"					\
		"	jmp *xpu_old_" #name "@GOTPCREL(%rip)\n"	\
		".size " #name ", . - " #name "\n"		\
		".popsection\n"					\
		".symver xpu_old_" #name ", " #name "@GLIBC_" STR(version))

#endif /* XPU_PORTABLE_OLD_H */
