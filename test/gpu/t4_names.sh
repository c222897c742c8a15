#!/bin/sh
# SPDX-License-Identifier: MIT
# PyTorch's stacks reach the thread's root and their frames have names. The Python line that called
# an operation is in its stack, and backward kernels are under autograd's thread.
. "$XPU_SRC/test/lib/tap.sh"
need root gpu bpf torch perl

# record NAME COMMAND...: records COMMAND; NAME.launches gets a line "STACK COUNT" for each stack of
# device work
record() {
	name=$1
	shift
	xpuload --gpu-only -o "$name.data" "$@" >out 2>load.log
	is $? 0 "$name: exit status 0" || diag "$(cat load.log out)"
	xpumerge -i "$name.data" -f folded --unit count -o "$name.folded" 2>merge.log ||
		diag "$(cat merge.log)"
	grep -E ';\[GPU[0-9]*_(Kernel|Memcpy|Memset)\]' "$name.folded" | grep -v ';\[no launch\];' \
		>"$name.launches"
}

# Files that have only exported symbols: .symtab is stripped, and no debug file exists.
site=$(python3 -c 'import os, torch; print(os.path.dirname(os.path.dirname(torch.__file__)))')
closed() {		# closed FILE
	path=$(find "$site" /usr/lib /lib /usr/local -name "$1" -type f 2>/dev/null | head -n 1)
	[ -n "$path" ] && ! readelf -SW "$path" 2>/dev/null | grep -q '\.symtab'
}

figures() {		# figures NAME
	perl -ne '
		my ($stack, $n) = /^(.*) (\d+)$/ or next;
		my @f = split /;/, $stack;
		$all += $n;
		$rooted += $n if $f[1] =~ /^(_start|(__)?clone3|start_thread)$/;
		$cut += $n if $f[1] eq "[truncated]";
		for (@f[1 .. $#f - 1]) {
			$frames++;
			next unless /^(.*)\+0x[0-9a-f]+$|^\[(unknown|anon)\]$/;
			$unnamed{$1 // $_}++;
		}
		END {
			printf "%d %d %d %d\n", $all, $rooted, $cut // 0, $frames;
			print "$_ $unnamed{$_}\n" for sort keys %unnamed;
		}' "$1.launches" >figures
	read -r all rooted cut frames <figures
	open=0 shut=0
	while read -r file nr; do
		if closed "$file"; then
			shut=$((shut + nr))
			diag "$1: $nr frames in $file, which names no functions but those it exports"
		else
			open=$((open + nr))
			diag "$1: $nr frames without a name in $file"
		fi
	done <<-END
	$(sed 1d figures)
	END
	diag "$1: device records $all, under a stack from _start, clone3 or start_thread $rooted," \
		"truncated $cut; frames $frames, without a name $((open + shut)), of them in closed files $shut"
	[ "$all" -gt 0 ] && [ $((rooted * 1000)) -ge $((all * 999)) ]
	ok $? "$1: 99.9 % of stacks reach the root of their thread"
	[ $((open * 100)) -le $((frames - shut)) ]
	ok $? "$1: 99 % of the frames that a file can name have a name"
}

record eager python3 "$XPU_SRC/test/gpu/eager.py"
figures eager
grep '^pt_autograd' eager.launches >backward
n=$(awk '{ n += $NF } END { print n + 0 }' backward)
diag "eager: $n device records on autograd's thread"
[ "$n" -gt 0 ]
ok $? "eager: backward work is in autograd's thread"
is "$(grep -vc ';torch::autograd::Engine::thread_main' backward)" 0 \
	"eager: all of that thread's work is below the engine's thread_main"
is "$(grep -v '^pt_autograd' eager.launches | grep -vc ';eager.py:<module>:[0-9]*;')" 0 \
	"eager: all other work is below a line of the program"

record compiled python3 "$XPU_SRC/test/gpu/more.py" compiled
figures compiled

record lines python3 "$XPU_SRC/test/gpu/lines.py" "$PWD/expected"
figures lines
while read -r line op regex; do
	grep -v '^pt_autograd' lines.launches | grep -P "\[GPU_Kernel\].*$regex" |
		grep ';lines.py:op_' >of_op
	total=$(grep -v '^pt_autograd' lines.launches | grep -P "\[GPU_Kernel\].*$regex" |
		grep ";lines.py:$op:" | awk '{ n += $NF } END { print n + 0 }')
	wrong=$(grep -vc ";lines.py:$op:$line;" of_op)
	diag "$op, line $line: $total kernels, $wrong call paths under another line"
	[ "$total" -ge 20 ] && [ "$wrong" = 0 ]
	ok $? "$op: each of its kernels is under lines.py:$op:$line" || diag "$(cut -c1-600 of_op)"
done <expected
done_testing
