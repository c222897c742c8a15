#!/bin/sh
# SPDX-License-Identifier: MIT
# Under sudo the recorder makes, renames and removes only files that the calling user could make,
# rename and remove, whatever links and names other users have prepared. Only that user can read
# these files.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf
quiet_sanitizers
chmod 755 .
umask 022

user=65534			# the user who calls sudo
sudo() {			# sudo ARGS...: xpuload, called by that user through sudo
	SUDO_UID=$user SUDO_GID=$user SUDO_USER=nobody "$XPULOAD" --cpu-only "$@"
}

owner() {
	stat -c %u "$1"
}

mode() {
	stat -c %a "$1"
}

# Directories and files of the user's, of root's that all may read, and of root's own.
mkdir -m 755 home roots
mkdir -m 700 closed
mkdir -m 1777 sticky
chown $user home

# refused LOG STATUS WHAT PATTERN: xpuload failed with one line that tells why, and left no files
# behind
refused() {
	is "$2 $(wc -l <"$1")" "125 1" "$3: status, one line" || diag "$(cat "$1")"
	like "$(cat "$1")" "$4" "$3: what it says"
	is "$(find . -name '*.tmp')" "" "$3: nothing temporary is left"
}

# victim WHAT: root's file is unchanged
victim() {
	is "$(cat closed/victim) $(owner closed/victim) $(mode closed/victim)" "root's 0 600" \
		"$1: root's file is as it was"
}
echo "root's" >closed/victim
chmod 600 closed/victim

# ---- what is made, and for whom

for mask in 000 022 277; do
	rm -f home/a.data*
	(umask $mask; sudo -o home/a.data true 2>log)
	is $? 0 "umask $mask: exit status 0" || diag "$(cat log)"
	is "$(owner home/a.data)" $user "umask $mask: the recording is the user's"
	case $mask in
	277)	is "$(mode home/a.data)" 400 "umask $mask: and nobody else's to read" ;;
	*)	is "$(mode home/a.data)" 600 "umask $mask: and nobody else's to read" ;;
	esac
done
(umask 000; xpuload --cpu-only -o root.data true 2>log)
is "$(owner root.data) $(mode root.data)" "0 600" "root's own is root's, and nobody else's to read"
sudo -o home/a.data true 2>log
is "$(owner home/a.data.old)" $user "recorded again: the one before is kept"
is "$(ls -A home)" "a.data
a.data.old" "and there is nothing else"

# ---- links

for name in victim new; do
	for who in sudo xpuload; do
		rm -f home/link.data
		ln -s ../closed/$name home/link.data
		$who --cpu-only -o home/link.data true 2>log
		refused log $? "$who, a link to closed/$name" \
			"home/link.data.*: ($([ $who = sudo ] && echo Permission || echo it is a symbolic link))"
	done
done
ln -sf own home/link.data
sudo -o home/link.data true 2>log
refused log $? "a link of the user's own" 'home/link.data.*: it is a symbolic link: name the file itself'
victim "links"
[ ! -e closed/new ]
ok $? "and nothing is made through one"
ln -s ../closed home/dir
sudo -o home/dir/victim true 2>log
refused log $? "a link as a directory" 'as uid 65534.*: Permission denied: name with -o'
victim "a link as a directory"
ln -s ../closed/victim home/a.data.old2
rm -f home/a.data.old
mv home/a.data.old2 home/a.data.old
sudo -o home/a.data true 2>log
is $? 0 "a link in the way of .old: exit status 0"
[ -f home/a.data.old ] && [ ! -L home/a.data.old ]
ok $? "a link in the way of .old is replaced itself"
victim "a link in the way of .old"
rm home/a.data.old
mkdir home/a.data.old
was=$(cksum <home/a.data)
sudo -o home/a.data true 2>log
refused log $? "a directory in the way of .old" 'cannot rename the old home/a.data as .*: Is a directory'
is "$(cksum <home/a.data)" "$was" "and the old recording is as it was"
rmdir home/a.data.old

