#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/gdb/xpuload.py makes gdb show containers and records in readable form.
. "$XPU_SRC/test/lib/tap.sh"
need gdb

cat >show.c <<'END'
#include <stdlib.h>
#include "util.h"
#include "xpu_record.h"

struct thing { int a; };

__attribute__((noinline)) void stop(void)
{
	__asm__ volatile("");
}

int main(void)
{
	static struct { ARRAY(struct thing) list; ARRAY(const char *) none; } s;
	static struct strpool strings;
	static struct idmap ids;
	static struct xpu_record_kernel kernel = {
		.hdr = { XPU_RECORD_KERNEL, XPU_MISC_BAD_TIME, sizeof(kernel) }, .correlation_id = 77,
	};
	const struct xpu_record *record = &kernel.hdr;
	static struct xpu_record strange = { 200, 0, 8 };
	enum xpu_record_type type = record->type;
	int i, err = 0;

	for (i = 0; i < 3; i++)
		err |= array_push(&s.list, ((struct thing){ 10 + i }));
	strpool__intern(&strings, "alpha", 5);
	strpool__intern(&strings, "beta", 4);
	err |= idmap__put(&ids, 0x1000, 5);
	stop();
	return err + (type != XPU_RECORD_KERNEL) + strange.misc;
}
END
util=$(find "$XPU_SRC/lib" "$XPU_SRC/merge" -name util.c)
${CC:-gcc} -std=gnu11 -D_GNU_SOURCE -O0 -g -I"$XPU_SRC/record" -I"$XPU_SRC/lib" -I"${util%/*}" \
	-o show show.c "$util" 2>log
is $? 0 "a program with each container is built" || diag "$(head -n 3 log)"
gdb -nx -batch -iex 'set debuginfod enabled off' -x "$XPU_SRC/scripts/gdb/xpuload.py" -ex \
	'break stop' \
	-ex run -ex up -ex 'print s.list' -ex 'print s.none' -ex 'print strings' -ex 'print ids' \
	-ex 'print *record' -ex 'print strange' -ex 'print/r ids' show >out 2>&1
if ! grep -q '^\$1' out; then
	skip "what gdb shows" "gdb cannot run a program here: $(tail -n 1 out)"
	done_testing
fi
shows() {		# shows NUMBER TEXT NAME
	is "$(sed -n "s/^\$$1 = //p" out)" "$2" "$3"
}
shows 1 'ARRAY of 3 (room for 6) = {{a = 10}, {a = 11}, {a = 12}}' "an ARRAY shows its elements"
shows 2 'ARRAY of 0 (room for 0)' "an empty ARRAY shows its size"
like "$(sed -n 's/^\$3 = //p' out)" \
	'^strpool of 2 strings = \{0x[0-9a-f]+ "(alpha|beta)", 0x[0-9a-f]+ "(alpha|beta)"\}$' \
	"a strpool shows its strings"
shows 4 'idmap of 1 ids = {[0x1000] = 5}' "an idmap shows ids and their values"
shows 5 \
	'KERNEL misc=0x2 size=40 start_ns=0 duration_ns=0 correlation_id=77 name=0 stream=0 graph_id=0' \
	"a record shows all its members"
shows 6 'type 200 misc=0x0 size=8' "a record of an unknown type shows its type and size"
like "$(sed -n 's/^\$7 = //p' out)" 'nr_slots = ' "print/r shows the raw structure"
done_testing
