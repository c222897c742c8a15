#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# xpumerge and fold.sh write to the right file when links, or other users' files, are in the way.
. "$XPU_SRC/test/lib/tap.sh"
need perl
umask 022

"$XPU_BUILD/gen_data" -o xpu.data --launches 100
mkdir bin
cat >bin/flamegraph.pl <<'END'
print "<svg>drawn</svg>\n";
END
chmod 755 bin/flamegraph.pl
fold() {			# fold FILE: draws FILE
	PATH=$PWD/bin:$PATH XPUMERGE=$XPUMERGE sh "$XPU_SRC/scripts/fold.sh" --svg -o "$1" xpu.data
}
merge() {
	xpumerge -f folded -o "$1" xpu.data
}
is_drawn() {
	[ "$(cat "$1")" = "<svg>drawn</svg>" ]
}
is_merged() {
	grep -q ' [0-9]*$' "$1"
}

mkdir far
for tool in fold merge; do
	case $tool in
	fold)	is_good=is_drawn ;;
	merge)	is_good=is_merged ;;
	esac
	out=$tool.out
	$tool $out 2>log
	is "$? $(stat -c %a $out)" "0 644" "$tool: the mode is what umask leaves" || diag "$(cat log)"
	(umask 077; $tool $out 2>log)
	is "$? $(stat -c %a $out)" "0 600" "$tool: umask 077"
	ln $out hard
	echo kept >hard
	$tool $out 2>log
	$is_good $out
	ok $? "$tool: a file with another link is replaced"
	is "$(cat hard)" kept "$tool: what it was before is what it was"
	rm -f hard $out

	ln -s far/hop $out
	ln -s file far/hop
	$tool $out 2>log
	is $? 0 "$tool: links of one's own: exit status 0" || diag "$(cat log)"
	[ -L $out ] && [ -L far/hop ] && $is_good far/file
	ok $? "$tool: what they lead to is made"
	echo old >far/file
	$tool $out 2>log
	[ -L $out ] && [ -L far/hop ] && $is_good far/file
	ok $? "$tool: or replaced"
	rm -f far/* $out
	ln -s loop loop
	$tool loop 2>log
	is "$? $(grep -c "it is a symbolic link: name the file itself" log)" "2 1" "$tool: a link to itself: refused, and why"
	rm -f loop

	mkfifo fifo
	cat fifo >got &
	$tool fifo 2>log
	status=$?
	wait
	is $status 0 "$tool: a FIFO: exit status 0" || diag "$(cat log)"
	[ -p fifo ] && $is_good got
	ok $? "$tool: it is written to, and stays"
	rm -f fifo
	$tool /dev/stdout 2>log | cat >got
	$is_good got
	ok $? "$tool: /dev/stdout, a pipe"
	ln -s /proc/self/fd/1 stdout		# like /dev/stdout, which a failure must not replace
	$tool stdout >got 2>log
	[ -L stdout ] && $is_good got
	ok $? "$tool: a link to standard output, a file"
	rm -f stdout
	$tool /dev/fd/7 7>got 2>log
	$is_good got
	ok $? "$tool: a descriptor's name"
	$tool /dev/null 2>log
	is $? 0 "$tool: /dev/null"
	$tool no/such/directory 2>log
	is $? 2 "$tool: nowhere"
	$tool far 2>log
	is $? 2 "$tool: in the place of a directory"
	is "$(find . -name '*.tmp*')" "" "$tool: nothing temporary is left"
done

# Names of temporary files that others can guess from the process id.
echo kept >victim
PATH=$PWD/bin:$PATH XPUMERGE=$XPUMERGE sh -c 'ln -s victim "guess.svg.$$.tmp" &&
	exec sh "$0" --svg -o guess.svg xpu.data' "$XPU_SRC/scripts/fold.sh" 2>log
is "$(cat victim)" kept "fold.sh: a link in a name that may be guessed is not followed"
is_drawn guess.svg
ok $? "fold.sh: and holds nothing up"

if [ "$(id -u)" = 0 ]; then
	mkdir -m 777 theirs
	for tool in fold merge; do
		for what in victim new /dev/null; do
			ln -s ../$what theirs/link
			[ $what != /dev/null ] || ln -sf /dev/null theirs/link
			chown -h 65534 theirs/link
			$tool theirs/link 2>log
			is "$? $(grep -c "it is a symbolic link: name the file itself" log)" "2 1" "root's $tool, another user's link to $what: refused, and why"
			ln -s theirs/link link
			$tool link 2>log
			is "$? $(grep -c "it is a symbolic link: name the file itself" log)" "2 1" "root's $tool, by a link of root's: refused, and why"
			rm link theirs/link
		done
		[ "$(cat victim)" = kept ] && [ ! -e new ]
		ok $? "root's $tool: where others' links lead to, all is as it was"
	done
	is "$(ls -A theirs)" "" "nothing is left among them"
else
	skip "others' links" "not root"
fi
done_testing
