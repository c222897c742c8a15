# SPDX-License-Identifier: MIT
# memory_held_checks.sh - compares a recording with the output of test/workload/held.cu. Source it
# after memory_verdict.sh: . "$XPU_SRC/test/lib/memory_held_checks.sh"
# shellcheck shell=sh

# said WORD MOMENT: prints the value of WORD at the first or the second moment, from held.out
said() {
	awk -v word="$1" -v nr="$2" '$1 == word && ++found == nr { print $2 }' held.out
}

# held_agrees: compares held.data, at the moment of the failed allocation, with held.out
held_agrees() {
	start=$(memory_start held.data)
	xpumerge -i held.data --memory live --at "$(($(said moment 1) - start))ns" -f folded \
		-o first.folded 2>merge.log
	for what in unused graphs; do
		is "$(sed -n "s/.*;\[GPU_Memory\]$what //p" first.folded)" "$(said $what 1)" \
			"held: $what has the bytes that CUDA reports"
	done
	like "$(cat first.folded)" "\[CUDA's pools\];\[GPU_Memory\]unused [0-9]+" \
		"held: pools have a name"
	xpumerge -i held.data --memory live --at failed -f folded -o held.folded 2>merge.log
	unlike "$(cat merge.log)" 'events of memory' "held: no event is missing or impossible"
	is "$(sed -n "s/.*;\[GPU_Memory\]unused //p" held.folded)" \
		"$(said unused 2 | sed 's/^0$//')" \
		"held: CUDA has taken back unused memory of pools"
	like "$(cat held.folded)" '\[CUDA graphs\];\[GPU_Memory\]graphs [0-9]+' \
		"held: graphs have a name"
	like "$(cat held.folded)" \
		'\[contexts, modules, other processes\];\[GPU_Memory\]rest [0-9]{8}' \
		"held: the rest has a name"
	is "$(awk '/GPU_Memory/ { sum += $NF } END { printf "%.0f", sum }' held.folded)" \
		"$(said used 2)" "held: all kinds add up to the used memory of the device"
	is "$(awk '/held_pool;|held_pool .*\[GPU_Memory\]pool/ { print $NF }' held.folded)" \
		"$((32 << 20))" "held: the pool has its used memory"
	unlike "$(cat held.folded)" 'held_captured|held_node' \
		"held: nodes of graphs have no memory themselves"
	xpumerge dump held.data >held.dump
	is "$(grep -o "what=MADE space=GRAPHS" held.dump | wc -l)" 2 \
		"held: two nodes allocate, one of them in a capture"
	xpumerge -i held.data --memory leaked -f folded -o leaked.folded 2>/dev/null
	unlike "$(cat leaked.folded)" 'unused|graphs|rest' \
		"held: memory of CUDA itself does not count as leaked"
}
