// SPDX-License-Identifier: GPL-3.0-or-later
/* Symbols of ELF files: files that gcc and ld make, unusual files, and damaged files. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/debugfile.h"
#include "symbols/dso.h"
#include "gen.h"
#include "tap.h"

static struct strpool strings;
static struct dsos dsos;

static void begin(void)
{
	dsos__init(&dsos, &strings);
}

static void end(void)
{
	dsos__exit(&dsos);
	strpool__free(&strings);
}

static struct dso *get(const char *path, const void *id, size_t id_len, uint64_t ino)
{
	struct gen g = { 0 };
	struct dso *dso;

	gen__mmap(&g, 1, 1, 0, 0, 0, path, id, id_len);
	((struct xpu_record_mmap *)g.v)->ino = ino;
	dso = dsos__get(&dsos, (void *)g.v);
	gen__free(&g);
	if (!dso)
		bail("out of memory");
	return dso;
}

/* Return: the name of the symbol at @offset in @dso; "" if @dso has no symbol there. */
static const char *name_at(struct dso *dso, uint64_t offset)
{
	struct dso_symbol *sym;
	uint64_t vaddr;

	sym = dsos__find_symbol(&dsos, dso, offset, &vaddr);
	return sym ? dsos__symbol_name(&dsos, sym) : "";
}

/* ---- files that gcc makes ------------------------------------------------------------------- */

static const char source[] =
	"#include <stdio.h>\n"
	"#include <string.h>\n"
	"static __attribute__((noinline)) int local_function(int a) { __asm__(\"\"); "
	"return a + 1; }\n"
	"int __attribute__((noinline)) global_function(int a) { __asm__(\"\"); return a + 2; }\n"
	"static int (*resolve(void))(int) { return local_function; }\n"
	"int indirect_function(int) __attribute__((ifunc(\"resolve\")));\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	char line[512], perms[8], path[256];\n"
	"	unsigned long from, to, off;\n"
	"	FILE *f = fopen(\"/proc/self/maps\", \"r\");\n"
	"	while (fgets(line, sizeof(line), f))\n"
	"		if (sscanf(line, \"%lx-%lx %7s %lx %*s %*s %255s\", "
	"&from, &to, perms, &off,\n"
	"			   path) == 5 &&\n"
	"		    perms[2] == 'x' && strstr(path, argv[0] + 2))\n"
	"			printf(\"map %lx %lx\\n\", from, off);\n"
	"	printf(\"global_function %lx\\n\", (unsigned long)global_function);\n"
	"	printf(\"local_function %lx\\n\", (unsigned long)local_function);\n"
	"	return indirect_function(argc) == 0;\n"
	"}\n";

static int compile(const char *flags, const char *name)
{
	const char *cc = getenv("CC");
	char command[512];
	FILE *f = fopen("source.c", "w");

	if (!f)
		bail("source.c cannot be written");
	fputs(source, f);
	fclose(f);
	snprintf(command, sizeof(command), "%s -g0 -O1 -w %s -o %s source.c 2>compile.log",
		 cc && *cc ? cc : "cc", flags, name);
	return system(command);
}

/*
 * Runs the program, which prints where it and its functions are mapped, and looks these addresses
 * up in its file as a recording would.
 */
static void check_program(const char *name, const char *local, const char *global)
{
	char command[64], word[64], path[64];
	unsigned long addr, start = 0, pgoff = 0;
	struct dso *dso;
	int nr = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", getcwd(word, sizeof(word)), name);
	snprintf(command, sizeof(command), "./%s", name);
	f = popen(command, "r");
	if (!f || fscanf(f, "map %lx %lx\n", &start, &pgoff) != 2)
		bail("%s does not say where it is mapped", name);
	begin();
	dso = get(path, NULL, 0, 0);
	while (fscanf(f, "%63s %lx\n", word, &addr) == 2) {
		is_str(name_at(dso, addr - start + pgoff),
		       !strcmp(word, "local_function") ? local : global, "%s: %s", name, word);
		is_str(name_at(dso, addr - start + pgoff + 3),
		       !strcmp(word, "local_function") ? local : global, "%s: inside %s", name,
		       word);
		nr++;
	}
	is_int(pclose(f), 0, "%s: the program ran", name);
	is_int(nr, 2, "%s: the program printed the addresses of both functions", name);
	is_int(dso->state, DSO_LOADED, "%s: the program's file was read", name);
	end();
}

