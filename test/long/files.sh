#!/bin/sh
# SPDX-License-Identifier: MIT
# Under sudo, the recorder makes, renames and removes only files that the calling user could make,
# rename and remove, whatever links and names other users have prepared. Only the calling user can
# read these files.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
quiet_sanitizers
chmod 755 .
umask 022

user=65534			# the user who calls sudo
sudo() {			# sudo ARGS...: runs xpuload as if that user called it with sudo
	SUDO_UID=$user SUDO_GID=$user SUDO_USER=nobody "$XPULOAD" --cpu-only "$@"
}

owner() {
	stat -c %u "$1"
}

mode() {
	stat -c %a "$1"
}

# home belongs to the user, the other directories to root. All may read roots, only root may read
# closed, and all may write into sticky.
mkdir -m 755 home roots
mkdir -m 700 closed
mkdir -m 1777 sticky
chown $user home

# refused LOG STATUS WHAT PATTERN: checks that xpuload failed, printed one line with the reason, and
# left no files
refused() {
	is "$2 $(wc -l <"$1")" "125 1" "$3: exit status 125, and one line on stderr" ||
		diag "$(cat "$1")"
	like "$(cat "$1")" "$4" "$3: the message says why"
	is "$(find . -name '*.tmp')" "" "$3: no temporary file is left"
}

# victim WHAT: checks that root's file is unchanged
victim() {
	is "$(cat closed/victim) $(owner closed/victim) $(mode closed/victim)" "root's 0 600" \
		"$1: root's file is unchanged"
}
echo "root's" >closed/victim
chmod 600 closed/victim

# ---- files that are made, and their owners

for mask in 000 022 277; do
	rm -f home/a.data*
	(umask $mask; sudo -o home/a.data true 2>log)
	is $? 0 "umask $mask: exit status 0" || diag "$(cat log)"
	is "$(owner home/a.data)" $user "umask $mask: the recording belongs to the user"
	case $mask in
	277)	is "$(mode home/a.data)" 400 "umask $mask: and nobody else's to read" ;;
	*)	is "$(mode home/a.data)" 600 "umask $mask: and nobody else's to read" ;;
	esac
done
(umask 000; xpuload --cpu-only -o root.data true 2>log)
is "$(owner root.data) $(mode root.data)" "0 600" \
	"root's own recording belongs to root, and nobody else may read it"
sudo -o home/a.data true 2>log
is "$(owner home/a.data.old)" $user "recorded again: the earlier recording is kept"
is "$(ls -A home)" "a.data
a.data.old" "recorded again: there are no other files"

# ---- links

for name in victim new; do
	for who in sudo xpuload; do
		rm -f home/link.data
		ln -s ../closed/$name home/link.data
		$who --cpu-only -o home/link.data true 2>log
		refused log $? "$who, a link to closed/$name is refused" \
			"home/link.data.*: ($([ $who = sudo ] && echo Permission ||
			echo it is a symbolic link))"
	done
done
ln -sf own home/link.data
sudo -o home/link.data true 2>log
refused log $? \
	"a link of the user's own is refused" \
	'home/link.data.*: it is a symbolic link: name the file itself'
victim "links"
[ ! -e closed/new ]
ok $? "no file is made through a link"
ln -s ../closed home/dir
sudo -o home/dir/victim true 2>log
refused log $? "a link in place of a directory is refused" \
	'as uid 65534.*: Permission denied: with -o, name'
victim "a link as a directory"
ln -s ../closed/victim home/a.data.old2
rm -f home/a.data.old
mv home/a.data.old2 home/a.data.old
sudo -o home/a.data true 2>log
is $? 0 "a link in the way of .old: exit status 0"
[ -f home/a.data.old ] && [ ! -L home/a.data.old ]
ok $? "a link in the way of .old is replaced, not followed"
victim "a link in the way of .old"
rm home/a.data.old
mkdir home/a.data.old
was=$(cksum <home/a.data)
sudo -o home/a.data true 2>log
refused log $? \
	"a directory in the way of .old is refused" \
	'cannot rename the old home/a.data as .*: Is a directory'
is "$(cksum <home/a.data)" "$was" "a directory in the way of .old: the old recording is unchanged"
rmdir home/a.data.old

ln closed/victim home/hard.data
sudo -o home/hard.data true 2>log
is $? 0 "a hard link to root's file: exit status 0"
victim "a hard link to root's file"
: >closed/empty
ln closed/empty home/empty.data
sudo -o home/empty.data true 2>log
is "$? $(owner closed/empty) $(wc -c <closed/empty)" "0 0 0" \
	"a hard link to an empty file of root: the file is unchanged"
rm -f home/hard.data*

# ---- places in which the user may not write