ln closed/victim home/hard.data
sudo -o home/hard.data true 2>log
is $? 0 "a hard link to root's file: exit status 0"
victim "a hard link to root's file"
: >closed/empty
ln closed/empty home/empty.data
sudo -o home/empty.data true 2>log
is "$? $(owner closed/empty) $(wc -c <closed/empty)" "0 0 0" "a hard link to an empty file of root's: as it was"
rm -f home/hard.data*

# ---- where the user may not

sudo -o roots/a.data true 2>log
refused log $? "root's directory" \
	'^xpuload: cannot write roots/a.data as uid 65534, who called xpuload: Permission denied: name '
is "$(ls -A roots)" "" "root's directory: nothing is there"
echo "root's" >sticky/a.data
sudo -o sticky/a.data true 2>log
refused log $? "root's file in a directory like /tmp" 'cannot rename the old sticky/a.data as uid 65534'
is "$(ls -A sticky) $(cat sticky/a.data)" "a.data root's" "root's file in a directory like /tmp: as it was"
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
is $? 0 "and what was read from it is a recording" || diag "$(cat mlog)"
[ -p home/fifo ]
ok $? "the FIFO is one still"
sudo -o /dev/stdout true 2>log | cat >read.data
xpumerge read.data >out 2>mlog
is $? 0 "/dev/stdout, a pipe: a recording" || diag "$(cat log mlog)"

# The file system reserves a part for root; the user fills the rest.
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
	ok $? "a disk that is full but for what root may use"
	sudo -o small/home/a.data true 2>log
	refused log $? "a disk that is full for the user" 'cannot write small/home/a.data as .*: No space left'
	is "$(ls -A small/home)" filler "a disk that is full for the user: nothing is left"
	xpuload --cpu-only -o small/root.data true 2>log
	is $? 0 "root's own may use what is root's" || diag "$(cat log)"
	umount small
else
	skip "a disk that is full for the user" "no mkfs.ext4, or no loop devices"
fi
rm -f small.img

# ---- who called

for id in x -1 4294967295 4294967296 18446744073709551616 '65534 '; do
	SUDO_UID=$id SUDO_GID=$user xpuload --cpu-only -o home/b.data true 2>log
	refused log $? "SUDO_UID='$id'" 'SUDO_UID and SUDO_GID do not name'
	SUDO_UID=$user SUDO_GID=$id xpuload --cpu-only -o home/b.data true 2>log
	refused log $? "SUDO_GID='$id'" 'SUDO_UID and SUDO_GID do not name'
done
SUDO_UID=$user SUDO_GID='' xpuload --cpu-only -o home/b.data true 2>log
refused log $? "no SUDO_GID" 'SUDO_UID and SUDO_GID do not name'
[ ! -e home/b.data ]
ok $? "nothing is made for nobody"
SUDO_UID='' SUDO_GID='' xpuload --cpu-only -o roots/b.data true 2>log
is "$? $(owner roots/b.data)" "0 0" "SUDO_UID emptied: root's own"

# ---- killed

"$XPULOAD" --cpu-only -o killed.data sleep 5 2>log &
pid=$!
n=0
until [ -s killed.data ] || [ $n -gt 500 ]; do
	n=$((n + 1))
	sleep 0.02
done
is "$(ls -A | grep -c '\.tmp$')" 0 "from its beginning, a recording has its name"
kill -9 $pid
wait $pid 2>/dev/null
xpumerge killed.data >out 2>mlog
is $? 1 "killed: the recording is read, and said to be cut"
like "$(cat mlog)" 'killed.data: not closed: cut' "killed: as far as it goes"

# ---- merged at once

if setpriv --reuid $user --regid $user --clear-groups test -x "$XPUMERGE"; then
	SUDO_UID=$user SUDO_GID=$user sh -c 'ln -s ../closed/victim "home/m.folded.$$.data" &&
		exec "$0" --cpu-only -o home/m.folded sleep 0.1' "$XPULOAD" 2>log
	is $? 0 "merged at once, a link in a name that may be guessed: exit status 0" || diag "$(cat log)"
	victim "merged at once"
	is "$(owner home/m.folded)" $user "merged at once: the result is the user's"
	rm -f home/m.folded.*.data
	is "$(echo home/m.*)" home/m.folded "merged at once: and all that is left"
	rm home/m.folded
	ln -s ../closed/victim home/m.folded
	sudo -o home/m.folded true 2>log
	is $? 125 "merged at once, through a link to root's file: exit status 125"
	victim "merged at once, through a link to root's file"
	like "$(cat log)" 'the recording stays in home/m.folded\.[0-9a-f]{8}\.data$' \
		"merged at once, and it cannot be: the recording stays"
	rm -f home/m.*
