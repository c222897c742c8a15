// SPDX-License-Identifier: MIT
#include "libraries.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "util.h"

const char *library__functions(void *library, const struct function *functions, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		*(void **)functions[i].fn = dlsym(library, functions[i].name);
		if (!*(void **)functions[i].fn && !functions[i].optional)
			return functions[i].name;
	}
	return NULL;
}

void *library__open(const char *name)
{
	return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

static void *open_in(const char *dir, int major)
{
	static const int majors[] = { 13, 12 };
	char path[4096];
	void *library;
	size_t i;

	snprintf(path, sizeof(path), "%slibcupti.so.%d", dir, major);
	library = library__open(path);
	for (i = 0; !library && i < ARRAY_SIZE(majors); i++) {
		snprintf(path, sizeof(path), "%slibcupti.so.%d", dir, majors[i]);
		library = library__open(path);
	}
	return library;
}

static void *open_toolkit(const char *home, int major)
{
	static const char *const dirs[] = { "/extras/CUPTI/lib64/", "/lib64/", "/lib/" };
	char dir[3072];
	void *library = NULL;
	size_t i;

	for (i = 0; home && home[0] && !library && i < ARRAY_SIZE(dirs); i++) {
		snprintf(dir, sizeof(dir), "%s%s", home, dirs[i]);
		library = open_in(dir, major);
	}
	return library;
}

void *library__open_cupti(int major)
{
	const char *named = getenv("XPUSHIM_CUPTI");

	if (named && named[0])
		return library__open(named);
	return open_in("", major) ?: open_toolkit(getenv("CUDA_HOME"), major) ?:
	       open_toolkit(getenv("CUDA_PATH"), major) ?: open_toolkit("/usr/local/cuda", major) ?:
	       open_toolkit("/opt/cuda", major);
}
