#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Names that a recording stores for its addresses: the output is identical with the files, without
# them, and with other files at their paths.
# timing
. "$XPU_SRC/test/lib/tap.sh"
need root bpf shim cc
quiet_sanitizers

cat >lib.c <<'END'
int (*hook)(int);
static inline __attribute__((always_inline)) int inner(int n)
{
	volatile int sum = 0;

	for (int i = 0; i < n; i++)
		sum += i * EXTRA;
	return sum;
}
static __attribute__((noinline)) int hidden(int n)
{
	return inner(n) + 1;
}
int exported(int n)
{
	return hidden(n) + inner(n / 2) + 1;
}
END
cat >burn.c <<'END'
#include <time.h>
int exported(int n);
int main(void)
{
	struct timespec t;
	int sum = 0;

	do {
		sum += exported(100000);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	} while (t.tv_nsec < 400000000 && !t.tv_sec);
	return sum == 1;
}
END

# build EXTRA: builds the program again; each EXTRA gives different build-ids
build() {
	"${CC:-cc}" -g -O1 -fPIC -shared -Wl,--build-id -DEXTRA="$1" -o libburn.so lib.c &&
		"${CC:-cc}" -g -O1 -Wl,--build-id -DEXTRA="$1" -o burn burn.c ./libburn.so
}

# all NAME DATA: writes DATA in all formats that need names, as NAME.*
all() {
	cp "$2" recording.data
	for output in folded json txt pb.gz html perf pftrace csv stacks; do
		xpumerge recording.data -o "$1.$output" >/dev/null 2>&1 || return 1
	done
	xpumerge recording.data --inline --srcline -o "$1.lines.folded" 2>/dev/null &&
		xpumerge recording.data --no-trim --inline -o "$1.whole.folded" 2>/dev/null
}

# same_all A B: checks that the files A.* and B.* are equal
same_all() {
	for file in "$1".*; do
		cmp "$file" "$2.${file#"$1".}" || return 1
	done
}

build 3 || skip_all "the compiler makes no such library"
"$XPULOAD" -q --cpu-only -F 999 --names=later -o a.data ./burn
is $? 0 "a program is recorded"
xpumerge a.data -o named.data 2>log
is "$?$(cat log)" 0 "xpumerge -o named.data adds the names"
xpumerge dump named.data >dump
like "$(cat dump)" ' NAMES .* "[^"]*/libburn.so"' "named.data has the library's names"
like "$(cat dump)" ' UNWOUND nr=[1-9]' "named.data has unwound stacks"
cmp -n "$(stat -c %s a.data)" a.data named.data
ok $? "named.data begins with an exact copy of the recording"
all files a.data
ok $? "with the files: all formats are written"
like "$(cat files.lines.folded)" 'exported \(lib.c:1[67]\);hidden \(lib.c:1[12]\);inner \(lib.c:[678]\) \(inlined\) ' \
	"the folded stacks have functions, lines and inlined functions"
all here named.data
same_all files here
ok $? "with the recorded names: each format has the same output as with the files"

mv libburn.so burn elsewhere/ 2>/dev/null || { mkdir elsewhere && mv libburn.so burn elsewhere/; }
all gone named.data
same_all files gone
ok $? "without the program and its library: the output of each format is unchanged"
xpumerge named.data -f folded >/dev/null 2>log
unlike "$(cat log)" 'no symbols' "with the names, no message reports missing symbols"
xpumerge a.data -f folded >out 2>/dev/null
unlike "$(cat out)" 'hidden' "without the files, a recording without names shows no function names"

xpumerge named.data -o again.data 2>log
is "$?$(cat log)" 0 "names can be added to a recording that has names"
cmp named.data again.data
ok $? "names that are added again change nothing"

build 5
all other named.data
same_all files other
ok $? "with other files at these paths: the output of each format is unchanged"
xpumerge named.data --symfs / -f folded -o out 2>/dev/null
like "$(cat out)" ';hidden' "--symfs with files that do not match: the recording's names are used"

# A reader of an older format version skips the names.
cp elsewhere/* .
xpumerge a.data -o - -f data >piped.data 2>log
cmp named.data piped.data
ok $? "-f data writes to a pipe"
head -c $(($(stat -c %s a.data) - 100)) a.data >cut.data
xpumerge cut.data -o cutnamed.data 2>log
xpumerge cut.data -f folded -o cut.folded 2>cut.log
status=$?
xpumerge cutnamed.data -f folded -o cutnamed.folded 2>cutnamed.log
is $? $status "a truncated recording has the same exit status after names are added"
sed 's/at offset [0-9]*//; s/cutnamed/cut/' cutnamed.log | grep 'cut' >want
sed 's/at offset [0-9]*//' cut.log | grep 'cut' | diff want - >&2
ok $? "a cut recording: adding names does not change the messages about the cut"
cmp cut.folded cutnamed.folded
ok $? "a cut recording: the output is the same with and without names"
cp a.data self.data
xpumerge self.data -o self.data 2>log
is "$?$(cat log)" 0 "the output can replace the recording that is read"
cmp self.data named.data
ok $? "a recording that is its own output gets all names"
xpumerge a.data named.data -o two.data 2>log
is "$?" 2 "two recordings are refused"
like "$(cat log)" 'adds names to one recording' \
	"two recordings: a message says why they are refused"