static void test_compiled(void)
{
	static const struct {
		const char *name, *flags, *local, *global;
	} programs[] = {
		{ "pie", "-fPIE -pie", "local_function", "global_function" },
		{ "no_pie", "-fno-pie -no-pie", "local_function", "global_function" },
		{ "one_segment", "-fPIE -pie -Wl,-z,noseparate-code", "local_function",
		  "global_function" },
		{ "high_base", "-fno-pie -no-pie -Wl,-Ttext-segment=0x12340000", "local_function",
		  "global_function" },
		/*
		 * .symtab was removed, and .dynsym lacks the function: the function has no name,
		 * and does not get its neighbor's name.
		 */
		{ "stripped", "-fPIE -pie -s", "", "" },
		{ "stripped_exports", "-fPIE -pie -rdynamic -s", "", "global_function" },
		{ "gnu_hash_only", "-fPIE -pie -rdynamic -s -Wl,--hash-style=gnu", "",
		  "global_function" },
	};
	size_t i;

	if (compile("", "probe")) {
		skip(1, "no working C compiler");
		return;
	}
	for (i = 0; i < ARRAY_SIZE(programs); i++) {
		if (compile(programs[i].flags, programs[i].name)) {
			skip(1, "the compiler cannot do %s", programs[i].flags);
			continue;
		}
		check_program(programs[i].name, programs[i].local, programs[i].global);
	}
}

/* ---- unusual symbol tables ------------------------------------------------------------------- */

#define FUNC(bind)	ELF64_ST_INFO(STB_##bind, STT_FUNC)
#define LABEL(bind)	ELF64_ST_INFO(STB_##bind, STT_NOTYPE)

static void make(const char *path, const struct gen_symbol *symbols, size_t nr, const void *id,
		 size_t id_len)
{
	struct gen g = { 0 };

	gen__elf(&g, symbols, nr, id, id_len);
	if (gen__save(&g, path))
		bail("%s cannot be written", path);
	gen__free(&g);
}

/* Return: an absolute path, such as mappings have. */
static const char *absolute(const char *name)
{
	static char path[512];
	char cwd[256];

	snprintf(path, sizeof(path), "%s/%s", getcwd(cwd, sizeof(cwd)), name);
	return path;
}

