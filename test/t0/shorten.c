// SPDX-License-Identifier: MIT
/*
 * Shortens names and call paths to a column's width: they fit, and different texts stay different.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "write/shorten.h"
#include "tap.h"
#include "util.h"

#define F	"\x1f"

/* Return: whether all texts fit, and different texts are still different. */
static bool good(const char *const *texts, char **out, size_t nr, size_t width)
{
	size_t i, k;

	for (i = 0; i < nr; i++) {
		if (shorten__width(out[i]) > width) {
			diag("%zu wide: '%s'", shorten__width(out[i]), out[i]);
			return false;
		}
		for (k = 0; k < i; k++) {
			if (!strcmp(out[i], out[k]) && strcmp(texts[i], texts[k])) {
				diag("'%s' and '%s': '%s'", texts[i], texts[k], out[i]);
				return false;
			}
		}
	}
	return true;
}

static void check(const char *name, const char *const *texts, size_t nr, size_t width,
		  const char *first)
{
	char *out[64] = { NULL };
	size_t i;

	is_int(shorten__column(texts, nr, width, out), 0,
	       "%s, %zu: the column is shortened", name, width);
	ok(good(texts, out, nr, width), "%s, %zu: all texts fit and differ", name, width);
	is_str(out[0], first, "%s, %zu: the first text is as expected", name, width);
	for (i = 0; i < nr; i++)
		free(out[i]);
}

int main(void)
{
	static const char *const paths[] = {
		"main" F "run" F "a::layer<half>::forward(int, int)" F "launch",
		"main" F "other" F "a::layer<half>::forward(int, int)" F "launch",
		"main" F "run" F "a::layer<half>::forward(int, int)" F "copy",
		"[no launch]",
	};
	static const char *const threads[] = {
		"request-0" F "clone" F "start" F "serve" F "layer" F "up",
		"request-1" F "clone" F "start" F "serve" F "layer" F "up",
		"request-2" F "clone" F "start" F "serve" F "layer" F "up",
	};
	static const char *const python[] = {
		"main" F "train.py:main:9" F "train.py:step:41" F "at::native::add_kernel" F
		"libtorch_cuda.so+0x123456" F "libtorch_cuda.so+0x123457" F "cudaLaunchKernel",
	};
	static const char *const kernels[] = {
		"void at::native::vectorized_elementwise_kernel<4, FillFunctor<float>, X>(int, "
		"float)",
		"void at::native::vectorized_elementwise_kernel<4, AddFunctor<float>, X>(int, "
		"float)",
		"gemm",
	};
	static const char *const accents[] = { "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc" };
	static const char *const wide[] = { "核函数注意力", "核函数注意力の計算" };
	static const char *const accented[] = { "e\xcc\x81te\xcc\x81te\xcc\x81te\xcc\x81" };
	static const char *const empty[] = { "", "a" };
	size_t width;
	char name[32];

	check("paths", paths, 4, 200, "main > run > a::layer<half>::forward(int, int) > launch");
	check("paths", paths, 4, 50, "main > run > a::layer<half>::forward > launch");
	check("paths", paths, 4, 40, "... > run > ... > launch");
	check("the innermost Python frame", python, 1, 55,
	      "... > train.py:step:41 > ... > cudaLaunchKernel");
	check("threads", threads, 3, 30, "request-0 > ... > layer > up");
	check("kernels", kernels, 3, 60,
	      "at::native::vectorized_element...l<4, FillFunctor<float>, X>");
	check("characters", accents, 1, 5, "\xc3\xa4\xc3\xb6...");
	is_int(shorten__width("核a한é\xcc\x81😀"), 8,
	       "characters of two columns, one column and none are counted right");
	check("wide characters", wide, 2, 18, "核函数注意力");
	check("wide characters", wide, 2, 11, "核函...力");
	check("wide characters", wide, 2, 10, "核函...力");
	check("accents of their own", accented, 1, 5, "e\xcc\x81t...");
	check("nothing", empty, 2, 5, "");
	for (width = 24; width < 80; width += 7) {
		char *out[4];
		size_t i;

		snprintf(name, sizeof(name), "paths, %zu", width);
		shorten__column(paths, 4, width, out);
		ok(good(paths, out, 4, width), "%s", name);
		for (i = 0; i < 4; i++)
			free(out[i]);
	}
	return done_testing();
}
