#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Format numbers that are generated from a .proto file are exactly the numbers in that file.
. "$XPU_SRC/test/lib/tap.sh"

fields() {		# fields: prints the fields of the .proto on stdin
	cat >in.proto
	awk -f "$XPU_SRC/scripts/proto-fields.awk" in.proto 2>log
}

cat >want <<'END'
/* Made by scripts/proto-fields.awk. */
enum {
	OUTER__ONE = 1,
	OUTER__INNER_PART__IS_LAST = 2,
	OUTER__COLOUR_RED = 0,
	OUTER__A64_BIT = 47,
	SIDE_LEFT = 3,
};
END
fields >got <<'END'
// message Comment { optional int32 no = 9; }
syntax = "proto2";
package a.b;
message Outer { optional Outer.InnerPart one = 1;
  message InnerPart {
    repeated bool is_last = 2;	// = 7
  }
  enum Colour { COLOUR_RED = 0; }
  required fixed64 a64_bit = 47;
}
message Empty {}
enum Side { SIDE_LEFT = 3; }
END
is $? 0 "exit status 0"
is "$(cat got)" "$(cat want)" "all fields and enumerators have the numbers of the .proto"
for bad in 'message A { int32 b = 1; }' 'message A { optional int32 b; }' \
	'message A { oneof b { } }' \
	'message A { optional int32 b = x; }' 'message A { optional int32 b = 1; ' \
	'enum A { B = 1 }' '}' \
	'optional int32 b = 1;' 'message A { optional int32 b = 1 [packed = true]; }'; do
	echo "$bad" | fields >got
	is "$? $(wc -l <log)" "1 1" "refused: $bad"
done

is "$(sed -nE 's/^[[:space:]]+([A-Z_]+)[[:space:]]+= [0-9]+,.*/\1/p' \
	"$XPU_SRC/merge/write/pftrace.c" | tr '\n' ' ')" \
	"CLOCK_DELTAS CLOCK_SINCE_START CATEGORY_LAUNCH " \
		"merge/write/pftrace.c has no numbers except those for its own clocks and categories"
if command -v protoc >/dev/null; then
	protoc --proto_path="$XPU_SRC/third_party/perfetto" -o /dev/null perfetto.proto 2>log
	is "$?$(cat log)" 0 "protoc reads perfetto.proto, too"
else
	skip "perfetto.proto" "protoc is missing"
fi
done_testing
