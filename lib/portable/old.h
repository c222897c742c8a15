/* SPDX-License-Identifier: MIT */
/*
 * old.h - lets the portable tree's programs run with glibc 2.28 and later
 *
 * The builder's glibc may be newer, and the static libraries in the programs are already compiled
 * against it. Since glibc 2.29 some functions have new versions, mostly because they moved into
 * libc.so.6. The files next to this header define these functions in the program, hidden from all
 * libraries, as jumps to the old versions, which every newer glibc still has. `make portable`
 * refuses to build a program that needs a newer version; in that case one of these files lacks a
 * line.
 */
#ifndef XPU_PORTABLE_OLD_H
#define XPU_PORTABLE_OLD_H

#define STR_(x)	#x
#define STR(x)	STR_(x)
#ifdef __x86_64__
#define FIRST_VERSION	2.2.5
#define OLD_VERSION(version)	STR(version)
#define JUMP(name)	"	jmp *" #name "@GOTPCREL(%rip)\n"
#else				/* aarch64: every function's old version is its first version */
#define FIRST_VERSION	2.17
#define OLD_VERSION(version)	"2.17"
#define JUMP(name)	"	adrp x16, :got:" #name "\n"		\
			"	ldr x16, [x16, :got_lo12:" #name "]\n"	\
			"	br x16\n"
#endif

#define OLD(name, version)	OLD_NAMED(name, name, version)

/* Defines the function @name as the old version of @old. */
#define OLD_NAMED(name, old, version)				\
	__asm__(".pushsection .text\n"				\
		".globl " #name "\n"				\
		".hidden " #name "\n"				\
		".type " #name ", %function\n"			\
		#name ":\n"					\
		JUMP(xpu_old_##name)				\
		".size " #name ", . - " #name "\n"		\
		".popsection\n"					\
		".symver xpu_old_" #name ", " #old "@GLIBC_" OLD_VERSION(version))

#endif /* XPU_PORTABLE_OLD_H */