sudo -o roots/a.data true 2>log
refused log $? "root's directory" \
	'^xpuload: cannot write roots/a.data as uid 65534, who called xpuload: Permission denied: with -o, name '
is "$(ls -A roots)" "" "root's directory: no file is made in it"
echo "root's" >sticky/a.data
sudo -o sticky/a.data true 2>log
refused log $? "root's file in a directory like /tmp" \
	'cannot rename the old sticky/a.data as uid 65534'
is "$(ls -A sticky) $(cat sticky/a.data)" "a.data root's" \
	"root's file in a directory like /tmp: the file is unchanged"
mkfifo -m 600 roots/fifo
sudo -o roots/fifo true 2>log
refused log $? "root's FIFO" 'cannot write roots/fifo as uid 65534.*: Permission denied'
mkfifo -m 600 home/fifo
chown $user home/fifo
cat home/fifo >read.data &
sudo -o home/fifo true 2>log
is $? 0 "the user's FIFO: exit status 0" || diag "$(cat log)"
wait
xpumerge read.data >out 2>mlog
is $? 0 "the user's FIFO: its reader gets a recording" || diag "$(cat mlog)"
[ -p home/fifo ]
ok $? "the user's FIFO is still a FIFO"
sudo -o /dev/stdout true 2>log | cat >read.data
xpumerge read.data >out 2>mlog
is $? 0 "/dev/stdout, a pipe: its reader gets a recording" || diag "$(cat log mlog)"

# The file system reserves space for root, and the user fills the rest.
mkdir small
if truncate -s 8M small.img && mkfs.ext4 -q -m 50 small.img 2>/dev/null &&
		mount -o loop small.img small 2>/dev/null; then
	mkdir small/home
	chown $user small/home
	for try in 1 2 3 4; do
		setpriv --reuid $user --regid $user --clear-groups dd if=/dev/zero bs=1k \
			of=small/home/filler oflag=append conv=notrunc 2>/dev/null
		sync -f small
	done
	[ "$(stat -fc %f small)" -gt 100 ] && [ "$(stat -fc %a small)" = 0 ]
	ok $? "a disk is full except for the part that root may use"
	sudo -o small/home/a.data true 2>log
	refused log $? "a disk that is full for the user" \
		'cannot write small/home/a.data as .*: No space left'
	is "$(ls -A small/home)" filler "a disk that is full for the user: no file is left"
	xpuload --cpu-only -o small/root.data true 2>log
	is $? 0 "root's own recording uses root's part of the disk" || diag "$(cat log)"
	umount small
else
	skip "a disk that is full for the user" "no mkfs.ext4, or no loop devices"
fi
rm -f small.img

# ---- the caller's identity

for id in x -1 4294967295 4294967296 18446744073709551616 '65534 '; do
	SUDO_UID=$id SUDO_GID=$user xpuload --cpu-only -o home/b.data true 2>log
	refused log $? "SUDO_UID='$id'" 'SUDO_UID and SUDO_GID do not name'
	SUDO_UID=$user SUDO_GID=$id xpuload --cpu-only -o home/b.data true 2>log
	refused log $? "SUDO_GID='$id'" 'SUDO_UID and SUDO_GID do not name'
done
SUDO_UID=$user SUDO_GID='' xpuload --cpu-only -o home/b.data true 2>log
refused log $? "no SUDO_GID" 'SUDO_UID and SUDO_GID do not name'
[ ! -e home/b.data ]
ok $? "an unknown user: no recording is made"
SUDO_UID='' SUDO_GID='' xpuload --cpu-only -o roots/b.data true 2>log
is "$? $(owner roots/b.data)" "0 0" "without SUDO_UID the recording belongs to root"

# ---- killed

"$XPULOAD" --cpu-only -o killed.data sleep 60 2>log &
pid=$!
wait_for test -s killed.data
is "$(ls -A | grep -c '\.tmp$')" 0 "a recording has its final name from the start"
kill -9 $pid
wait $pid 2>/dev/null
xpumerge killed.data >out 2>mlog
is $? 1 "killed: the recording is read, and reported as cut"
like "$(cat mlog)" 'killed.data: not closed: cut' "killed: the recording is read up to its end"

# ---- merged at once

if setpriv --reuid $user --regid $user --clear-groups test -x "$XPUMERGE"; then
	SUDO_UID=$user SUDO_GID=$user sh -c 'ln -s ../closed/victim "home/m.folded.$$.data" &&
		exec "$0" --cpu-only -o home/m.folded sleep 0.1' "$XPULOAD" 2>log
	is $? 0 "merged at once, with a link at a name that can be guessed: exit status 0" ||
		diag "$(cat log)"
	victim "merged at once"
	is "$(owner home/m.folded)" $user "merged at once: the result belongs to the user"
	rm -f home/m.folded.*.data
	is "$(echo home/m.*)" home/m.folded "merged at once: only the result is left"
	rm home/m.folded
	ln -s ../closed/victim home/m.folded
	sudo -o home/m.folded true 2>log
	is $? 125 "merged at once, through a link to root's file: exit status 125"
	victim "merged at once, through a link to root's file"
	like "$(cat log)" 'the recording stays in home/m.folded\.[0-9a-f]{8}\.data$' \
		"merged at once, and the merge fails: the recording stays"
	rm -f home/m.*
