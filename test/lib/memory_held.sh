# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# memory_held.sh - compares a recording with what test/workload/held.cu says: . "$XPU_SRC/test/lib/memory_held.sh"

said() {		# said WORD: the last word of that line of held.out
	awk -v word="$1" '$1 == word { print $2 }' held.out
}

# held_agrees: held.data, of the moment when memory was refused, with held.out
held_agrees() {
	xpumerge -i held.data --memory live --at failed -f folded -o held.folded 2>merge.log
	unlike "$(cat merge.log)" 'events of memory' "held: no event is missing or cannot be"
	for what in unused graphs; do
		is "$(sed -n "s/.*;\[GPU_Memory\]$what //p" held.folded)" "$(said $what)" "held: $what, as CUDA says"
	done
	like "$(cat held.folded)" "\[CUDA's pools\];\[GPU_Memory\]unused [0-9]+" "held: pools have a name"
	like "$(cat held.folded)" '\[CUDA graphs\];\[GPU_Memory\]graphs [0-9]+' "held: graphs have a name"
	like "$(cat held.folded)" '\[contexts, modules, other processes\];\[GPU_Memory\]rest [0-9]{8}' \
		"held: and the rest has one"
	is "$(awk '/GPU_Memory/ { sum += $NF } END { printf "%.0f", sum }' held.folded)" "$(said used)" \
		"held: together they are all that is used of the device"
	is "$(awk '/held_pool;|held_pool .*\[GPU_Memory\]pool/ { print $NF }' held.folded)" "$((32 << 20))" "held: what is used of the pool"
	unlike "$(cat held.folded)" 'held_captured|held_node' "held: nodes of graphs have none themselves"
	xpumerge dump held.data >held.dump
	is "$(grep -o "what=MADE space=GRAPHS" held.dump | wc -l)" 2 "held: two nodes that allocate, one of a capture"
	xpumerge -i held.data --memory leaked -f folded -o leaked.folded 2>/dev/null
	unlike "$(cat leaked.folded)" 'unused|graphs|rest' "held: the program leaks none of that"
}
