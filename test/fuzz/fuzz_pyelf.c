// SPDX-License-Identifier: GPL-3.0-or-later
/* fuzz_pyelf - fuzzes an executable with the name python3.12 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target/pyelf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct xpu_python python;
	int fd = memfd_create("python", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	pyelf__find(fd, 0x550000000000, 0, 12, &python);
	pyelf__find(fd, 0x550000001000, 4096, 0, &python);
	close(fd);
	return 0;
}
