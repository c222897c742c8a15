// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Demangling gives the names that the programmer wrote.
 */
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"
#include "tap.h"

static void check(const char *name, const char *expected)
{
	char *pretty = demangle(name);

	is_str(pretty, expected, "%.60s", name);
	free(pretty);
}

int main(void)
{
	char *name, *pretty;

	check("main", NULL);
	check("", NULL);
	check("_", NULL);
	check("_Z", NULL);
	check("__libc_start_main", NULL);
	check("_Znope", NULL);
	check("vectorAdd", NULL);
	check("_Z9vectorAddPKfS0_Pfi", "vectorAdd(float const*, float const*, float*, int)");
	check("_ZN2at6native29vectorized_elementwise_kernelILi4EEEvi",
	      "void at::native::vectorized_elementwise_kernel<4>(int)");
	check("_ZN12_GLOBAL__N_16kernelEv", "(anonymous namespace)::kernel()");
	check("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const");
	check("_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place");
	check("_RNvC6_123foo3bar", "123foo::bar");
	/* Suffixes that a compiler appends. */
	check("_Z3foov.cold", "foo() [clone .cold]");

	/* This name would overflow the stack of a demangler that does not limit the depth. */
	name = malloc(200002);
	if (!name)
		bail("out of memory");
	strcpy(name, "_Z1f");
	memset(name + 4, 'P', 200000 - 4);
	strcpy(name + 200000, "i");
	pretty = demangle(name);
	ok(!pretty || strlen(pretty) > 100000,
	   "a name with 200,000 pointers is refused or demangled, without a crash");
	free(pretty);
	free(name);
	return done_testing();
}
