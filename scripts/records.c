// SPDX-License-Identifier: MIT
/* records - prints the document of record/records.def, in Markdown: make records */
#include <stdio.h>

#include "record.h"

static const char *const wheres[] = {
	[RECORD_IN_FILE] = "In the file.",
	[RECORD_IN_BATCH] = "In a BATCH.",
	[RECORD_AROUND] = "Around all other records.",
	[RECORD_IN_RING] = "On the way to xpuload only.",
	[RECORD_IN_RING_BATCH] = "In a batch, on the way to xpuload only.",
};

static const char *const splits[] = {
	[RECORD_PASS] = "Splitting writes it to the open file.",
	[RECORD_CARRY] = "Splitting repeats it in later files.",
	[RECORD_HOLD] = "Splitting holds it until a launch and its device work have met.",
	[RECORD_SUM] = "Splitting begins later files with the sum.",
	[RECORD_FILE] = "Splitting makes it for each file.",
};

static const char *const packs[] = {
	[RECORD_PLAIN] = "", [RECORD_ROW] = " A block stores it in columns.",
	[RECORD_ROWS] = " A block stores its rows in columns.",
};

static const char *const kinds[] = {
#define KIND(name, how, text) [FIELD_##name] = text,
	FIELD_KINDS(KIND)
#undef KIND
};

static void print_numbers(const char *what, const struct number_names *names)
{
	const struct number_name *n;

	printf("\n%s:\n\n", what);
	for (n = names->v; n->name; n++)
		printf("- %u %s%s%s\n", n->number, n->name + strlen(names->prefix),
		       *n->text ? ": " : "", n->text);
}

static void print_fields(const struct record_field *list, uint32_t at)
{
	const struct record_field *f;

	for (f = list; f->name; f++) {
		printf("| %u | `%s", at + f->offset, f->type);
		if (f->nr || f->kind >= FIELD_TAIL)
			printf("[%.0u]", f->nr);
		printf("` | `%s` | %s%s%s |", f->name, kinds[f->kind],
		       *kinds[f->kind] && *f->text ? "; " : "", f->text);
		if (f->major)
			printf(" %u.%u", f->major, f->minor);
		puts(" |");
	}
	for (f = list; f->name; f++)
		if (f->names)
			print_numbers(f->name, f->names);
	for (f = list; f->name; f++) {
		if (!f->rows)
			continue;
		printf("\n`%s`:\n\n| | type | member | meaning | since |\n|---|---|---|---|---|\n",
		       f->type);
		print_fields(f->rows(), 0);
	}
}

int main(void)
{
	const struct record_type *t;

	printf("# Records of version %u.%u\n\n", XPU_VERSION_MAJOR, XPU_VERSION_MINOR);
	puts("A record begins with type, misc and size: `struct xpu_record` in "
	     "`record/xpu_record.h`, which\n"
	     "has the rules of the format.");
	for (t = record_types; t < record_types + XPU_RECORD_TYPES; t++) {
		if (!t->name)
			continue;
		printf("\n## %s (%td), since %u.%u\n\n%s %s %s%s\n\n", t->name, t - record_types,
		       t->major, t->minor, t->text, wheres[t->where], splits[t->split],
		       packs[t->pack]);
		puts("| | type | member | meaning | since |\n|---|---|---|---|---|");
		print_fields(t->fields(), 0);
		if (t->misc)
			print_numbers(t->misc_is_flags ? "Bits of misc" : "misc", t->misc);
	}
	return ferror(stdout) || fflush(stdout);
}
