#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# xpumerge's command line: where output goes. Each failure has its own exit status and prints one
# line.
. "$XPU_SRC/test/lib/tap.sh"
gen="$XPU_BUILD/gen_data"

account() {		# account LOG: prints the numbers in the last line
	sed -n 's/^launches \(.*\)$/\1/p' "$1"
}

leftovers() {		# prints temporary files that were not removed
	ls -A . real | grep -cE '\.(folded|html|json|txt|gz|perf|pftrace)\.[0-9a-f]{16}\.tmp$'
}

"$gen" -o xpu.data --launches 2000 --threads 4 --memcpy-every 4

# ---- standard output, standard error and files

xpumerge >out 2>log
is $? 0 "no arguments: exit status 0"
like "$(cat out)" '^kernels: ' "no arguments: stdout has the summary of xpu.data"
is "$(account log)" "2000 matched 2000 unmatched 0 lost 0" \
	"no arguments: stderr has the account of launches"
xpumerge xpu.data -f folded >out 2>log
is $? 0 "folded on stdout: exit status 0"
is "$(grep -vc ' [0-9]*$' out)" 0 "folded on stdout: stdout has only folded stacks"
for pair in folded:folded html:html json:chrome txt:text pb.gz:pprof perf:perf pftrace:pftrace; do
	suffix=${pair%:*}
	xpumerge -i xpu.data -o "a.$suffix" >out 2>log
	is $? 0 "-o a.$suffix: exit status 0"
	is "$(cat out)" "" "-o a.$suffix: stdout is empty"
	xpumerge -i xpu.data -f "${pair#*:}" >b 2>log
	cmp -s "a.$suffix" b
	ok $? "-o a.$suffix: the file equals the output on stdout"
done
xpumerge -f folded -o - >out 2>log
cmp -s out a.folded
ok $? "-o - writes to stdout"
xpumerge -f folded -o a.other 2>log
is $? 0 "with -f, the output file may have any name"
if command -v python3 >/dev/null; then
	python3 -c 'import json; json.load(open("a.json"))'
	ok $? "a.json can be parsed by another program"
else
	skip "a.json can be parsed by another program" "no python3"
fi
umask 027
xpumerge -o mode.folded 2>log
is "$(stat -c %a mode.folded)" 640 "a file's mode is 666 without the umask's bits"
umask 022
mkdir real
ln -s real/target.folded link.folded
: >real/target.folded
xpumerge -o link.folded 2>log
[ -h link.folded ] && [ -s real/target.folded ]
ok $? "output to a symbolic link goes to the link's target"
is "$(leftovers)" 0 "no temporary file is left"

xpumerge --json >b 2>log
xpumerge --json -o tables.json 2>log
cmp -s tables.json b
ok $? "--json -o tables.json writes tables, not a timeline"

# ---- usage

xpumerge --help >out 2>log
is $? 0 "--help: exit status 0"
like "$(cat out)" '^usage: xpumerge' "--help prints the usage on stdout"
xpumerge --version >out 2>log
is $? 0 "--version: exit status 0"
like "$(cat out)" '^xpumerge [0-9]+\.' "--version prints the version"
for args in "--nonsense" "-f nonsense" "--unit parsecs" "-F 0" "-F x" "--limit -1" "-o a.gif" \
		"xpu.data xpu.data" "-i xpu.data xpu.data" "--unit count" "-f chrome --unit ms" \
		"--unit bytes" "-f pprof --unit ns" "-f pprof --by tid" "-f perf --unit ns" \
		"--by tid" \
		"-f folded --csv" "-f chrome --json" "--json --unit ms" "--table nonsense" \
		"-f perf --table kernels" "-f folded --by pid,pid" "-f folded --by pid,,x" \
		"-f folded --rank 1-" "-f folded --rank 4-2" "-f folded --rank 1--2" \
		"-f folded --pid -1" "-f folded --by ," "-f chrome --by pid" "--graph nonsense" \
		"-F 1000" \
		"-f folded -F 1000" "-f html --limit 3" "-s" "-t 5" "--nvtx-event-prefix a" \
		"--nvtx-color-scheme {}" "--gpu-only --cpu-only"; do
	# shellcheck disable=SC2086 # several arguments on purpose
	xpumerge $args >out 2>log
	is "$?$(cat out)" 2 "xpumerge $args: exit status 2, and stdout is empty"
	[ -s log ] && ! grep -q '^launches' log
	ok $? "xpumerge $args: the message says why"
done

# ---- input that cannot be used