# ---- xpuload --names

# A copy of xpuload that runs ./fake/names in place of "xpumerge names MS FILE".
mkdir fake
cp "$XPULOAD" fake/xpuload
ln -s "$(dirname "$XPULOAD")"/libxpushim.so fake/
cat >fake/xpumerge <<END
#!/bin/sh
real=$XPUMERGE
. $PWD/fake/names
END
chmod +x fake/xpumerge
record() {	# record NAME OPTION...: makes NAME.data with this copy; log has its messages
	name=$1
	shift
	fake/xpuload --cpu-only -F 999 -o "$name.data" "$@" ./burn 2>log
}

"$XPULOAD" -q --cpu-only -F 999 --names=all -o end.data ./burn
is $? 0 "--names=all: exit status 0"
xpumerge end.data -o more.data
cmp end.data more.data
ok $? "--names=all: no name is missing"
all before end.data
mv libburn.so burn elsewhere/
all after end.data
same_all before after
ok $? "--names=all, without the files: the output of each format is unchanged"
cp elsewhere/* .
"$XPULOAD" -q --cpu-only --names=later -o later.data ./burn
xpumerge dump later.data | grep -c ' NAMES ' >out
is "$(cat out)" 0 "--names=later: the recording has no names"
# By default, xpuload looks up names for less than a second, which may be too short on a busy
# machine.
#
# soon: records ./burn, merges the recording without the program's files, and prints xpumerge's exit
# status and the number of stacks with function names
soon() {
	"$XPULOAD" -q --cpu-only -F 999 -o soon.data ./burn 2>log
	mv libburn.so burn elsewhere/
	xpumerge soon.data -f folded >out 2>log
	echo "$? $(grep -c ';exported;hidden ' out)"
	cp elsewhere/* .
}
attempt=0
until result=$(soon) && [ "$result" = "0 1" ] || [ $((attempt += 1)) -ge 10 ]; do
	:
done
unlike "$(xpumerge dump soon.data | grep -c ' NAMES ')" '^0$' "by default, the recording has names"
is "$result" "0 1" "by default, functions have names even if their files are missing"

# shellcheck disable=SC2016 # the script expands these
echo '"$real" "$@" >names.out; head -c -100 names.out; kill -9 $$' >fake/names
record killed --names=all
like "$(cat log)" 'xpumerge names, .* was ended by signal 9' \
	"a killed child: a message says that a signal ended the child"
xpumerge killed.data -f folded >out 2>log
is "$?$(grep -c 'cut\|damaged' log)" 00 "a killed child: the recording is whole"

# shellcheck disable=SC2016 # the script expands these
echo 'trap "kill \$!; exec \$real names 1 $3" INT; : >waits; sleep 60 & wait' >fake/names
setsid env --default-signal=INT fake/xpuload -q --cpu-only --names=all -o int.data ./burn 2>log &
pid=$!
i=0
until [ -e waits ] || [ $i -ge 600 ]; do
	sleep 0.1
	i=$((i + 1))
done
kill -INT $pid
wait $pid
is $? 0 "Ctrl-C ends the look-up, not the recording"
xpumerge int.data -f folded >out 2>log
is "$?$(grep -c 'cut\|damaged' log)" 00 "Ctrl-C during the look-up: the recording is whole"

# shellcheck disable=SC2016 # the script expands these
echo '"$real" names 0 "$3" >names.out; for i in $(seq 2000); do cat names.out; done' >fake/names
mkdir small
if mount -t tmpfs -o size=1m none small 2>/dev/null; then
	record small/full --names=all
	like "$(cat log)" 'full.data: the names of call paths cannot be added: No space left' \
		"a full disk: a message reports it"
	xpumerge small/full.data -f folded >out 2>log
	is "$?$(grep -c 'cut\|damaged' log)" 00 "a full disk: the recording is whole"
	xpumerge dump small/full.data | grep -c ' NAMES ' >out
	is "$(cat out)" 0 "a full disk: the recording has no names"
	umount small
else
	skip "a full disk" "tmpfs cannot be mounted"
fi

echo 'head -c 100000 /dev/urandom' >fake/names
record hostile --names=all
xpumerge hostile.data -f folded >out 2>log
is "$?$(grep -c 'cut\|damaged' log)" 00 \
	"a child that writes random bytes: the recording is unchanged"
done_testing
