// SPDX-License-Identifier: GPL-3.0-or-later
/* Finds an interpreter by the symbols of its file. This program has these symbols, too. */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xpu_record.h"
#include "xpu_pylayout.h"
#include "target/pyelf.h"
#include "tap.h"

/* The members of Python 3.13's debug offsets that are read. */
struct py_debug_offsets _PyRuntime = {
	.cookie = "xdebugpy", .version = 0x030d00f0,
	.runtime_state = { .interpreters_head = 632 },
	.interpreter_state = { .threads_head = 7344 },
	.thread_state = { .current_frame = 72, .thread_id = 152 },
	.frame = { .size = 88, .previous = 8, .executable = 0, .instr_ptr = 56, .owner = 70 },
	.code = { .filename = 112, .qualname = 128, .linetable = 136, .firstlineno = 68,
		  .code_adaptive = 200 },
	.object = { .type = 8 },
	.bytes = { .ob_size = 16, .sval = 32 },
	.unicode = { .state = 32, .length = 16, .ascii_size = 40 },
};
volatile unsigned long Py_Version = 0x030d00f0;
volatile char PyCode_Type[8] = "code", PyUnicode_Type[8] = "str";

static uint8_t *file;
static size_t file_bytes;

/* Return: the file offset of @addr, an address in this process. */
static uint64_t offset_of(const volatile void *addr)
{
	const ElfW(Phdr) *ph = (const void *)getauxval(AT_PHDR);
	uintptr_t bias = (uintptr_t)ph - ph[0].p_vaddr;	/* the first program header describes the
							 * headers themselves */
	size_t i;

	for (i = 0; i < getauxval(AT_PHNUM); i++)
		if (ph[i].p_type == PT_LOAD &&
		    (uintptr_t)addr - bias - ph[i].p_vaddr < ph[i].p_filesz)
			return (uintptr_t)addr - bias - ph[i].p_vaddr + ph[i].p_offset;
	bail("an address that is in no segment");
}

/* Finds where this program's code is mapped. */
static void find_text(uint64_t *start, uint64_t *pgoff)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[4096];
	unsigned long end, here = (uintptr_t)&find_text;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx", start, &end, pgoff) == 3 && *start <= here &&
		    here < end)
			break;
	if (f)
		fclose(f);
}

/* Looks for an interpreter in the first @bytes bytes of file[]. */
static int find(size_t bytes, uint64_t start, uint64_t pgoff, unsigned int minor,
		struct xpu_python *python)
{
	int fd = memfd_create("python", MFD_CLOEXEC), err;

	if (fd < 0 || write(fd, file, bytes) != (ssize_t)bytes)
		bail("no memory file");
	memset(python, 0, sizeof(*python));
	err = pyelf__find(fd, start, pgoff, minor, python);
	close(fd);
	return err;
}

static int find_version(unsigned long version, uint64_t start, uint64_t pgoff, unsigned int minor,
			struct xpu_python *python)
{
	memcpy(file + offset_of(&Py_Version), &version, sizeof(version));
	return find(file_bytes, start, pgoff, minor, python);
}

int main(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), err, nr[3] = { 0 };
	uint64_t start = 0, pgoff = 0, cookie;
	struct xpu_python python;
	struct stat st;
	uint8_t *whole;
	size_t i, k;

	if (fd < 0 || fstat(fd, &st))
		bail("/proc/self/exe");
	file_bytes = st.st_size;
	file = malloc(file_bytes);
	whole = mmap(NULL, file_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (!file || whole == MAP_FAILED)
		bail("out of memory");
	memcpy(file, whole, file_bytes);
	find_text(&start, &pgoff);

	is_int(pyelf__find(fd, start, pgoff, 0, &python), 0, "3.13: the interpreter is found");
	is_int(python.minor, 13, "3.13: the version is right");
	ok(python.runtime == (uintptr_t)&_PyRuntime, "3.13: _PyRuntime is found");
	ok(python.code_type == (uintptr_t)PyCode_Type &&
		   python.unicode_type == (uintptr_t)PyUnicode_Type,
	   "3.13: the types are found");
	is_int(python.runtime_main, 640, "3.13: the offsets in _PyRuntime are used");
	cookie = offset_of(&_PyRuntime);
	file[cookie] = 'y';
	is_int(find(file_bytes, start, pgoff, 13, &python), -EPROTO,
	       "3.13 without its cookie is refused");
	file[cookie] = 'x';

	is_int(find_version(0x030c01f0, start, pgoff, 0, &python), 0,
	       "3.12: the interpreter is found");
	is_int(python.minor, 12, "3.12: the version is read from the file");
	is_int(find_version(0x030b02f0, start, pgoff, 12, &python), 0,
	       "3.11: the interpreter is found");
	is_int(python.minor, 11, "3.11: the version in the file counts, not the file's name");
	is_int(find_version(0x030e00f0, start, pgoff, 14, &python), -EPROTO, "3.14 is refused");
	is_int(find_version(0x030c00a1, start, pgoff, 12, &python), -EPROTO,
	       "an alpha version is refused");
	is_int(find_version(0x030c01f0, start, pgoff + (1 << 30), 0, &python), -ENOENT,
	       "a mapping that does not contain the code is refused");

	/* If Py_Version is missing, the file's name gives the version. */
	for (i = 0; i + sizeof("Py_Version") < file_bytes; i++)
		if (!memcmp(file + i, "Py_Version", sizeof("Py_Version")))
			file[i] = 'Q';
	is_int(find(file_bytes, start, pgoff, 10, &python), 0, "3.10: the interpreter is found");
	is_int(python.minor, 10, "3.10: the version is taken from the file's name");
	is_int(find(file_bytes, start, pgoff, 0, &python), -EPROTO,
	       "a file without a version in its data or its name is refused");

	/* The lookup returns for any file. A truncated file never gives an address. */
	memcpy(file, whole, file_bytes);
	for (i = 0, err = 0; i < 200; i++)
		err |= !find(file_bytes * i / 200, start, pgoff, 12, &python);
	ok(!err, "200 truncated files are refused");
	srand(1);
	for (i = 0; i < 2000; i++) {
		memcpy(file, whole, file_bytes);
		for (k = 0; k < 4; k++)		/* in the file header and in the section tables */
			file[rand() % 2 ? (size_t)rand() % 832
					: file_bytes - 1 - rand() % 4096] = rand();
		err = find(file_bytes, start, pgoff, 12, &python);
		nr[!err ? 0 : err == -EINVAL ? 1 : 2]++;
	}
	ok(nr[1] > 100, "2000 broken files: %d found, %d refused, %d other errors", nr[0], nr[1],
	   nr[2]);
	is_int(pyelf__find(-1, start, pgoff, 12, &python), -EBADF, "a missing file is an error");
	free(file);
	return done_testing();
}
