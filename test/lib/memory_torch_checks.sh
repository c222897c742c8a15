# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# memory_torch_checks.sh - compares a recording with PyTorch's own figures for its memory. Source it
# after memory_verdict.sh: . "$XPU_SRC/test/lib/memory_torch_checks.sh"
#
# For each device, at several moments, the program prints
#
#	moment NS DEVICE ALLOCATED RESERVED	NS: CLOCK_MONOTONIC
#
# and at its end "peak DEVICE ALLOCATED RESERVED".

# torch_said OUT START FIRST GPUS: prints "NS GPU ALLOCATED RESERVED" for moment FIRST and
# each later moment. GPUS: the numbers that devices 0, 1, ... have in the recording
torch_said() {
	awk -v start="$2" -v first="$3" -v gpus="$4" 'BEGIN { split(gpus, gpu, " ") }
		$1 != "moment" { next }
		$2 != last { last = $2; nr++ }
		nr >= first { printf "%.0f %s %s %s\n", $2 - start, gpu[$3 + 1], $4, $5 }' "$1"
}

# torch_table DATA TABLE OPTION...: prints fields of a table of memory by device. The second field
# is the GPU.
torch_table() {
	data=$1 table=$2
	shift 2
	xpumerge -i "$data" "$@" --table "$table" --csv 2>>merge.log |
		awk -F, 'NR > 1 && $NF ~ /GPU/ { gsub(/"|GPU /, "", $NF); print $1, $NF, $4, $5 }'
}

# torch_differs DATA OUT [FIRST [GPUS [FIELDS]]]: prints the moments and peaks of OUT that DATA
# lacks, or has with other values. If FIELDS is 3, neither RESERVED nor the peaks are compared.
torch_differs() {
	gpus=${4:-0 1 2 3 4 5 6 7}
	: >merge.log
	torch_said "$2" "$(memory_start "$1")" "${3:-1}" "$gpus" | cut -d' ' -f-"${5:-4}" |
		sort >said
	[ -s said ] || echo "no moment is said"
	torch_table "$1" memory_moments --memory live \
		--at "$(cut -d' ' -f1 said | sort -nu | sed 's/$/ns/' | paste -sd, -)" |
		cut -d' ' -f-"${5:-4}" | sort >found
	comm -23 said found
	[ "${5:-4}" = 4 ] || return
	torch_table "$1" memory_devices | awk '{ print "peak", $2, $3, $4 }' | sort >found
	awk -v gpus="$gpus" 'BEGIN { split(gpus, gpu, " ") }
		$1 == "peak" { $2 = gpu[$2 + 1]; print }' "$2" |
		sort >peaks
	[ -s peaks ] || echo "no peak is said"
	comm -23 peaks found
}

# torch_agrees NAME [FIRST [GPUS [FIELDS]]]: checks that NAME.data agrees with NAME.out, and that no
# event is lost.
torch_agrees() {
	name=$1
	shift
	is "$(torch_differs "$name.data" "$name.out" "$@")" "" \
		"$name: allocated and reserved memory is right at each moment and at the peaks" ||
		diag "$(comm -13 said found | head -n 4)"
	unlike "$(cat merge.log)" 'events of memory' "$name: no event is missing or impossible"
	xpumerge -i "$name.data" --limit 3 >"$name.txt" 2>merge.log
	like "$(tr '\n' ' ' <"$name.txt" | tr -s ' ')" \
		'[1-9][0-9]* totals of the allocator.s own compared, 0 differ' \
			"$name: the allocator's own totals do not differ"
}