static void test_choice(void)
{
	static const struct gen_symbol symbols[] = {
		/* Precedence of aliases: global, weak, local; functions before labels. */
		{ "weak_alias", 0x1000, 0x10, FUNC(WEAK) },
		{ "global_alias", 0x1000, 0x10, FUNC(GLOBAL) },
		{ "local_alias", 0x1000, 0x10, FUNC(LOCAL) },
		{ "label_alias", 0x1000, 0, LABEL(GLOBAL) },
		/* Precedence of two aliases: a name without leading underscores wins. */
		{ "__underscores", 0x1010, 0x10, FUNC(GLOBAL) },
		{ "none", 0x1010, 0x10, FUNC(GLOBAL) },
		{ "_one", 0x1010, 0x10, FUNC(GLOBAL) },
		/*
		 * The longest symbol at an address wins; a symbol without a size loses against any
		 * symbol with a size.
		 */
		{ "short", 0x1020, 0x08, FUNC(GLOBAL) },
		{ "long", 0x1020, 0x10, FUNC(GLOBAL) },
		{ "sizeless", 0x1020, 0, FUNC(GLOBAL) },
		/*
		 * No symbol covers the range up to 0x1040. The symbol at 0x1040 has no size, so it
		 * extends to the next symbol.
		 */
		{ "assembly", 0x1040, 0, FUNC(GLOBAL) },
		/*
		 * A nested symbol: the inner symbol has its own range, the outer symbol has the
		 * rest.
		 */
		{ "outer", 0x1050, 0x30, FUNC(GLOBAL) },
		{ "inner", 0x1060, 0x08, FUNC(LOCAL) },
		/* Overlapping symbols: the later symbol gets the shared range. */
		{ "left", 0x1080, 0x20, FUNC(GLOBAL) },
		{ "right", 0x1090, 0x20, FUNC(GLOBAL) },
		/* Versioned names, as in a library's .symtab. */
		{ "memcpy@@GLIBC_2.14", 0x1100, 0x10, FUNC(GLOBAL) },
		{ "_ZN3foo3barEi", 0x1110, 0x10, FUNC(GLOBAL) },
		{ "_ZN4core3fmt9Formatter3pad17h1234567890abcdefE", 0x1120, 0x10, FUNC(GLOBAL) },
		{ "ifunc", 0x1130, 0x10, ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC) },
		/* Symbols that are not code are ignored. */
		{ "object", 0x1140, 0x10, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT) },
		{ "", 0x1150, 0x10, FUNC(GLOBAL) },
		{ ".Llabel", 0x1160, 0, LABEL(LOCAL) },
		{ "$x", 0x1170, 0, LABEL(LOCAL) },
		/* The last symbol has no size: it extends to the end of its section. */
		{ "last", 0x1ff0, 0, LABEL(GLOBAL) },
	};
	static const struct {
		uint64_t offset;
		const char *name, *what;
	} checks[] = {
		{ 0x0fff, "", "outside of all segments" },
		{ 0x1000, "global_alias", "aliases: the global function" },
		{ 0x100f, "global_alias", "its last byte" },
		{ 0x1010, "none", "no leading underscores" },
		{ 0x1020, "long", "the longer one" },
		{ 0x102f, "long", "to its end" },
		{ 0x1030, "", "a gap belongs to nobody" },
		{ 0x103f, "", "to its last byte" },
		{ 0x1040, "assembly", "no size: begins" },
		{ 0x104f, "assembly", "no size: up to the next symbol" },
		{ 0x1050, "outer", "before the inner one" },
		{ 0x1060, "inner", "the inner one" },
		{ 0x1067, "inner", "to its end" },
		{ 0x1068, "outer", "the outer one goes on behind it" },
		{ 0x107f, "outer", "to its end" },
		{ 0x1080, "left", "overlap: the left one" },
		{ 0x108f, "left", "up to the right one" },
		{ 0x1090, "right", "overlap: the right one" },
		{ 0x10af, "right", "to its end" },
		{ 0x10b0, "", "behind both" },
		{ 0x1100, "memcpy", "symbol version left out" },
		{ 0x1110, "foo::bar(int)", "C++ demangled" },
		{ 0x1120, "core::fmt::Formatter::pad", "Rust demangled" },
		{ 0x1130, "ifunc", "an indirect function" },
		{ 0x1140, "", "data is no function" },
		{ 0x1150, "", "nor is what has no name" },
		{ 0x1160, "", "nor an assembler's own label" },
		{ 0x1170, "", "nor a mapping symbol" },
		{ 0x1fff, "last", "no size: up to the section's end" },
		{ 0x2000, "", "the section ends" },
		{ UINT64_MAX, "", "the last offset there is" },
	};
	struct dso *dso;
	size_t i;

	make("choice.so", symbols, ARRAY_SIZE(symbols), NULL, 0);
	begin();
	dso = get(absolute("choice.so"), NULL, 0, 0);
	for (i = 0; i < ARRAY_SIZE(checks); i++)
		is_str(name_at(dso, checks[i].offset), checks[i].name, "%#x: %s",
		       (unsigned int)checks[i].offset, checks[i].what);
	end();
}

