// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * fuzz_cfi - fuzzes the unwind tables of a file that a recording names, with a stack to unwind
 *
 * libdw reads the tables in the file's mapping, so the page after the mapping must be unreadable.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/file_cfi.h"

#define STACK		0x7000
#define STACK_BYTES	0x400

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_stack(void *ctx, uint64_t addr, uint64_t *value)
{
	const uint8_t *salt = ctx;

	if (addr < STACK || addr > STACK + STACK_BYTES - 8)
		return false;
	/* The value is an address in the file or on the stack. */
	*value = addr & 8 ? STACK + (*salt * addr) % STACK_BYTES : 0x1000 + (*salt ^ addr) % 0x400;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	long page = sysconf(_SC_PAGESIZE);
	size_t room = (size + page - 1) / page * page;
	struct elf_file f;
	struct file_cfi *c;
	uint64_t pc;
	uint8_t *image, salt = size ? data[size - 1] : 0;
	bool interrupted;
	int i;

	/* As with a mapped file: zeros up to the end of its last page, then an unreadable page. */
	image = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (image == MAP_FAILED || mprotect(image + room, page, PROT_NONE))
		abort();
	memcpy(image, data, size);
	f = (struct elf_file){ .image = image, .bytes = size, .mapped = true };
	elf_version(EV_CURRENT);
	f.elf = elf_memory((char *)image, size);
	c = f.elf && elf_kind(f.elf) == ELF_K_ELF ? file_cfi__new(&f) : NULL;
	for (pc = 0x1000; c && pc < 0x1400; pc += 4) {
		struct cfi_regs regs = { .known = (1u << XPU_NR_REGS) - 1 };

		for (i = 0; i < XPU_NR_REGS; i++)
			regs.v[i] = STACK + 16 * i;
		regs.v[XPU_REG_SP] = STACK;
		regs.v[XPU_REG_IP] = pc;
		for (i = 0; i < 8; i++)
			if (file_cfi__step(c, regs.v[XPU_REG_IP], &regs, &interrupted,
					   read_stack, &salt))
				break;
	}
	file_cfi__free(c);
	elf_end(f.elf);
	munmap(image, room + page);
	return 0;
}