else
	skip "merged at once" "the build tree is not for others to read"
fi

# ---- what is kept

# A tmpfs that only the target sees has the program.
mkdir private
cat >inside.sh <<-'END'
	mount -t tmpfs none private && cp "$1" private/program && chmod "$2" private/program || exit 99
	private/program 600 user
END
keep() {			# keep MODE COMMAND...: records the program with that mode
	mode=$1
	shift
	"$@" unshare -m sh inside.sh "$XPU_BUILD/workload/cpu" "$mode" >out 2>log
}
tree() {			# prints modes and owners of all files
	(cd "$1" && find . -printf '%y %m %U\n' | sort -u)
}
if unshare -m true 2>/dev/null; then
	for mask in 000 022; do
		rm -rf home/k.data*
		(umask $mask; keep 755 sudo -o home/k.data)
		is $? 0 "umask $mask, a file to keep: exit status 0" || diag "$(cat log)"
		is "$(tree home/k.data.files)" "d 700 $user
f 600 $user" "umask $mask: what is kept is the user's, and nobody else's to read"
	done
	is "$(find home/k.data.files -name elf | wc -l)" 1 "it is the program"
	rm -rf home/k.data*
	keep 700 sudo -o home/k.data
	like "$(cat log)" 'could not be kept: Permission denied' "what the user may not read: is not kept"
	is "$(find home/k.data.files -type f 2>/dev/null)" "" "nor any of it"

	mkdir -m 777 theirs
	echo map >theirs/perf-1.map
	for who in sudo xpuload; do
		rm -rf home/k.data*
		ln -s ../theirs home/k.data.files
		keep 755 $who --cpu-only -o home/k.data
		is $? 0 "$who, FILE.files is a link: exit status 0" || diag "$(cat log)"
		like "$(cat log)" 'could not be kept: Not a directory' "$who: that is said"
		is "$(ls -A theirs)" perf-1.map "$who: where it leads to nothing is made, or removed"
		$who --cpu-only -o home/k.data true 2>log
		is "$? $(ls -A theirs)" "0 perf-1.map" "$who: nor when it is recorded again"
		like "$(cat log)" 'kept for the old recording stay in home/k.data.files: Not a dir' \
			"$who: a message says so"
		[ -L home/k.data.files ]
		ok $? "$who: the link is where it was"
		rm -rf home/k.data*
		mkdir home/k.data.old.files
		[ $who = xpuload ] || chown $user home/k.data.old.files
		ln -s ../../theirs home/k.data.old.files/.build-id
		echo old >home/k.data
		$who --cpu-only -o home/k.data true 2>log
		is "$? $(ls -A theirs)" "0 perf-1.map" "$who, FILE.old.files/.build-id is a link: not followed"
	done
	rm -rf home/k.data* theirs
	mkdir -m 777 home/k.data.files
	echo map >home/k.data.files/perf-1.map
	keep 755 sudo -o home/k.data
	like "$(cat log)" 'could not be kept: Operation not permitted' \
		"FILE.files is root's: a message says so"
	is "$(ls -A home/k.data.files)" perf-1.map "and is as it was"

	# The keeper does not remove names that it does not make.
	rm -rf home/k.data*
	keep 755 sudo -o home/k.data
	echo mine >home/k.data.files/.build-id/notes
	echo mine >home/k.data.files/perf-mine.map
	sudo -o home/k.data true 2>log
	is "$(find home/k.data.old.files -type f | wc -l)" 3 "recorded again: what was kept goes along"
	sudo -o home/k.data true 2>log
	is "$(cd home/k.data.old.files && find . -type f | sort | xargs)" "./.build-id/notes ./perf-mine.map" \
		"and again: it is removed, but for files of the user's"
else
	skip "what is kept" "unshare -m is not allowed"
fi
done_testing
