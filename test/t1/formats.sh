#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every format says what the folded stacks say, to readers that are not ours: protoc's, for the
# formats that are published as .proto files.
. "$XPU_SRC/test/lib/tap.sh"
need protoc
gen="$XPU_BUILD/gen_data"

# Debian's Python has Debian's protobuf, another one in front of it may not.
for python in python3 /usr/bin/python3 ''; do
	[ -z "$python" ] || ! $python -c 'import google.protobuf' 2>/dev/null || break
done
[ -n "$python" ] || skip_all "no python3 with google.protobuf (Debian: python3-protobuf)"
export PB_DIR=. PYTHONDONTWRITEBYTECODE=1
protoc --proto_path="$XPU_SRC/third_party/pprof" --python_out=. profile.proto ||
	skip_all "protoc cannot make Python modules"

# same NAME FORMAT FILE UNIT...: what FORMAT's readers make of FILE is what is folded of it.
same() {
	name=$1 format=$2 file=$3
	shift 3
	xpumerge -i "$name.data" -o "$file" 2>log
	is $? 0 "$name: -o $file: status"
	for unit; do
		xpumerge -i "$name.data" -f folded --unit "$unit" -o want 2>log
		$python "$XPU_SRC/test/lib/formats.py" "$format" "$file" "$unit" >got
		is $? 0 "$name: $format: is well formed"
		cmp got want
		ok $? "$name: $format: $unit of $(wc -l <want) lines are those of the folded stacks"
	done
}

"$gen" -o plain.data --launches 5000 --threads 8 --memcpy-every 4
"$gen" -o graphs.data --launches 5000 --threads 8 --procs 3 --graph-every 3 --streams 3 --gpus 2
"$gen" -o lossy.data --launches 5000 --threads 2 --lose-launch 7 --lose-record 9
for name in plain graphs lossy; do
	same $name pprof $name.pb.gz ns count bytes
	same $name perf $name.perf ns count
done

# ---- pprof: what else its readers look at

zcat plain.pb.gz | protoc --proto_path="$XPU_SRC/third_party/pprof" \
	--decode=perftools.profiles.Profile profile.proto >plain.txt
is $? 0 "pprof: protoc decodes it by the published description"
for string in comm pid tid device stream /nonexistent/app; do
	is "$(grep -c "^string_table: \"$string\"\$" plain.txt)" 1 "pprof: '$string' is there"
done
xpumerge plain.data -o plain.pb.gz 2>log
is "$(sed -n 's/^string_table: "\(launches .*\)"/\1/p' plain.txt)" \
	"$(grep ^launches log)" "pprof: the account is its comment"

done_testing