refuse() {		# refuse FILE WORDS NAME
	echo kept >kept.folded
	xpumerge -i "$1" -o kept.folded >out 2>log
	is $? 2 "$3: exit status 2"
	is "$(wc -l <log)" 1 "$3: prints one line"
	like "$(cat log)" "^xpumerge: $1 .*$2" "$3: the line has the file's name and the reason"
	is "$(cat kept.folded)" kept "$3: an older result is unchanged"
}
: >empty.data
refuse empty.data 'is empty' "an empty file"
head -c 40 xpu.data >short.data
refuse short.data 'too short' "a header that is cut off"
echo 'not a recording, but long enough to have had a header of sixty-four bytes' >text.data
refuse text.data 'not a recording' "a text file"
echo '[{"ph":"X"}]' >trace.json
refuse trace.json 'not a recording .*: --gpu reads' "a trace in JSON"
printf 'SQLite format 3\000and more' >export.sqlite
refuse export.sqlite 'not a recording .*: --nsys reads' "an SQLite file"
{ head -c 12 xpu.data; printf '\003\000'; tail -c +15 xpu.data; } >newer.data
refuse newer.data 'version 3.[0-9]*, newer than the 2.x' "a newer version"
{ head -c 8 xpu.data; printf '\001\002\003\004'; tail -c +13 xpu.data; } >endian.data
refuse endian.data 'other endianness' "another endianness"
refuse . 'is a directory: name the recordings in it' "a directory"
refuse /dev/null 'not a regular file' "a device"
refuse missing.data 'No such file' "a missing file"
mkdir none && cd none || exit 1
xpumerge >out 2>log
is "$?$(cat out log)" \
	"2xpumerge: xpu.data cannot be opened: No such file or directory: xpuload makes one" \
	"without xpu.data, the message says that xpuload makes it"
cd ..

xpumerge -f folded -o - -i - <text.data >out 2>log
is "$?$(cat log)" "2xpumerge: standard input is not a recording of xpuload (wrong magic)" \
	"standard input that is not a recording is refused"

# ---- standard input

xpumerge -f folded -i - <xpu.data 2>log | cmp -s - a.folded
ok $? "standard input can be a file"
# shellcheck disable=SC2002 # input must be a pipe
cat xpu.data | xpumerge -f folded - 2>log | cmp -s - a.folded
ok $? "standard input can be a pipe"
: | xpumerge - >out 2>log
is "$?$(cat log)" "2xpumerge: standard input is empty: nothing was recorded" \
	"an empty pipe is refused"

# ---- fold.sh

fold() {
	XPUMERGE=$XPUMERGE sh "$XPU_SRC/scripts/fold.sh" "$@"
}
fold - <xpu.data 2>log | cmp -s - a.folded
ok $? "fold.sh reads standard input"
mkfifo pipe
for args in "" --svg; do
	if [ -n "$args" ] && ! fold --svg xpu.data >svg 2>log; then
		skip "fold.sh --svg writes into a pipe" "$(tail -n 1 log)"
		continue
	fi
	cat pipe >got &
	# shellcheck disable=SC2086 # there may be none
	fold $args -o pipe xpu.data 2>log
	status=$?
	wait
	is $status 0 "fold.sh $args writes into a pipe: exit status 0"
	# fold.sh draws random colors, so they are removed before the comparison.
	[ -p pipe ] && if [ -n "$args" ]; then
		[ "$(grep -c "<title>" got)" -gt 20 ]
	else
		cmp -s got a.folded
	fi
	ok $? "fold.sh $args: the FIFO gets the output and stays a FIFO"
done
fold missing.data >out 2>log
is "$?$(cat log)" "2xpumerge: missing.data cannot be opened: No such file or directory" \
	"fold.sh reports a missing file"

# ---- an incomplete recording

size=$(stat -c %s xpu.data)
head -c $((size - 20)) xpu.data >cut.data
xpumerge cut.data -f folded -o cut.folded 2>log
is $? 1 "cut inside a record: exit status 1"
like "$(cat log)" '^xpumerge: cut.data: cut at offset [0-9]+: 4 bytes ignored' \
	"cut inside a record: the message gives the offset"
is "$(account log)" "2000 matched 2000 unmatched 0 lost 1" \
	"cut inside a record: at least one record counts as lost"
is "$(grep -c '^xpumerge: cut.data' log)" 1 \
	"cut inside a record: only one message names the file"
like "$(cat log)" 'not closed properly' \
	"cut inside a record: a message says that the recording was not closed"