/* Tests pairs of names that libraries give to one function. The better name comes first. */
static void test_aliases(void)
{
#define SIZED	.size = 0x10, .typed = true
	static const struct {
		struct symtab_candidate better, worse;
	} pairs[] = {
		/* glibc: an exported name wins against an internal name of the same function. */
		{ { .name = "malloc", .bind = STB_GLOBAL, SIZED },
		  { .name = "__libc_malloc", .bind = STB_GLOBAL, SIZED } },
		{ { .name = "pthread_create@@GLIBC_2.34", .bind = STB_GLOBAL, SIZED },
		  { .name = "__GI___pthread_create", .bind = STB_LOCAL, SIZED } },
		{ { .name = "pthread_create@@GLIBC_2.34", .bind = STB_GLOBAL, SIZED },
		  { .name = "__pthread_create_2_1", .bind = STB_LOCAL, SIZED } },
		{ { .name = "__clone3", .bind = STB_LOCAL, SIZED },
		  { .name = "__GI___clone3", .bind = STB_LOCAL, SIZED } },
		{ { .name = "clone3", .bind = STB_LOCAL, SIZED },
		  { .name = "__clone3", .bind = STB_LOCAL, SIZED } },
		{ { .name = "__pthread_mutex_unlock_usercnt", .bind = STB_LOCAL, SIZED },
		  { .name = "__GI___pthread_mutex_unlock_usercnt", .bind = STB_LOCAL, SIZED } },
		{ { .name = "_IO_puts", .bind = STB_GLOBAL, SIZED },
		  { .name = "__GI__IO_puts", .bind = STB_LOCAL, SIZED } },
		{ { .name = "__clone@@GLIBC_2.2.5", .bind = STB_GLOBAL, SIZED },
		  { .name = "clone@@GLIBC_2.2.5", .bind = STB_WEAK, SIZED } },
		{ { .name = "read", .bind = STB_WEAK, SIZED },
		  { .name = "__GI___libc_read", .bind = STB_LOCAL, SIZED } },
		/*
		 * Old symbol versions, which no program links to any more: memmove was also named
		 * memcpy.
		 */
		{ { .name = "memmove", .bind = STB_GLOBAL, SIZED },
		  { .name = "memcpy", .bind = STB_GLOBAL, SIZED, .old = true } },
		{ { .name = "__lseek", .bind = STB_GLOBAL, SIZED },
		  { .name = "llseek", .bind = STB_GLOBAL, SIZED, .old = true } },
		{ { .name = "exp10l", .bind = STB_WEAK, SIZED },
		  { .name = "pow10l", .bind = STB_GLOBAL, SIZED, .old = true } },
		{ { .name = "__old_bzero", .bind = STB_WEAK, SIZED, .old = true },
		  { .name = "bzero_local", .bind = STB_LOCAL, SIZED } },
		/* Local aliases that gcc makes. */
		{ { .name = "__inner", .bind = STB_LOCAL, SIZED },
		  { .name = "__inner.localalias", .bind = STB_LOCAL, SIZED } },
		{ { .name = "_ZN1AC1Ev", .bind = STB_WEAK, SIZED },
		  { .name = "_ZN1AC2Ev", .bind = STB_WEAK, SIZED } },
		{ { .name = "__x_y@@V_1.2", .bind = STB_GLOBAL, SIZED },
		  { .name = "__x_z@@V_1.2", .bind = STB_GLOBAL, SIZED } },
		/* Labels of assembly code, at the start of a function and inside it. */
		{ { .name = "__memcpy_avx_unaligned", .bind = STB_LOCAL, SIZED },
		  { .name = "L(start)", .bind = STB_LOCAL } },
		{ { .name = "_start", .bind = STB_GLOBAL, SIZED },
		  { .name = "start", .bind = STB_GLOBAL, .typed = true } },
		{ { .name = "whole", .bind = STB_GLOBAL, .size = 0x20, .typed = true },
		  { .name = "part", .bind = STB_GLOBAL, SIZED } },
		{ { .name = "__whole", .bind = STB_GLOBAL, .size = 0x10, .typed = true },
		  { .name = "part", .bind = STB_WEAK, .size = 0x20, .typed = true } },
	};
#undef SIZED
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pairs); i++) {
		const struct symtab_candidate *a = &pairs[i].better, *b = &pairs[i].worse;

		ok(symtab_candidate__cmp(a, b) > 0 && symtab_candidate__cmp(b, a) < 0,
		   "%s before %s", a->name, b->name);
	}
	is_int(symtab_candidate__cmp(&pairs[0].better, &pairs[0].better), 0,
	       "a name is not better than itself");
}

