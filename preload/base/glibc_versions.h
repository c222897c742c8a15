/* SPDX-License-Identifier: MIT */
/*
 * glibc_versions.h - makes the shim use the symbol versions that glibc 2.28 has
 *
 * A compiler option includes this header in every file of the shim, so that a shim built with a
 * newer library loads into a process with an older library. glibc 2.32 to 2.34 gave these functions
 * a new version when it moved them into libc.so.6 from the libraries that preload/imports.txt
 * names; the functions are the same. Functions without an old version are in libc.h.
 */
#ifndef XPU_PRELOAD_GLIBC_VERSIONS_H
#define XPU_PRELOAD_GLIBC_VERSIONS_H

#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(__ASSEMBLER__)
#ifdef __x86_64__
#define XPU_OLD(name, version)	__asm__(".symver " #name "," #name "@GLIBC_" #version)
#else			/* glibc 2.17, the first version for aarch64, has all these functions */
#define XPU_OLD(name, version)	__asm__(".symver " #name "," #name "@GLIBC_2.17")
#endif

XPU_OLD(dladdr, 2.2.5);
XPU_OLD(dladdr1, 2.3.3);
XPU_OLD(dlclose, 2.2.5);
XPU_OLD(dlerror, 2.2.5);
XPU_OLD(dlinfo, 2.3.3);
XPU_OLD(dlopen, 2.2.5);
XPU_OLD(dlsym, 2.2.5);
XPU_OLD(pthread_attr_getstacksize, 2.2.5);
XPU_OLD(pthread_attr_setstacksize, 2.2.5);
XPU_OLD(pthread_create, 2.2.5);
XPU_OLD(pthread_join, 2.2.5);
XPU_OLD(pthread_key_create, 2.2.5);
XPU_OLD(pthread_once, 2.2.5);
XPU_OLD(pthread_setname_np, 2.12);
XPU_OLD(pthread_setspecific, 2.2.5);
XPU_OLD(pthread_sigmask, 2.2.5);
XPU_OLD(sem_init, 2.2.5);
XPU_OLD(sem_post, 2.2.5);
XPU_OLD(sem_timedwait, 2.2.5);
XPU_OLD(sem_trywait, 2.2.5);

#undef XPU_OLD
#endif

#endif /* XPU_PRELOAD_GLIBC_VERSIONS_H */
