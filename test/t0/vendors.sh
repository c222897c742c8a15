#!/bin/sh
# SPDX-License-Identifier: MIT
# The first table of doc/vendors.md says what each vendor's folder in preload/gpu/ does, and the
# page names the OpenCL functions that are recorded.
. "$XPU_SRC/test/lib/tap.sh"
cd "$XPU_SRC" || exit 1
page=doc/vendors.md folders="cupti opencl"		# in the order of the table's columns

is "$(find preload/gpu -mindepth 1 -type d -printf '%f\n' | sort | tr '\n' ' ')" "$folders " \
	"each vendor's folder has a column in the first table"

# FEATURE|REGEX: a folder that has this feature contains code that matches REGEX.
cat >"$OLDPWD/features" <<'EOF'
launches, copies and fills with their call paths and device times|launch__entered\b
`[GPU_Wait]`|launch__waited\(
graphs by node|launch__node_made\(
`--memory`|launch__tell_alloc\(
`--capture`|capture_window__are_used
`--capture cuda-profiler-api`|cuProfilerStart
`--api`|\.want_calls =
`--stalls`|XPU_RECORD_STALLS
`--migrations`|XPU_RECORD_MIGRATION
EOF
# Rows without code in the vendor's folder: properties of the vendor, and work of other programs.
cat >"$OLDPWD/others" <<'EOF'
devices
tried on
joined by
`--gpu-metrics`
attach to a running program (`-p`, `-a`)
through shared memory, without privileges
EOF

sed '/^## /q' $page | sed -n '/^|---/,/^$/p' | grep '^| ' |
	sed 's/^| //; s/ *| */|/g' >"$OLDPWD/rows"
is "$(cut -d'|' -f1 "$OLDPWD/rows" | sort)" \
	"$(cut -d'|' -f1 "$OLDPWD/features" | sort - "$OLDPWD/others")" \
	"each row of the table is checked, or is listed as a row without code"

column=1
for folder in $folders; do
	column=$((column + 1))
	cat "preload/gpu/$folder"/*.[ch] | tr '\n' ' ' >"$OLDPWD/code"
	while IFS='|' read -r feature code; do
		says=$(awk -F'|' -v want="$feature" -v column=$column \
			'$1 == want { print $column ~ /^no(:|$)/ ? "no" : "yes" }' "$OLDPWD/rows")
		grep -qE "$code" "$OLDPWD/code" && does=yes || does=no
		is "$says" "$does" "$folder: the page is right about $feature"
	done <"$OLDPWD/features"
done

# named BEGIN: prints the functions in the paragraph that begins with BEGIN
named() {
	awk -v begin="$1" 'index($0, begin) == 1 { on = 1 } $0 == "" { on = 0 } on' $page |
		grep -oE '`cl[A-Z][A-Za-z0-9]*`' | tr -d '`' | sort -u
}
calls() {		# calls CLASSES: prints the functions in OPENCL_CALLS with these classes
	sed -nE "s/.*CALL\((cl[A-Za-z0-9]*), ($1)\).*/\1/p" preload/gpu/opencl/opencl.h | sort
}
[ "$(calls 'LAUNCH|LAUNCHES|COPY' | wc -l)" -gt 20 ]
ok $? "the functions of OpenCL that launch: $(calls 'LAUNCH|LAUNCHES|COPY' | wc -l)"
is "$(named '**Launches.**' | grep clEnqueue)" "$(calls 'LAUNCH|LAUNCHES|COPY')" \
	"doc/vendors.md names all functions of OpenCL that launch"
is "$(named '**Memory.**')" "$(calls ALLOCATION)" \
	"the page names all functions of OpenCL that allocate or free watched memory"
is "$(sed -nE 's/^\| `\[GPU_Wait\]` .*\|([^|]*)\|$/\1/p' $page | grep -oE 'cl[A-Za-z]+' | sort)" \
	"$(calls WAIT | sort)" "the page names all functions of OpenCL that only wait"

# If AMD's SDK is not installed, a process with this symbol aborts at its first HIP call.
is "$(nm -D --defined-only "$XPU_BUILD/libxpushim.so" | grep -c rocprofiler_configure)" 0 \
	"the shim does not export rocprofiler_configure"
done_testing
