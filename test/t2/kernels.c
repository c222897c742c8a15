// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The BPF programs load in kernels in which a member of a struct has another size. cs and ss of
 * struct pt_regs have 8 bytes before Linux 6.9 on x86-64, and 2 bytes since then: this test loads
 * the programs with the types of the running kernel, changed to each of the two sizes.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "tap.h"

#define MAX_DEPTH	2		/* an anonymous union inside of struct pt_regs */

static char first[512];			/* libbpf's first warning */

static int keep(enum libbpf_print_level level, const char *fmt, va_list args)
{
	if (level == LIBBPF_WARN && !*first)
		vsnprintf(first, sizeof(first), fmt, args);
	return 0;
}

/* Gives the members cs and ss of a struct the type @id. Return: the number of changed members. */
static int change(struct btf *types, int structure, int id, int depth)
{
	const struct btf_type *t = btf__type_by_id(types, structure);
	int i, nr = 0;

	for (i = 0; btf_is_composite(t) && i < btf_vlen(t) && depth < MAX_DEPTH; i++) {
		struct btf_member *m = btf_members(t) + i;
		const char *name = btf__name_by_offset(types, m->name_off);

		if (!strcmp(name, "cs") || !strcmp(name, "ss")) {
			m->type = id;
			nr++;
		} else if (!*name) {
			nr += change(types, m->type, id, depth + 1);
		}
	}
	return nr;
}

/* Writes the kernel's types, in which cs and ss have the type called @word. */
static bool write_types(const char *word, const char *path)
{
	struct btf *types = btf__load_vmlinux_btf();
	const void *data = NULL;
	bool good = false;
	FILE *f;
	__u32 len;
	int id;

	if (!types)
		return false;
	id = btf__find_by_name_kind(types, word, BTF_KIND_INT);
	if (id > 0 && change(types, btf__find_by_name_kind(types, "pt_regs", BTF_KIND_STRUCT), id,
			     0) == 2)
		data = btf__raw_data(types, &len);
	f = data ? fopen(path, "w") : NULL;
	if (f) {
		good = fwrite(data, len, 1, f) == 1;
		good &= !fclose(f);
	}
	btf__free(types);
	return good;
}

/* Loads the BPF programs with the types of a file. Return: 0 or a negative error. */
static int load(const char *types)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = types);
	struct bpf_object *object;
	struct bpf_map *map;
	char path[4096];
	int err;

	snprintf(path, sizeof(path), "%s/bpf/xpu.bpf.o", getenv("XPU_BUILD"));
	object = bpf_object__open_file(path, &opts);
	if (!object)
		return -errno;
	bpf_object__for_each_map(map, object)
		if (bpf_map__type(map) == BPF_MAP_TYPE_RINGBUF)
			bpf_map__set_max_entries(map, 1 << 16);
	err = bpf_object__load(object);
	bpf_object__close(object);
	return err;
}

int main(void)
{
	static const char *const sizes[][2] = {
		{ "long unsigned int", "8 bytes" },
		{ "short unsigned int", "2 bytes" },
	};
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "test", 4, 4, 1, NULL), err;
	size_t i;

	if (map < 0)
		skip_all("BPF programs cannot be loaded here: %s", strerror(errno));
	libbpf_set_print(keep);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ok(write_types(sizes[i][0], "types"), "the types of a kernel with cs of %s",
		   sizes[i][1]);
		err = load("types");
		if (!is_int(err, 0, "the programs load in a kernel with cs of %s", sizes[i][1]))
			diag("%s", first);
	}
	return done_testing();
}