cmp -s cut.folded a.folded
ok $? "cut inside a record: the result has all records before the cut"
xpumerge diff xpu.data cut.data -f folded -o diff.folded 2>log
is $? 1 "cut inside a record: diff has exit status 1"
fold cut.data -o fold.folded 2>log
is $? 1 "cut inside a record: fold.sh has exit status 1"
cmp -s fold.folded a.folded
ok $? "cut inside a record: fold.sh shows all records before the cut"
# The END record is the last record and has 24 bytes: the cut is right before it.
head -c $((size - 24)) xpu.data >whole.data
xpumerge whole.data -f folded -o cut.folded 2>log
is $? 1 "cut between records: exit status 1"
like "$(cat log)" '^xpumerge: whole.data: not closed: cut, or still' \
	"cut between records: a message says that the recording is not closed"
is "$(grep -c '^xpumerge: whole.data' log)" 1 \
	"cut between records: only one message names the file"
cmp -s cut.folded a.folded
ok $? "cut between records: the result has all records before the cut"
head -c 64 xpu.data >header.data
xpumerge header.data -f folded -o cut.folded 2>log
is "$?$(wc -c <cut.folded)" 10 "a recording of only a header: exit status 1, and an empty result"
head -c $((size / 2)) xpu.data >half.data
xpumerge half.data -f folded --unit count -o half.folded 2>log
is $? 1 "cut in the middle: exit status 1"
n=$(sed -n 's/^launches \([0-9]*\) .*/\1/p' log)
[ "$n" -gt 100 ] && [ "$n" -lt 1900 ]
ok $? "cut in the middle: some launches are in the result: $n"

# All bytes after offset 20000 are noise.
{ head -c 20000 xpu.data; head -c 100000 /dev/zero | tr '\0' '\377'; } >damaged.data
xpumerge damaged.data -f folded -o damaged.folded 2>log
is $? 2 "damaged: exit status 2"
like "$(cat log)" '^xpumerge: damaged.data: damaged at offset [0-9]+' \
	"damaged: the message gives the offset"
[ -s damaged.folded ] && grep -q '^launches [1-9]' log
ok $? "damaged: records before the damage are in the result"

# ---- recordings of blocks

"$gen" -o blocks.data --launches 2000 --threads 4 --memcpy-every 4 --blocks 10000
xpumerge blocks.data -f folded -o blocks.folded 2>log
is "$?$(cat log)" "0$(xpumerge -f folded 2>&1 >/dev/null)" \
	"blocks: exit status and account are the same as without blocks"
cmp -s blocks.folded a.folded
ok $? "blocks: the result is the same as without blocks"
# shellcheck disable=SC2002 # input must be a pipe
cat blocks.data | xpumerge -f folded - 2>log | cmp -s - a.folded
ok $? "blocks: the result is the same through a pipe"
size=$(stat -c %s blocks.data)
cp blocks.data hit.data
head -c 400 /dev/zero | dd of=hit.data bs=1 seek=$((size / 2)) conv=notrunc status=none
xpumerge hit.data -f folded --unit count -o hit.folded 2>log
is $? 2 "blocks: 400 changed bytes in the middle: exit status 2"
like "$(cat log)" \
	'^xpumerge: hit.data: damaged at offset [0-9]+, [0-9]+ bytes: .*: [12] blocks? with [1-9][0-9]* launches? lost$' \
	"blocks: the message has the offset and the number of lost launches"
n=$(sed -n 's/^ *\([0-9]*\) launches that were in these blocks$/\1/p' log)
is "$(account log | cut -d' ' -f1)" $((2000 - n)) \
	"blocks: all launches outside of the lost blocks are in the result"
[ "$(account log | sed 's/.* lost //')" -ge "$n" ]
ok $? "blocks: the changed launches are counted as lost"
head -c $((size - 20)) blocks.data >cut.data
xpumerge cut.data -f folded -o cut.folded 2>log
is $? 1 "blocks, without the last 20 bytes: exit status 1"
like "$(cat log)" '^xpumerge: cut.data: cut at offset [0-9]+: [0-9]+ bytes ignored' \
	"a file that is cut inside a block: the message gives the offset"
head -c 30 blocks.data >short.data
refuse short.data 'too short' "blocks: a header that is cut off"