/* ---- which file ----------------------------------------------------------------------------- */

static const uint8_t id_a[20] = { 0xaa, 1 }, id_b[20] = { 0xbb, 2 };

static void test_build_id(void)
{
	static const struct gen_symbol f[] = { { "f", 0x1000, 0x10, FUNC(GLOBAL) } };
	struct msgs msgs = { 0 };
	struct dso *dso;

	make("a.so", f, 1, id_a, sizeof(id_a));
	make("none.so", f, 1, NULL, 0);
	make("short.so", f, 1, id_a, 8);
	begin();
	dso = get(absolute("a.so"), id_a, 20, 0);
	is_str(name_at(dso, 0x1000), "f", "a file with the mapping's build-id is used");
	ok(get(absolute("a.so"), id_a, 20, 5) == dso,
	   "a file is found by its build-id, whatever its inode");
	make("b.so", f, 1, id_b, sizeof(id_b));
	is_str(name_at(get("/nonexistent/b.so", id_b, 20, 0), 0x1000), "",
	       "a missing file has no symbols");
	is_str(name_at(get(absolute("b.so"), id_b, 20, 0), 0x1000), "f",
	       "another path with the same build-id is another file");
	dso = get(absolute("a.so"), id_b, 20, 7);
	is_str(name_at(dso, 0x1000), "", "a file with another build-id is not used");
	is_int(dso->state, DSO_MISMATCH, "a mismatch of build-ids is recorded");
	dsos__report(&dsos, &msgs);
	is_int(msgs.lines.nr, 0, "a mismatch is not reported if no symbol was looked up");
	dso->nr_unnamed = 1;
	dsos__report(&dsos, &msgs);
	if (is_int(msgs.lines.nr, 1, "a mismatch is reported once a symbol was looked up"))
		ok(strstr(msgs.lines.v[0], "build-id differs"),
		   "the message says that the build-id differs");
	dso = get(absolute("a.so"), id_a, 8, 0);
	is_str(name_at(dso, 0x1000), "",
	       "a build-id that has only equal first bytes is not enough");
	dso = get(absolute("short.so"), id_a, 8, 0);
	is_str(name_at(dso, 0x1000), "f", "a build-id of 8 bytes is enough");
	dso = get(absolute("a.so"), NULL, 0, 0);
	is_str(name_at(dso, 0x1000), "f", "a mapping without a build-id uses the file at its path");
	ok(get(absolute("a.so"), NULL, 0, 1) != dso,
	   "the same path with another inode is another file");
	ok(get(absolute("a.so"), NULL, 0, 0) == dso, "the same path and inode is the same file");
	msgs__free(&msgs);
	end();

	begin();
	dso = get(absolute("none.so"), id_a, 20, 0);
	is_str(name_at(dso, 0x1000), "",
	       "a file without a build-id is not used for a mapping that has one");
	is_int(dso->state, DSO_MISMATCH, "a missing build-id is recorded as a mismatch");
	end();

	/* The file was unlinked while the program ran, and was created again afterwards. */
	begin();
	dso = get(strcat((char *)absolute("a.so"), " (deleted)"), id_a, 20, 0);
	is_str(name_at(dso, 0x1000), "f",
	       "a deleted file that exists again with its build-id is used");
	is_str(dso->name, "a.so", "a deleted file is shown without ' (deleted)'");
	end();
	begin();
	dso = get(strcat((char *)absolute("a.so"), " (deleted)"), NULL, 0, 0);
	is_str(name_at(dso, 0x1000), "", "a deleted file without a build-id is not used");
	end();
}

