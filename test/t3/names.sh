#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Names that a recording has for its own addresses: the result is the same, to the byte, with the
# files and without them, and where other files are at their paths.
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

# build EXTRA: makes the program again; each EXTRA gives other build-ids
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

# same_all A B: the files A.* and B.* are equal
same_all() {
	for file in "$1".*; do
		cmp "$file" "$2.${file#"$1".}" || return 1
	done
}

build 3 || skip_all "the compiler makes no such library"
"$XPULOAD" -q --cpu-only -F 999 -o a.data ./burn
is $? 0 "a program is recorded"
xpumerge a.data -o named.data 2>log
is "$?$(cat log)" 0 "xpumerge -o named.data adds the names"
xpumerge dump named.data >dump
like "$(cat dump)" ' NAMES .* "[^"]*/libburn.so"' "named.data has the library's names"
like "$(cat dump)" ' UNWOUND nr=[1-9]' "and the stacks"
cmp -n "$(stat -c %s a.data)" a.data named.data
ok $? "before them, it is the recording"
all files a.data
ok $? "all formats are written with the files"
like "$(cat files.lines.folded)" 'exported \(lib.c:1[67]\);hidden \(lib.c:1[12]\);inner \(lib.c:[678]\) \(inlined\) ' \
	"they have functions, lines and inlined functions"
all here named.data
same_all files here
ok $? "with the names: all formats are the same"

mv libburn.so burn elsewhere/ 2>/dev/null || { mkdir elsewhere && mv libburn.so burn elsewhere/; }
all gone named.data
same_all files gone
ok $? "without the files: all formats are the same"
xpumerge named.data -f folded >/dev/null 2>log
unlike "$(cat log)" 'no symbols' "no message asks for the files"
xpumerge a.data -f folded >out 2>/dev/null
unlike "$(cat out)" 'hidden' "the recording without names has none then"

xpumerge named.data -o again.data 2>log
is "$?$(cat log)" 0 "names are added again"
cmp named.data again.data
ok $? "nothing was missing, so nothing was added"

build 5
all other named.data
same_all files other
ok $? "with other files at these paths: all formats are the same"
xpumerge named.data --symfs / -f folded -o out 2>/dev/null
like "$(cat out)" ';hidden' "--symfs with files that do not match: the names of the recording"

# A reader of the format before it skips the names.
cp elsewhere/* .
xpumerge a.data -o - -f data >piped.data 2>log
cmp named.data piped.data
ok $? "-f data writes to a pipe"
head -c $(($(stat -c %s a.data) - 100)) a.data >cut.data
xpumerge cut.data -o cutnamed.data 2>log
xpumerge cut.data -f folded -o cut.folded 2>cut.log
status=$?
xpumerge cutnamed.data -f folded -o cutnamed.folded 2>cutnamed.log
is $? $status "a cut recording with names is still cut"
sed 's/at offset [0-9]*//; s/cutnamed/cut/' cutnamed.log | grep 'cut' >want
sed 's/at offset [0-9]*//' cut.log | grep 'cut' | diff want - >&2
ok $? "and says so"
cmp cut.folded cutnamed.folded
ok $? "its result is the same"
cp a.data self.data
xpumerge self.data -o self.data 2>log
is "$?$(cat log)" 0 "a recording replaces itself"
cmp self.data named.data
ok $? "with its names"
xpumerge a.data named.data -o two.data 2>log
is "$?" 2 "two recordings are refused"
like "$(cat log)" 'adds names to one recording' "with a message"
done_testing