# A recording of version 1, whose format had no blocks.
xpumerge "$XPU_SRC/test/t1/golden/version1.xpu" -f folded --unit ns -o old.folded 2>log
is $? 0 "version 1: exit status 0"
diff "$XPU_SRC/test/t1/golden/version1.folded" old.folded >diff.log
ok $? "version 1: the result is as expected" || diag "$(cat diff.log)"
is "$(account log)" "120 matched 120 unmatched 0 lost 0" "version 1: all launches are matched"

# ---- output that cannot be written

for out in /dev/full no/such/directory/a.folded real; do
	xpumerge -f folded -o $out 2>log
	is $? 2 "-o $out: exit status 2"
	is "$(wc -l <log)" 1 "-o $out: prints one line"
	like "$(cat log)" "^xpumerge: $out: cannot be written: " "-o $out: the message says why"
done
for format in text folded chrome pprof perf; do
	xpumerge -f $format >/dev/full 2>log
	is $? 2 "$format on a full stdout: exit status 2"
	like "$(cat log)" '^xpumerge: standard output: cannot be written: No space left' \
		"$format on a full stdout: a message says that it is full"
done
xpumerge --version >/dev/full 2>log
is $? 2 "--version on a full stdout: exit status 2"
mkdir small
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=64k tmpfs small 2>/dev/null; then
	echo kept >small/a.json
	xpumerge -o small/a.json 2>log
	is $? 2 "disk full: exit status 2"
	like "$(cat log)" 'No space left on device' \
		"disk full: a message says that the disk is full"
	is "$(cat small/a.json)" kept "disk full: the older result is unchanged"
	is "$(ls small)" a.json "disk full: no partial file is left"
	umount small
else
	skip "disk full" "not root, or no tmpfs"
fi
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 .
	mkdir -m 555 readonly
	setpriv --reuid 65534 --regid 65534 --clear-groups "$XPUMERGE" -i "$PWD/xpu.data" \
		-f folded -o readonly/a.folded 2>log
	is $? 2 "another user's directory: exit status 2"
	like "$(cat log)" 'readonly/a.folded: cannot be written: Permission denied' \
		"another user's directory: a message says that permission is denied"
	chmod 600 xpu.data
	setpriv --reuid 65534 --regid 65534 --clear-groups "$XPUMERGE" -i "$PWD/xpu.data" 2>log
	is $? 2 "another user's recording: exit status 2"
	like "$(cat log)" 'cannot be opened: Permission denied' \
		"another user's recording: a message says that permission is denied"
	chmod 644 xpu.data
	cp xpu.data theirs.data
	chown 65534 theirs.data
	xpumerge -i theirs.data -o a.folded 2>log
	is $? 0 "as root, another user's recording: exit status 0"
	is "$(grep -c 'belongs to uid 65534: root can read' log)" 1 \
		"as root, another user's recording: one warning is printed"
else
	skip "other users' files" "not root, or no setpriv"
fi

# ---- interrupted

"$gen" -o big.data --launches 300000
echo kept >big.json
"$XPUMERGE" big.data -o big.json 2>log &
pid=$!
n=0
until ls big.json.*.tmp >/dev/null 2>&1 || ls -l /proc/$pid/fd | grep -q 'deleted' ||
	[ $n -gt 2000 ]; do
	n=$((n + 1))
	sleep 0.005
done
kill -TERM $pid
wait $pid 2>/dev/null
is $? 143 "SIGTERM during writing: xpumerge dies of the signal"
is "$(cat big.json)" kept "SIGTERM during writing: the older result is unchanged"
is "$(leftovers)" 0 "SIGTERM during writing: no temporary file is left"
rm -f big.json

# ---- a recording that becomes shorter while it is read

cat >shorten.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <unistd.h>
/* Called when the recording has been mapped. */
int madvise(void *addr, size_t bytes, int advice)
{
	int (*next)(void *, size_t, int) = (int (*)(void *, size_t, int))dlsym(RTLD_NEXT, "madvise");

	if (truncate("short.data", 4096))
		_exit(99);
	return next(addr, bytes, advice);
}
END
if [ -z "${XPU_SAN:-}" ] && ${CC:-cc} -shared -fPIC -o shorten.so shorten.c -ldl 2>log; then
	cp big.data short.data
	echo kept >short.folded
	LD_PRELOAD=$PWD/shorten.so "$XPUMERGE" -i short.data -o short.folded >out 2>log
	is "$?$(cat out)" 2 "a recording that becomes shorter: exit status 2"
	like "$(cat log)" \
		'^xpumerge: a file became shorter while it was being read: nothing written' \
		"a recording that becomes shorter: a message says that nothing is written"
	is "$(cat short.folded)$(leftovers)" kept0 \
		"a recording that becomes shorter: the older result is unchanged"