static void test_names(void)
{
	static const struct {
		const char *path, *name;
		enum dso_role role;
	} checks[] = {
		{ "/usr/lib/libfoo.so.1", "libfoo.so.1", DSO_PLAIN },
		{ "//anon", "[anon]", DSO_PLAIN },
		{ "", "[anon]", DSO_PLAIN },
		{ "[heap]", "[heap]", DSO_PLAIN },
		{ "/memfd:jit (deleted)", "memfd:jit", DSO_PLAIN },
		{ "/x/libxpushim.so", "libxpushim.so", DSO_SHIM },
		{ "/x/libcupti.so.13", "libcupti.so.13", DSO_CUPTI },
		{ "/x/libcuda.so.580.159", "libcuda.so.580.159", DSO_CUDA },
		{ "/x/libcudart.so.13.0.96", "libcudart.so.13.0.96", DSO_CUDART },
		{ "/x/libcudart-d0da41ae.so.11.0", "libcudart-d0da41ae.so.11.0", DSO_CUDART },
		{ "/x/libcudart.so/app", "app", DSO_PLAIN },
		{ "/x/libcudadevrt.so", "libcudadevrt.so", DSO_PLAIN },
	};
	struct dso *dso;
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(checks); i++) {
		dso = get(checks[i].path, NULL, 0, i);
		is_str(dso->name, checks[i].name, "'%s' is shown as '%s'", checks[i].path,
		       checks[i].name);
		is_int(dso->role, checks[i].role,
		       "'%s': the role of the mapping is recognized", checks[i].path);
		is_str(name_at(dso, 0x10), "", "'%s': the mapping has no symbol", checks[i].path);
	}
	end();
}

static void test_no_file(void)
{
	struct dso *dso;
	FILE *f;

	begin();
	is_int(mkdir("directory.so", 0700), 0, "a directory is made");
	dso = get(absolute("directory.so"), NULL, 0, 0);
	is_str(name_at(dso, 0), "", "a directory has no symbols");
	is_int(mkfifo("fifo.so", 0600), 0, "a FIFO is made");
	dso = get(absolute("fifo.so"), NULL, 0, 0);
	is_str(name_at(dso, 0), "", "a FIFO does not make the reader wait");
	dso = get("/dev/zero", NULL, 0, 0);
	is_str(name_at(dso, 0), "", "a device is not read");
	f = fopen("empty.so", "w");
	if (!f || fclose(f))
		bail("empty.so cannot be written");
	dso = get(absolute("empty.so"), NULL, 0, 0);
	is_str(name_at(dso, 0), "", "an empty file has no symbols");
	f = fopen("text.so", "w");
	if (!f || fputs("INPUT ( -lc )\n", f) < 0 || fclose(f))
		bail("text.so cannot be written");
	dso = get(absolute("text.so"), NULL, 0, 0);
	is_str(name_at(dso, 0), "", "a linker script has no symbols");
	is_int(dso->state, DSO_NO_ELF, "a linker script is not an ELF file");
	end();
}

/* ---- vdso ----------------------------------------------------------------------------------- */

struct vdso {
	uint8_t id[XPU_BUILD_ID_LEN];
	size_t id_len;
	uintptr_t base;
};

static int find_vdso(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct vdso *v = ctx;
	int i;

	(void)size;
	if (!strstr(info->dlpi_name, "linux-vdso"))
		return 0;
	v->base = info->dlpi_addr;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const char *p = (const char *)(info->dlpi_addr + ph->p_vaddr);
		const char *to = p + ph->p_memsz;

		while (ph->p_type == PT_NOTE && p + sizeof(ElfW(Nhdr)) < to) {
			const ElfW(Nhdr) *nh = (const void *)p;

			p += sizeof(*nh) + (nh->n_namesz + 3) / 4 * 4;
			if (nh->n_type == NT_GNU_BUILD_ID && nh->n_descsz <= sizeof(v->id)) {
				v->id_len = nh->n_descsz;
				memcpy(v->id, p, nh->n_descsz);
			}
			p += (nh->n_descsz + 3) / 4 * 4;
		}
	}
	return 1;
}

