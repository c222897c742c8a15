#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# xpumerge and fold.sh write to the right file even if links or other users' files are in the way.
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
	is "$? $(stat -c %a $out)" "0 644" "$tool: a new file has mode 644" || diag "$(cat log)"
	(umask 077; $tool $out 2>log)
	is "$? $(stat -c %a $out)" "0 600" "$tool: with umask 077 a new file has mode 600"
	ln $out hard
	echo kept >hard
	$tool $out 2>log
	$is_good $out
	ok $? "$tool: a file with a second hard link is replaced"
	is "$(cat hard)" kept "$tool: the second hard link keeps the old contents"
	rm -f hard $out

	ln -s far/hop $out
	ln -s file far/hop
	$tool $out 2>log
	is $? 0 "$tool: the user's own symbolic links: exit status 0" || diag "$(cat log)"
	[ -L $out ] && [ -L far/hop ] && $is_good far/file
	ok $? "$tool: the missing target of the user's own links is created"
	echo old >far/file
	$tool $out 2>log
	[ -L $out ] && [ -L far/hop ] && $is_good far/file
	ok $? "$tool: the target of the user's own links is replaced"
	rm -f far/* $out
	ln -s loop loop
	$tool loop 2>log
	is "$? $(grep -c "it is a symbolic link: name the file itself" log)" "2 1" \
		"$tool: a link to itself is refused, and the message says why"
	rm -f loop

	mkfifo fifo
	cat fifo >got &
	$tool fifo 2>log
	status=$?
	wait
	is $status 0 "$tool: a FIFO: exit status 0" || diag "$(cat log)"
	[ -p fifo ] && $is_good got
	ok $? "$tool: a FIFO is written to, and stays a FIFO"
	rm -f fifo
	$tool /dev/stdout 2>log | cat >got
	$is_good got
	ok $? "$tool: writes to /dev/stdout, which is a pipe"
	ln -s /proc/self/fd/1 stdout		# like /dev/stdout; a failure must not replace it
	$tool stdout >got 2>log
	[ -L stdout ] && $is_good got
	ok $? "$tool: writes through a link to standard output, which is a file"
	rm -f stdout
	$tool /dev/fd/7 7>got 2>log
	$is_good got
	ok $? "$tool: /dev/fd/N of an open descriptor is written to"
	$tool /dev/null 2>log
	is $? 0 "$tool: writes to /dev/null"
	$tool no/such/directory 2>log
	is $? 2 "$tool: a path into a missing directory: exit status 2"
	$tool far 2>log
	is $? 2 "$tool: a directory is not replaced: exit status 2"
	is "$(find . -name '*.tmp*')" "" "$tool: no temporary file is left"
done

# Links with the names of temporary files that an attacker could guess from the process id.
echo kept >victim
PATH=$PWD/bin:$PATH XPUMERGE=$XPUMERGE sh -c 'ln -s victim "guess.svg.$$.tmp" &&
	exec sh "$0" --svg -o guess.svg xpu.data' "$XPU_SRC/scripts/fold.sh" 2>log
is "$(cat victim)" kept "fold.sh: a link with a guessed temporary name is not followed"
is_drawn guess.svg
ok $? "fold.sh: a link with a guessed temporary name does not prevent the output"

if [ "$(id -u)" = 0 ]; then
	mkdir -m 777 theirs
	for tool in fold merge; do
		for what in victim new /dev/null; do
			ln -s ../$what theirs/link
			[ $what != /dev/null ] || ln -sf /dev/null theirs/link
			chown -h 65534 theirs/link
			$tool theirs/link 2>log
			is "$? $(grep -c "it is a symbolic link: name the file itself" log)" "2 1" \
				"root's $tool: another user's link to $what is refused, and the message says why"
			ln -s theirs/link link
			$tool link 2>log
			is "$? $(grep -c "it is a symbolic link: name the file itself" log)" "2 1" \
				"root's $tool: root's link to another user's link is refused, and the message says why"
			rm link theirs/link
		done
		[ "$(cat victim)" = kept ] && [ ! -e new ]
		ok $? "root's $tool: the targets of other users' links are unchanged"
	done
	is "$(ls -A theirs)" "" "no file is left in the other user's directory"
else
	skip "other users' links" "not root"
fi
done_testing
