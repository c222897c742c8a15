#!/bin/sh
# SPDX-License-Identifier: MIT
# Code outside a feature's folder does not name the feature: it reaches features only through struct
# feature. Comments may name it. Each exception is a pattern "file: word", and must match something.
. "$XPU_SRC/test/lib/tap.sh"
need perl

# The code of merge/ without its comments, as lines "file:code". Importers are left out,
# because they make records of all kinds.
(cd "$XPU_SRC" &&
	find merge -name '*.[ch]' -o -name '*.js' -o -name '*.css' -o -name '*.html' |
	grep -v '^merge/import/' | sort | xargs perl -0777 -ne '
		s{("(?:\\.|[^"\\\n])*")|/\*.*?\*/|//[^\n]*|<!--.*?-->}{$1 // ""}gse;
		print "$ARGV:$_\n" for split /\n/') | grep -v '	FEATURE(' >code
[ "$(wc -l <code)" -gt 40000 ] || bail "the code was not read: $(wc -l <code) lines"

# feature NAME WORDS [EXCUSE...]: WORDS is a regular expression for the words that name the feature,
# such as the names in its headers
feature() {
	name=$1 words=$2
	shift 2
	[ -d "$XPU_SRC/merge/$name" ] || bail "no folder merge/$name"
	grep -v "^merge/$name/" code | perl -ne '
		BEGIN { $words = shift }
		my ($file, $code) = split /:/, $_, 2;
		print "$file: $1\n" while $code =~ /(?<![\w-])($words)(?![\w-])/g' \
		"$words|$name/\\w+\\.h" | sort -u >named
	stale=""
	for excuse; do
		grep -qE "^$excuse$" named || stale="$stale $excuse"
		grep -vE "^$excuse$" named >left
		mv left named
	done
	is "$(cat named)" "" "no code outside of merge/$name/ names $name"
	is "$stale" "" "$name: each excuse is needed"
}

# Losses and the keys of --by are tables of the core. The reader, dump and split name some records,
# because records.def cannot describe these records fully. The member "needs" names another feature.
feature nvtx '\w*(?:nvtx|NVTX|Nvtx)\w*|--nvtx' \
	'merge/model/loss\.c: NVTX' \
	'merge/(options|model/filter|write/(folded|pprof|timeline|tables/[a-z_]*))\.[ch]: (nvtx|NVTX)' \
	'merge/write/tables/tables_recording\.c: nvtx_text' \
	'merge/write/page/src/tree\.js: (nvtx|NVTX)' \
	'merge/ranks/feature\.c: (--)?nvtx' \
	'merge/memory/allocations\.c: nvtx'
feature ranks 'ranks__\w+|\w*(?:nccl|NCCL)\w*|--ranks|rank_\w+|section_ranks\w*'
feature stalls '\w*(?:stalls?__|stall_|_stall|STALL)\w*|stalls' \
	'merge/model/loss\.[ch]: (outside_stalls|stalls_[a-z_]*)' \
	'merge/write/pprof\.c: (has_stall|VALUE_STALL)' \
	'merge/write/page/src/(data|lines)\.js: (stalls|dispatch_stall)'
feature metrics '(?!symmetric)\w*(?:metric|METRIC)\w*' \
	'merge/model/loss\.[ch]: .*' \
	'merge/(read/reader|write/dump)\.c: (.*XPU_RECORD_|xpu_record_|XPU_|nr_|dump__)?(METRICS?|metrics?)(_.*)?'
feature pmc '(?!xpu_)\w*(?:pmc__|PMC|_pmc)\w*|(?:kernel|path)_counters'
feature migrations '\w*(?:migrat|MIGRAT)\w*'
feature memory '\w*(?:heap__|HEAP_|holder_|memory__|memory_opts|MEMORY_(?:LIVE|PEAK)|place_allocs)\w*|--memory|\w+_peak|peak\w*|(?:no|all)_memory|xpu_record_allocs|XPU_RECORD_ALLOCS' \
	'merge/(join/absorb|model/remap|labels/feature)\.[ch]: no_memory' \
	'merge/metrics/page/roof\.js: peaks?' \
	'merge/write/dump\.c: (XPU_RECORD_ALLOCS|xpu_record_allocs)' \
	'merge/write/page/src/strip\.js: peak' \
	'merge/migrations/feature\.c: --memory'
feature waits '\w*(?:wait_leaf|off__|idle__|idle_gap|waits_state|answer_waits|XPU_RECORD_(?:WAIT|OFF|ACCOUNT|GAP))\w*|--off-cpu' \
	'merge/write/dump\.c: XPU_RECORD_(ACCOUNT|OFF)'
feature graphs '\w*(?:graphs__|graph_node|graph_clone|graphs_opts|graph_mode|GRAPH_CAPTURE|GRAPH_LAUNCH|GRAPH_BOTH|GRAPH_CLONE|GRAPH_NODE)\w*|--graph' \
	'merge/(read/reader|stream/held|join/device|write/dump)\.c: XPU_MISC_GRAPH_NODE' \
	'merge/stream/(carry|held|split)\.[ch]: (XPU_RECORD_GRAPH_NODE|xpu_record_graph_node)' \
	'merge/write/dump\.c: graph_node_id'
feature labels 'labels_state|process_labels|by_shim|by_recorder|--rank|XPU_RECORD_(?:PROCESS_)?LABEL' \
	'merge/write/chrome\.c: process_labels' 'merge/write/dump\.c: XPU_RECORD_(PROCESS_)?LABEL'
done_testing
