#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Which folders a folder may include: the folders of programs share only record/, the headers of
# bpf/, and lib/. Symbol code stays in merge/.
. "$XPU_SRC/test/lib/tap.sh"
work=$PWD
cd "$XPU_SRC" || exit 1

# Prints "FILE HEADER" for each #include "HEADER" in the files.
includes() {
	awk '/^[ \t]*#[ \t]*include[ \t]*"/ { split($0, q, "\""); print FILENAME, q[2] }' "$@"
}

# may NAME "DIR..." "HEADER..." FILE...: each header that a FILE includes is in one of the DIRs, or
# is one of the HEADERs.
may() {
	name=$1 dirs=$2 headers=$3
	shift 3
	bad=$(includes "$@" | while read -r file header; do
		for dir in $dirs; do
			[ -e "$dir/$header" ] && continue 2
		done
		case " $headers " in
		*" $header "*) continue ;;
		esac
		echo "$file includes $header"
	done)
	is "$bad" "" "$name"
}

# licence NAME TEXT FILE...: the first line of each FILE names the licence TEXT.
licence() {
	name=$1 text=$2
	shift 2
	bad=$(for file; do
		sed -n 1p "$file" | grep -qF "SPDX-License-Identifier: $text" || echo "$file"
	done)
	is "$bad" "" "$name"
}

lib=$(find lib -name '*.[chS]' | sort)
preload=$(find preload -name '*.[chS]' | sort)
loader=$(find loader -name '*.[chS]' | sort)
metrics=$(find metrics -name '*.[ch]' | sort)
push=$(find push -name '*.[ch]' | sort)
merge=$(find merge -name '*.[chS]' | sort)

# No check below may pass only because its list of files is empty.
for room in merge preload loader metrics push lib; do
	# shellcheck disable=SC2046 # several files
	nr=$(includes $(find $room -name '*.[ch]') | wc -l)
	[ "$nr" -gt 2 ]
	ok $? "$room/: $nr includes found"
done

may "record/ includes itself" "record" "" record/*
may "bpf/*.h includes no header of ours" "" "" bpf/*.h
may "bpf/*.c includes bpf/ and record/" "bpf record" "vmlinux.h" bpf/*.c
may "lib/ includes record/ and itself" "lib record" "" lib/*.[ch]
may "preload/ includes record/, bpf/, lib/ and itself" "preload record bpf lib" "" $preload
may "loader/ includes record/, bpf/, lib/ and itself" "loader record bpf lib" \
	"xpu.skel.h version.h" $loader
may "metrics/ includes record/, bpf/, lib/ and itself" "metrics record bpf lib" "" $metrics
protos=opentelemetry/proto/collector/profiles/v1development
may "push/ includes lib/ and itself" "push lib" "version.h $protos/profiles_service.pb-c.h" $push
may "merge/ includes record/, bpf/, lib/ and itself" "merge record bpf lib" \
	"version.h profile.pb-c.h perfetto_fields.h $protos/profiles_service.pb-c.h" $merge

# arrows FILE...: prints "FILE HEADER'S FILE" for each #include of one of our headers, even if the
# header does not exist.
arrows() {
	includes "$@" | while read -r file header; do
		for dir in "${file%%/*}" lib bpf record; do
			[ -e "$dir/$header" ] && echo "$file $dir/$header" && break
		done
	done
}
arrows $preload $loader $metrics $merge $lib >"$work/arrows"

# floors PROGRAM ROOM...: the folders (rooms) from the top layer (floor) to the bottom. No file
# includes a header of a higher layer. Folders joined by + share a layer and do not include each
# other. The program's own files are above all folders. A ROOM may be a subfolder.
floors() {
	program=$1
	shift
	is "$(awk -v program="$program" -v rooms="$*" '
		function room(file, part) {
			split(file, part, "/")
			if (part[2] "/" part[3] in floor)
				return part[2] "/" part[3]
			return part[3] == "" ? "." : part[2]
		}
		BEGIN {
			floor["."] = 0
			nr = split(rooms, floors, " ")
			for (i = 1; i <= nr; i++) {
				nr_rooms = split(floors[i], names, "+")
				for (k = 1; k <= nr_rooms; k++)
					floor[names[k]] = i
			}
		}
		index($1, program "/") == 1 && index($2, program "/") == 1 {
			from = room($1)
			to = room($2)
			if (!(from in floor) || !(to in floor))
				print "no floor is known for", $1, "or", $2
			else if (floor[from] > floor[to] || from != to && floor[from] == floor[to])
				print $1, "includes", $2
		}' "$work/arrows")" "" "in $program/ no file includes a higher layer: $*"
	command -v python3 >/dev/null || return
	is "$(python3 scripts/lint/below.py "$program" "$@")" "" \
		"in $program/ no lower folder declares a function that a higher folder defines"
}

# Each feature of merge/ has its own folder, above the writers. No file outside the folder includes
# its headers, not even a file of the program.
features=$(sed -n 's/^\tFEATURE(\([a-z_]*\)).*/\1/p' merge/model/feature.h)
for feature in $features; do
	[ -d "merge/$feature" ] || echo "merge/$feature is missing"
	includes merge/*.[ch] | grep " $feature/"
done >"$work/features"
is "$(cat "$work/features")" "" \
	"each feature has a folder, and xpumerge's own files include no header from there"
floors merge "$(echo $features | tr ' ' +)" stream+write join+import read symbols model
floors loader inject target attach record base
floors preload gpu/cupti+gpu/opencl life gpu nvtx launch python wire base arch

is "$(grep -lE '#include <(cu|nv)[a-z_]*\.h>' $preload | grep -v '^preload/gpu/cupti/')" "" \
	"only preload/gpu/cupti/ includes NVIDIA's headers"

is "$(grep -l '#include <CL/' $preload | grep -v '^preload/gpu/opencl/')" "" \
	"only preload/gpu/opencl/ includes OpenCL's headers"

# If a lower folder declares a function that a higher folder defines, the lower folder depends on
# the higher folder without an include. floors() finds these functions, too.
if command -v python3 >/dev/null; then
	[ "$(python3 scripts/lint/below.py --count preload)" -gt 300 ]
	ok $? "the rule finds functions, and where they are declared and defined"
else
	skip "functions of a higher folder that a lower folder declares" "no python3"
fi

# A file and its header count as one.
is "$(sed -E 's/\.[chS]( |$)/\1/g' "$work/arrows" | awk '$1 != $2' | tsort 2>&1 >/dev/null)" "" \
	"no includes form a circle"
is "$(grep -lE '#include "join/(device|place|calls|samples|off|ranges|losses|frames)\.h"' \
	$merge test/*/*.[ch] | grep -v '^merge/join/')" "" \
	"only merge/join/ includes the headers of parts of the second pass"