static void test_vdso(void)
{
	struct vdso v = { .id_len = 0 };
	void *handle, *function;
	struct dso *dso;

	handle = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
	function = handle ? dlsym(handle, "__vdso_clock_gettime") : NULL;
	dl_iterate_phdr(find_vdso, &v);
	if (!function || !v.id_len) {
		skip(3, "no vdso with a build-id here");
		return;
	}
	begin();
	dso = get("[vdso]", v.id, v.id_len, 0);
	is_str(name_at(dso, (uintptr_t)function - v.base), "__vdso_clock_gettime",
	       "this machine's vdso has its symbols");
	dso = get("[vdso]", id_a, 20, 0);
	is_str(name_at(dso, (uintptr_t)function - v.base), "", "another kernel's vdso is not used");
	dso = get("[vdso]", NULL, 0, 0);
	is_str(name_at(dso, (uintptr_t)function - v.base), "",
	       "a vdso without a build-id is not used");
	end();
}

/* ---- damage --------------------------------------------------------------------------------- */

/*
 * Tests that damaged files cause no crash and no sanitizer report, and that a file that was cut off
 * has no symbols.
 */
static void test_damaged(void)
{
	static const struct gen_symbol symbols[] = {
		{ "f", 0x1000, 0x10, FUNC(GLOBAL) },
		{ "g", 0x1010, 0x10, FUNC(GLOBAL) },
	};
	size_t len, i, nr_loaded = 0, nr = 0;
	unsigned int seed = 1;
	struct gen g = { 0 };
	struct dso *dso;

	begin();
	gen__elf(&g, symbols, ARRAY_SIZE(symbols), id_a, 20);
	len = g.nr;
	for (i = 0; i < len; i += i < 0x200 || i > 0x1f00 ? 1 : 64) {
		g.nr = i;
		if (gen__save(&g, "cut.so"))
			bail("cut.so cannot be written");
		dso = get(absolute("cut.so"), NULL, 0, nr++);
		name_at(dso, 0x1000);
		nr_loaded += dso->state == DSO_LOADED && dso->symtab.symbols.nr;
	}
	is_int(nr_loaded, 0,
	       "cut at each of %zu places: no file is loaded with half a symbol table", nr);
	g.nr = len;
	for (i = 0; i < 3000; i++) {
		size_t at, k;
		uint8_t old[3];
		size_t where[3];

		/*
		 * Changes three bytes of the headers, symbols and strings, but not of the code
		 * between them.
		 */
		for (k = 0; k < 3; k++) {
			at = rand_r(&seed) % (len - 0x1e00);
			where[k] = at < 0x200 ? at : at + 0x1e00;
			old[k] = g.v[where[k]];
			g.v[where[k]] = rand_r(&seed) % 4 ? rand_r(&seed) : 0xff;
		}
		if (gen__save(&g, "bad.so"))
			bail("bad.so cannot be written");
		dso = get(absolute("bad.so"), NULL, 0, 100000 + i);
		for (at = 0xff0; at < 0x1030; at += 8)
			name_at(dso, at);
		for (k = 3; k--;)
			g.v[where[k]] = old[k];
	}
	ok(1, "3000 damaged files: no crash");
	if (gen__save(&g, "good.so"))
		bail("good.so cannot be written");
	is_str(name_at(get(absolute("good.so"), id_a, 20, 0), 0x1010), "g",
	       "the undamaged file still has its symbols");
	gen__free(&g);
	end();
}

/* ---- packed symbols -------------------------------------------------------------------------- */

