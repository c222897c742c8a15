#!/bin/sh
# SPDX-License-Identifier: MIT
# --migrations on a real GPU: managed memory that the host and the GPU touch, and that is
# prefetched. The bytes that move are right, under the call path that allocated the memory; the
# numbers of moves and page faults are plausible. If CUPTI refuses to count, one line says why, and
# the launches are still exact.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/migrations.sh"
need root gpu nvcc bpf

"$NVCC" -std=c++17 -O2 -g -Wno-deprecated-gpu-targets \
	-Xcompiler -fno-omit-frame-pointer,-fno-optimize-sibling-calls -o managed \
	"$XPU_SRC/test/workload/managed.cu" -lcuda -ldl 2>nvcc.log
ok $? "nvcc builds managed" || diag "$(cat nvcc.log)"
refused='page migrations of managed memory are not recorded'

# record NAME OPTIONS...: makes NAME.data and NAME.out
record() {
	name=$1
	shift
	xpuload "$@" -o "$name.data" ./managed -n 40 >"$name.out" 2>load.log
	is $? 0 "$name: exit status 0" || diag "$(cat load.log "$name.out")"
	like "$(tail -n 1 load.log)" 'lost 0$' "$name: nothing is lost" || diag "$(cat load.log)"
}

# launches NAME: checks the launches of NAME.data
launches() {
	xpumerge -i "$1.data" -f folded --gpu-only --unit count -o "$1.folded" 2>merge.log
	made=$(sed -n 's/^launches //p' "$1.out")
	is "$("$XPU_SRC/test/lib/verdict.sh" "$1.folded" merge.log)" \
		"launches $made matched $made wrong 0 unmatched 0 lost 0" \
			"$1: every launch is matched, under its own site" || diag "$(cat merge.log)"
}

# impossible NAME: prints the numbers of NAME.data that contradict the program
impossible() {
	figures "$1.data" >got
	awk 'NR == FNR { got[$1 " " $2] = $3; next }
		NF == 4 {
			key = $1 " " $2; n = got[key] + 0
			said[key] = 1; nr++
			if (n < $3 || n > $4)
				print key ": " n ", expected " $3 " to " $4
		}
		END {
			for (key in got)
				# The driver decides which pages are thrashing.
				if (!(key in said) && key !~ /^thrashing /)
					print key ": " got[key] ", expected 0"
			if (nr < 20)
				print nr + 0 " figures of the program"
		}' got "$1.out"
}

for name in launches memory only shm; do
	case $name in
	launches)	record $name --migrations --gpu-only ;;
	memory)		record $name --migrations --memory --gpu-only ;;
	only)		record $name --migrations --memory-only ;;
	shm)		record $name --migrations --gpu-only --transport shm ;;
	esac
	[ $name = only ] || launches $name
	if grep -q "$refused" load.log; then
		is "$(grep -c "page migrations" load.log)" 1 "$name: refused: one line says so"
		like "$(grep "$refused" load.log)" \
			'because CUPTI refuses to count them \(CUPTI_[A-Z_0-9]+, error [0-9]+\)' \
			"$name: refused: the line says why"
		is "$(figures $name.data)" "" "$name: refused: the table has no rows"
		skip "$name: bytes, moves and faults" "$(grep "$refused" load.log)"
		continue
	fi
	if grep -q '^concurrent 0' $name.out; then
		like "$(cat load.log)" 'managed memory moves as a whole' \
			"$name: a message says that memory moves as a whole"
		skip "$name: bytes, moves and faults" "no concurrent managed access"
		continue
	fi
	is "$(impossible $name)" "" \
		"$name: each path has exact bytes, and plausible numbers of moves and page faults"
	diag "$name: $(paste -sd, got)"
	like "$(xpumerge -i $name.data --table memory_migrations --csv 2>/dev/null)" \
		'main.*mg_site_1.*allocate' "$name: the path of the allocation is shown"
done

record without --memory --gpu-only
launches without
is "$(xpumerge dump without.data 2>/dev/null | grep -c ' MIGRATION ')" 0 \
	"--memory alone: no migration is recorded"
unlike "$(cat load.log)" 'migration' "--memory alone: no message is about migrations"
done_testing
