// SPDX-License-Identifier: MIT
/*
 * cl_unload MODULE WAITS - three times, opens a module that uses OpenCL, and unloads it together
 * with OpenCL's loader; 300 launches in all. WAITS: 0 if the module does not wait for its kernels
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	void (*use)(int nr, int waits);
	void *module;
	int i;

	for (i = 0; i < 3 && argc == 3; i++) {
		module = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
		if (!module)
			return 1;
		use = (void (*)(int, int))dlsym(module, "use_opencl");
		use(100, atoi(argv[2]));
		if (dlclose(module))
			return 1;
		usleep(100000);
	}
	printf("300 launches\n");
	return argc != 3;
}