/* Makes a file that has only MiniDebugInfo, which is @bytes long when unpacked. */
static void make_packed(struct gen *g, size_t bytes)
{
	static const char names[] = "\0.gnu_debugdata\0.shstrtab";
	static const struct gen_symbol symbol = { "packed", 0x1000, 16, STT_FUNC };
	uint8_t *plain = calloc(1, bytes), packed[65536];
	Elf64_Ehdr ehdr = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
		.e_ehsize = sizeof(ehdr), .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 3,
		.e_shstrndx = 2,
	};
	Elf64_Shdr shdrs[3] = {
		[1] = { .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = sizeof(ehdr) },
		[2] = { .sh_name = 16, .sh_type = SHT_STRTAB, .sh_size = sizeof(names) },
	};
	struct gen elf = { 0 };
	size_t out = 0;

	gen__elf(&elf, &symbol, 1, NULL, 0);
	if (!plain || elf.nr > bytes)
		bail("no memory");
	memcpy(plain, elf.v, elf.nr);
	if (lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, plain, bytes, packed, &out,
				    sizeof(packed)))
		bail("it cannot be packed");
	shdrs[1].sh_size = out;
	shdrs[2].sh_offset = sizeof(ehdr) + out;
	ehdr.e_shoff = (sizeof(ehdr) + out + sizeof(names) + 7) & ~7ul;
	gen__bytes(g, &ehdr, sizeof(ehdr));
	gen__bytes(g, packed, out);
	gen__bytes(g, names, sizeof(names));
	gen__bytes(g, "\0\0\0\0\0\0\0", ehdr.e_shoff - g->nr);
	gen__bytes(g, shdrs, sizeof(shdrs));
	gen__free(&elf);
	free(plain);
}

/* A few bytes in a file can unpack to very many, and there can be many such files. */
static void test_packed(void)
{
	uint64_t left = 3 << 20, before;
	struct elf_file file, debug;
	struct gen g = { 0 };
	int nr;

	make_packed(&g, 1 << 20);
	if (elf_file__open_memory(&file, memcpy(malloc(g.nr), g.v, g.nr), g.nr))
		bail("the file is none");
	for (nr = 0; nr < 10; nr++) {
		before = left;
		if (elf_file__open_minidebug(&file, &debug, &left))
			break;
		if (before - left < 1 << 20)
			nr = 100;
		elf_file__close(&debug);
	}
	ok(nr > 0, "packed symbols are unpacked");
	ok(nr <= 3, "packed symbols are unpacked up to the bytes that are left");
	is_int(elf_file__open_minidebug(&file, &debug, &left), -EINVAL,
	       "packed symbols are refused when no bytes are left");
	elf_file__close(&file);
	gen__free(&g);
}

/* Looks up one name in each of @nr files that do not exist; the last file has the most frames. */
static void report_missing(unsigned int nr, struct msgs *msgs)
{
	struct dso *dso;
	char path[64];
	unsigned int i;

	begin();
	for (i = 1; i <= nr; i++) {
		snprintf(path, sizeof(path), "/nonexistent/%u.so", i);
		dso = get(path, NULL, 0, i);
		name_at(dso, 0);
		dso->nr_unnamed = i;
	}
	dsos__report(&dsos, msgs);
	end();
}

static void test_many_missing(void)
{
	struct msgs msgs = { 0 };

	report_missing(4, &msgs);
	is_int(msgs.lines.nr, 4, "four missing files have a message each");
	msgs__free(&msgs);
	msgs = (struct msgs){ 0 };
	report_missing(10, &msgs);
	if (is_int(msgs.lines.nr, 4, "ten missing files have four messages")) {
		ok(!strncmp(msgs.lines.v[0], "/nonexistent/10.so: no symbols", 30),
		   "the file with the most frames comes first");
		ok(!strncmp(msgs.lines.v[3], "7 more files: no symbols, for 28 frames", 39),
		   "the last message has the number of the other files and of their frames");
	}
	msgs__free(&msgs);
}

int main(void)
{
	test_compiled();
	test_choice();
	test_aliases();
	test_build_id();
	test_names();
	test_no_file();
	test_vdso();
	test_damaged();
	test_packed();
	test_many_missing();
	return done_testing();
}
