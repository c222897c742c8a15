#!/bin/sh
# SPDX-License-Identifier: MIT
# CUDA graphs: the recording says where each node was made, which node it was copied from, and which
# launch ran it.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
quiet_sanitizers
use_sim
graphs="$XPU_BUILD/workload/graphs"

# Counts the graph records of an uncompressed recording: GRAPH_NODE (14) in its blocks (22), after
# the block headers, and GRAPH_CLONE (73) in batches (11).
cat >records.pl <<'END'
local $/;
my $data = <>;
my ($magic, $endian, $major, $minor, $at) = unpack "Z8 L S S L", $data;
my %nr;
my %known;
while ($at + 8 <= length $data) {
	my ($type, $misc, $size) = unpack "S S L", substr $data, $at, 8;
	last if $size < 8;
	if ($type == 22) {
		$at += 56;
		next;
	}
	if ($type == 14) {
		my ($node, $proc, $correlation) = unpack "Q L L", substr $data, $at + 16, 16;
		$nr{$correlation ? "captured" : "explicit"}++;
		$known{$node}++;
	} elsif ($type == 11) {
		my $bytes = unpack "L", substr $data, $at + 24, 4;
		for (my $in = $at + 32; $in < $at + 32 + $bytes;) {
			my ($t, $m, $s) = unpack "S S L", substr $data, $in, 8;
			last if $s < 8;
			if ($t == 73) {
				my ($node, $original) = unpack "Q Q", substr $data, $in + 8, 16;
				$nr{clones}++;
				$nr{strange}++ unless $known{$node} && $known{$original};
			}
			$in += $s;
		}
	}
	$at += $size;
}
printf "captured %d explicit %d clones %d strange %d\n",
	map { $nr{$_} // 0 } qw(captured explicit clones strange);
END

xpuload -z 0 -o a.data "$graphs" -n 10 >a.out 2>a.log
is $? 0 "exit status 0"
like "$(cat a.out)" 'graphs: launches 70 kernels 120' \
	"the target's output is the same as without xpuload"
like "$(cat a.log)" ' 120 device records.* lost 0' "every kernel of every graph is recorded"
# Capture makes 2 + 10 nodes, and calls make 9 nodes. 26 more nodes are copies. CUPTI reports each
# copy twice: as made and as copied.
is "$(perl records.pl a.data)" "captured 12 explicit 35 clones 26 strange 0" \
	"each node has a record of its creation, or of the node that it copies"

xpumerge -i a.data -f folded --unit count -o launch.folded --graph launch 2>launch.mlog ||
	xpumerge -i a.data -f folded --unit count -o launch.folded 2>launch.mlog
for what in captured:captured_one captured:captured_two built:built_one built:built_two \
	cloned:built_one cloned:built_two nested:outer nested:inner_one nested:inner_two \
	updated:after changed:changed again:again_one; do
	like "$(cat launch.folded)" \
		";launch_${what%:*};cudaGraphLaunch;\[GPU_Kernel\]k_${what#*:} 10$" \
		"--graph launch, $what: the kernel is under its launch"
done

if ! "$XPUMERGE" --help | grep -q -e --graph; then
	skip "--graph capture" "xpumerge has no --graph"
	done_testing
fi

xpumerge -i a.data -f folded --unit count --graph capture -o capture.folded 2>capture.mlog
is $? 0 "--graph capture: exit status 0"
like "$(cat capture.mlog)" 'matched [0-9]+ unmatched 0 lost 0' \
	"--graph capture: no captured launch is unmatched or lost"
unlike "$(cat capture.folded)" 'GPU_Launch_Pending' "--graph capture: no launch is pending"
for name in captured_one:10 captured_two:10 built_one:20 built_two:20 outer:10 inner_one:10 \
	inner_two:10 changed:10 again_one:10; do
	like "$(grep ";${name%:*};" capture.folded)" "\[GPU_Kernel\]k_${name%:*} ${name#*:}$" \
		"--graph capture, $name: the kernel is under its capture"
done
like "$(grep ';before;' capture.folded)" '\[GPU_Kernel\]k_after 10$' \
	"--graph capture: an updated node keeps its own call path"
is "$(awk '{ n += $NF } END { print n }' capture.folded)" 120 \
	"--graph capture: all kernels are shown"

xpumerge -i a.data -f folded --unit count --graph both -o both.folded 2>both.mlog
like "$(cat both.folded)" \
	';launch_captured;cudaGraphLaunch;\[captured at\];.*;captured_one;.*\[GPU_Kernel\]k_captured_one 10$' \
	"--graph both: the launch's path comes first, then the capture's path"
is "$(awk '{ n += $NF } END { print n }' both.folded)" 120 "--graph both: all kernels are shown"

# Graphs that exist before any recording.
mkfifo go
LD_PRELOAD="$XPU_SHIM" "$graphs" -n 10 -w <>go >old.out 2>old.err &
pid=$!
wait_for grep -qs ready old.out
attach old -p $pid
awake old
echo >go
wait $pid
wait "$old_pid"
is $? 0 "graphs made before the attach: exit status 0"
xpumerge -i old.data -f folded --unit count -o old.folded 2>old.mlog
like "$(cat old.mlog)" 'matched [0-9]+ unmatched 0 lost 0' \
	"graphs made before the attach: all launches are matched"
like "$(cat old.folded)" ';launch_captured;cudaGraphLaunch;\[GPU_Kernel\]k_captured_one 10$' \
	"graphs made before the attach: kernels are under the launch's path"
like "$(grep ';again_one;' old.folded)" '\[GPU_Kernel\]k_again_one 10$' \
	"graphs made after the attach: kernels are under the path of the capture"
like "$(xpumerge -i old.data -f text 2>&1; cat old.mlog)" \
	'device records of graph nodes whose making was not recorded' \
	"graphs made before the attach: a message counts the unknown nodes"

done_testing