else
	skip "merged at once" "the build tree is not for others to read"
fi

# ---- kept files

# Only the target sees this tmpfs, which has the program.
mkdir private
cat >inside.sh <<-'END'
	mount -t tmpfs none private && cp "$1" private/program && chmod "$2" private/program || exit 99
	private/program 600 user
END
keep() {			# keep MODE COMMAND...: records the program with mode MODE
	mode=$1
	shift
	"$@" unshare -m sh inside.sh "$XPU_BUILD/workload/cpu" "$mode" >out 2>log
}
tree() {			# tree: prints modes and owners of all files
	(cd "$1" && find . -printf '%y %m %U\n' | sort -u)
}
if unshare -m true 2>/dev/null; then
	for mask in 000 022; do
		rm -rf home/k.data*
		(umask $mask; keep 755 sudo -o home/k.data)
		is $? 0 "umask $mask, a file to keep: exit status 0" || diag "$(cat log)"
		is "$(tree home/k.data.files)" "d 700 $user
f 600 $user" "umask $mask: kept files belong to the user, and nobody else may read them"
	done
	is "$(find home/k.data.files -name elf | wc -l)" 1 \
		"umask $mask: the kept file is the program"
	rm -rf home/k.data*
	keep 700 sudo -o home/k.data
	like "$(cat log)" 'cannot copy [0-9]+ mapped files? that .*: Permission denied' \
		"a file that the user may not read is not kept"
	is "$(find home/k.data.files -type f 2>/dev/null)" "" \
		"no part of a file that the user may not read is kept"

	mkdir -m 777 theirs
	echo map >theirs/perf-1.map
	for who in sudo xpuload; do
		rm -rf home/k.data*
		ln -s ../theirs home/k.data.files
		keep 755 $who --cpu-only -o home/k.data
		is $? 0 "$who, FILE.files is a link: exit status 0" || diag "$(cat log)"
		like "$(cat log)" 'cannot copy [0-9]+ mapped files? that .*: Not a directory' \
			"$who, FILE.files is a link: a message says that files are not kept"
		is "$(ls -A theirs)" perf-1.map \
			"$who, FILE.files is a link: nothing is made or removed in its target"
		$who --cpu-only -o home/k.data true 2>log
		is "$? $(ls -A theirs)" "0 perf-1.map" \
			"$who, FILE.files is a link: a second recording changes nothing in its target"
		like "$(cat log)" \
			'kept for the old recording stay in home/k.data.files: Not a dir' \
			"$who, FILE.files is a link: a message says that old kept files stay"
		[ -L home/k.data.files ]
		ok $? "$who, FILE.files is a link: the link is still there"
		rm -rf home/k.data*
		mkdir home/k.data.old.files
		[ $who = xpuload ] || chown $user home/k.data.old.files
		ln -s ../../theirs home/k.data.old.files/.build-id
		echo old >home/k.data
		$who --cpu-only -o home/k.data true 2>log
		is "$? $(ls -A theirs)" "0 perf-1.map" \
			"$who, FILE.old.files/.build-id is a link: the link is not followed"
	done
	rm -rf home/k.data* theirs
	mkdir -m 777 home/k.data.files
	echo map >home/k.data.files/perf-1.map
	keep 755 sudo -o home/k.data
	like "$(cat log)" 'cannot copy [0-9]+ mapped files? that .*: Operation not permitted' \
		"FILE.files belongs to root: a message says that files are not kept"
	is "$(ls -A home/k.data.files)" perf-1.map \
		"FILE.files belongs to root: the directory is unchanged"

	# xpuload removes kept files only if they have names that it could have made.
	rm -rf home/k.data*
	keep 755 sudo -o home/k.data
	echo mine >home/k.data.files/.build-id/notes
	echo mine >home/k.data.files/perf-mine.map
	sudo -o home/k.data true 2>log
	is "$(find home/k.data.old.files -type f | wc -l)" 3 \
		"recorded again: kept files move with the old recording"
	sudo -o home/k.data true 2>log
	is "$(cd home/k.data.old.files && find . -type f | sort | xargs)" \
		"./.build-id/notes ./perf-mine.map" \
		"recorded a third time: kept files are removed, except the user's own files"
else
	skip "what is kept" "unshare -m is not allowed"
fi
done_testing
