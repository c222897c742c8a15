// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Finds the kernel that a call path launches, by the names that compilers give to stubs and that
 * tools give to frames.
 */
#include <string.h>

#include "import/kernel_names.h"
#include "tap.h"

#define MAX_NAMES	4

enum expected { OTHER, SAME, UNKNOWN };

struct setup {
	const char *name;
	const char *kernels[MAX_NAMES];
	/*
	 * Call paths. first, second: the expected comparison of the first path with the first
	 * kernel, and with the second kernel.
	 */
	const char *paths[MAX_NAMES];
	enum expected first, second;
};

static enum expected compare(const struct kernel_names *n, uint32_t kernel)
{
	uint32_t a = kernel_names__of_kernel(n, kernel), b = kernel_names__of_path(n, 0);

	return !a || !b ? UNKNOWN : a == b ? SAME : OTHER;
}

static void check(const struct setup *s)
{
	struct kernel_names n = { 0 };
	enum expected first, second;
	uint32_t i, kernels[2] = { 0 };

	for (i = 0; i < MAX_NAMES && s->kernels[i]; i++)
		if (i < 2)
			kernels[i] = kernel_names__add_kernel(&n, span__of(s->kernels[i]));
		else
			kernel_names__add_kernel(&n, span__of(s->kernels[i]));
	for (i = 0; i < MAX_NAMES && s->paths[i]; i++)
		kernel_names__add_path(&n, span__of(s->paths[i]));
	if (kernel_names__settle(&n))
		abort();
	first = compare(&n, kernels[0]);
	second = compare(&n, kernels[1]);
	ok(first == s->first && second == s->second, "%s: %u %u", s->name, first, second);
	kernel_names__exit(&n);
}

int main(void)
{
	static const struct setup setups[] = {
		{ "nvcc's stub, its frame mangled", { "_Z4k_upPfi", "_Z6k_downPfi" },
		  { "main;_Z24__device_stub__Z4k_upPfiPfi" }, SAME, OTHER },
		{ "nvcc's stub, static", { "_Z4k_upPfi", "_Z6k_downPfi" },
		  { "main;_ZL24__device_stub__Z4k_upPfiPfi" }, SAME, OTHER },
		{ "nvcc's stub, its frame demangled", { "_Z4k_upPfi", "_Z6k_downPfi" },
		  { "main;__device_stub__Z4k_upPfi(float*, int)" }, SAME, OTHER },
		{ "kernels demangled", { "k_up(float*, int)", "k_down(float*, int)" },
		  { "main;__device_stub__Z4k_upPfi(float*, int)" }, SAME, OTHER },
		{ "kernels without parameters", { "k_up", "k_down" },
		  { "main;__device_stub__Z4k_upPfi(float*, int)" }, SAME, OTHER },
		{ "overloads", { "_Z1kPf", "_Z1kPd" }, { "main;__device_stub__Z1kPf(float*)" },
		  SAME, OTHER },
		{ "templates", { "void ns::k<float, 4>(float*)", "void ns::k<int, 4>(int*)" },
		  { "main;__device_stub__ZN2ns1kIfLi4EEEvPT_(float*)" }, SAME, OTHER },
		{ "blanks are not names", { "void k<a<b<int>>>(int *)",
					    "void k<a<b<char>>>(char *)" },
		  { "main;void __device_stub__k<a<b<int> > >(int*)" }, SAME, OTHER },
		{ "HIP's stub", { "_ZN2ns1kEPf", "_ZN2ns1lEPf" },
		  { "main;ns::__device_stub__k(float*);hipLaunchKernel" }, SAME, OTHER },
		{ "HIP's stub, mangled", { "_Z1kPf", "_Z1lPf" },
		  { "main;_Z16__device_stub__kPf;hipLaunchKernel" }, SAME, OTHER },
		{ "a kernel of C", { "k_up", "k_down" }, { "main;__device_stub__k_up" }, SAME,
		  OTHER },
		{ "a kernel of C whose name begins with Z", { "Zap", "ap" },
		  { "main;__device_stub__Zap" }, SAME, OTHER },
		{ "an anonymous namespace",
		  { "(anonymous namespace)::k(int)", "(anonymous namespace)::l(int)" },
		  { "main;(anonymous namespace)::__device_stub__k(int)" }, SAME, OTHER },
		{ "below a wrapper", { "_Z1kPf", "_Z1lPf" },
		  { "main;__device_stub__Z1kPf(float*);cudaError launch<char>(char "
		    "const*);[unknown]" },
		  SAME, OTHER },
		{ "the kernel's own function", { "_Z1kPf", "_Z1lPf" }, { "main;k(float*)" }, SAME,
		  OTHER },
		{ "a function of C with the kernel's name", { "k", "l" }, { "main;k" }, SAME,
		  OTHER },
		{ "only the caller's name counts", { "_Z1kPf", "_Z1lPf" },
		  { "main;k(float*);launch()" }, UNKNOWN, UNKNOWN },
		{ "a function that is called so in a namespace", { "ns::k(float*)", "l" },
		  { "main;k" }, UNKNOWN, UNKNOWN },
		{ "a function with other parameters", { "_Z1kPf", "_Z1lPf" },
		  { "main;k(std::vector<float>&)" },
		  UNKNOWN, UNKNOWN },
		{ "nothing", { "_Z1kPf", "_Z1lPf" }, { "" }, UNKNOWN, UNKNOWN },
		{ "a stub of no kernel that there is, among others", { "_Z1kPf", "_Z1lPf" },
		  { "__device_stub__Z5otherv()", "__device_stub__Z1kPf(float*)",
		    "__device_stub__Z1lPf(float*)" }, OTHER, OTHER },
		{ "kernels that are called otherwise", { "kernel 1", "kernel 2" },
		  { "__device_stub__Z1kPf(float*)" }, UNKNOWN, UNKNOWN },
		/* Where spellings differ, the other parts of the names are compared. */
		{ "parameters that are written otherwise", { "k(unsigned long)", "l(int)" },
		  { "__device_stub__k(size_t)" }, SAME, OTHER },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(setups); i++)
		check(&setups[i]);
	return done_testing();
}