is "$(grep -l '#include "join/second_pass\.h"' $merge test/*/*.[ch] |
	grep -vE "^merge/(join|$(echo $features | tr ' ' '|'))/")" "" \
	"only merge/join/ and features include second_pass.h"
is "$(grep -l '#include <bfd.h>' $merge $loader $preload $lib)" merge/symbols/libbfd.c \
	"only merge/symbols/libbfd.c includes libbfd's header"
# The loader itself reads only our own shim as an ELF file, to find the probe sites. A child without
# privileges reads other ELF files (inject/inject_libc.c).
is "$(grep -lE '#include <(libelf|gelf|elfutils/.*|dwarf.*)\.h>' $merge $loader $preload $lib |
	grep -v -e '^loader/attach/shim_file.c$' -e '^loader/inject/inject_libc.c$' \
	-e '^lib/dwarf_ops.h$' -e '^merge/symbols/elf_file\.[ch]$' \
	-e '^merge/symbols/file_cfi.c$')" "" \
	"only merge/symbols/elf_file.h includes libelf, and only file_cfi.h includes libdw"

is "$(grep -l '"DtoH"' $merge $loader $preload $lib)" merge/model/leaf.c \
	"only merge/model/leaf.c has the names of copies"

# Finds C strings that end a JSON member's name. The help text contains such a string as an example.
is "$(grep -nE '\\":' $merge $loader $preload $lib |
	grep -v -e '^lib/json_out.c:' -e 'help = ' -e 'such as')" "" \
	"JSON is written only through lib/json_out.h"

licence "merge/ and loader/ are GPL-3.0-or-later" GPL-3.0-or-later $merge $loader
licence "preload/, metrics/, push/, lib/, record/ and bpf/*.h are MIT" MIT $preload $metrics $push \
	$lib record/* bpf/*.h

# Functions that make, rename or remove files, or change their owner or mode.
changes='(creat|mk[a-z]*temps?|mkdir(at)?|mkfifo(at)?|mknod(at)?|rename(at2?)?|unlink(at)?|rmdir|remove|'
changes=$changes'truncate|f?chmod(at)?|[fl]?chown(at)?|(sym)?link(at)?|nftw|setfs[ug]id)\('
writes='O_CREAT|O_TRUNC|O_WRONLY|O_RDWR|fopen\(.*"[^r][^"]*"\)'
changing() {
	# A system call filter names the flags that it forbids.
	grep -nE "(^|[^a-z_.>])$changes|$writes" "$@" |
		grep -vF -e 'open("/dev/null", O_RDWR' -e 'BPF_JUMP('
}
# Only inject/foreign.c writes to the memory and the files of other processes.
is "$(changing $loader $merge $preload | grep -v '^loader/inject/foreign.c:')" "" \
	"files are made, renamed and removed only through lib/safefile.h"
[ "$(changing lib/safefile.c lib/invoker.c | wc -l)" -gt 5 ]
ok $? "the rule finds functions that make, rename or remove files in lib/"

# needs FILE PATTERN NAME: none of the libraries that FILE needs matches PATTERN.
needs() {
	if [ ! -e "$1" ]; then
		skip "$3" "$1 is not built"
		return
	fi
	unlike "$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')" "$2" "$3"
}
if command -v readelf >/dev/null; then
	needs "$XPU_SHIM" 'bfd|elf|bpf|cupti|cuda|OpenCL|stdc\+\+|unwind' \
		"the shim needs none of libbfd, libelf, libbpf, CUDA, libstdc++"
	needs "$XPULOAD" 'bfd|cupti|cuda' "xpuload needs neither libbfd nor CUDA"
	needs "$XPUMERGE" 'bpf|cupti|cuda' "xpumerge needs neither libbpf nor CUDA"
	needs "$XPULOAD" 'curl|ssl|crypto' "xpuload needs no library for networks"
	needs "$XPUMERGE" 'curl|ssl|crypto' "xpumerge needs no library for networks"
else
	skip "what the programs link" "no readelf"
fi
done_testing