else
	skip "a recording that becomes shorter" "no library can be preloaded: $(head -n 1 log)"
fi

# ---- several recordings

"$gen" -o rank0.data --launches 1000 --threads 2 --procs 2
"$gen" -o rank1.data --launches 2000 --threads 2 --procs 2 --seed 7
xpumerge rank0.data rank1.data -f folded --unit count -o both.folded 2>log
is $? 0 "two recordings: exit status 0"
is "$(account log)" "3000 matched 3000 unmatched 0 lost 0" "two recordings: one account covers both"
unlike "$(cat log)" '^of these' "two recordings: no separate accounts are printed"
xpumerge rank0.data -f folded --unit count -o a.folded 2>/dev/null
xpumerge -i rank1.data -f folded --unit count -o b.folded 2>/dev/null
awk '{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n } END { for (k in sum) print k, sum[k] }' \
	a.folded b.folded | LC_ALL=C sort >sum.folded
LC_ALL=C sort both.folded | cmp -s - sum.folded
ok $? "two recordings: the result is the sum of both"
xpumerge rank0.data rank1.data -o both.json 2>/dev/null
is "$(grep -c '"process_name".*(pid ' both.json)" 4 "two recordings: each process has a track"
"$gen" -o rank2.data --launches 1000 --lose-record 10
xpumerge rank0.data -i rank2.data -f folded -o a.folded 2>log
is "$(sed -n 's/^in \(.*\):$/\1/p' log)" rank2.data \
	"two recordings: the account names the recording with losses"
like "$(cat log)" '^  launches 1000 matched 900 unmatched 100 lost 100' \
	"two recordings: the account shows the losses of the named recording"
ln rank0.data again.data
xpumerge rank0.data again.data -o a.folded 2>log
is $? 2 "one recording twice: exit status 2"
like "$(cat log)" 'again.data: the same recording as rank0.data' \
	"one recording twice: a message says that the recordings are the same"
xpumerge rank0.data text.data -f folded -o a.folded 2>log
is $? 2 "a recording and a file that is no recording: exit status 2"

# ---- bytes

"$gen" -o bytes.data --launches 1000 --memcpy-every 3
xpumerge bytes.data -f folded --unit bytes -o a.folded 2>log
is $? 0 "--unit bytes: exit status 0"
copies=$(xpumerge bytes.data 2>/dev/null | sed -n 's/^memory operations: \([0-9]*\) copies.*/\1/p')
is "$(awk '{ n += $NF } END { print n }' a.folded)" $((copies * 4096)) \
	"--unit bytes: the result has the bytes of all copies"
is "$(grep -c 'Kernel.* 0$' a.folded)" 6 "--unit bytes: kernels have 0 bytes"
like "$(cat log)" '^xpumerge: 6 lines of kernels show 0' \
	"--unit bytes: a message says that kernels show 0"

# ---- loss

"$gen" -o pending.data --launches 1000 --lose-record 10
xpumerge pending.data -f folded --unit count -o a.folded 2>log
is $? 0 "lost records: exit status 0"
is "$(account log)" "1000 matched 900 unmatched 100 lost 100" \
	"lost records: the account counts the losses"
like "$(cat log)" '^ +100 launches without device work' \
	"lost records: launches without device work are counted"
like "$(cat log)" '^ +100 device records that the shim sent are not' \
	"lost records: missing device records are counted"
is "$(sed -n 's/.*;\[GPU_Launch_Pending\] //p' a.folded | awk '{ n += $1 } END { print n }')" 100 \
	"lost records: the output has lines for pending launches"
xpumerge --strict pending.data -o a.folded 2>log
is $? 1 "lost records: --strict fails"
"$gen" -o orphans.data --launches 1000 --lose-launch 10
xpumerge orphans.data -f folded --unit count -o a.folded 2>log
is "$(account log)" "900 matched 900 unmatched 100 lost 100" \
	"lost launches: the account counts the losses"
like "$(cat log)" '^ +100 device records whose launch is not' \
	"lost launches: records without a launch are counted"
is "$(sed -n 's/.*;\[no launch\];.* //p' a.folded | awk '{ n += $1 } END { print n }')" 100 \
	"lost launches: the output has lines for records without a launch"
"$gen" -o open.data --no-end
xpumerge --strict open.data -o a.folded 2>log
is $? 1 "a recording that was not closed: --strict fails"

done_testing
