#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# xpumerge split is killed repeatedly while it reads. The next xpumerge continues from the journal,
# on the same pipe, at the right offset. Bytes in a recording that belong to no block are left out
# and counted.
. "$XPU_SRC/test/lib/tap.sh"

launches=300000
"$XPU_BUILD/gen_data" -o x.data --launches $launches --threads 8 --window 500 --blocks 65536

sum() {			# sum NAME: prints the number of launches in the files
	for part in $(find . -name "$1.*.data" | sort -V); do
		"$XPUMERGE" -i "$part" -f folded -o part.folded 2>part.log || [ $? = 1 ] ||
			echo "$part"
		awk '/^launches / { print $2; exit }' part.log
	done | awk '{ n += $1 } END { print n + 0 }'
}

# Writes the recording so slowly that its reader can be killed in the middle.
slowly() {
	python3 -c 'import sys, time
while data := sys.stdin.buffer.read(20000):
	sys.stdout.buffer.write(data)
	sys.stdout.buffer.flush()
	time.sleep(0.002)' <x.data
}

# reached PID BYTES: waits until the process has read that many bytes, or has ended
reached() {
	[ -e /proc/self/io ] || sleep 0.05
	while read -r _ nr_read <"/proc/$1/io" && [ "${nr_read:-$2}" -lt "$2" ]; do
		:
	done 2>/dev/null
}

mkfifo pipe
for turn in 1 2 3 4; do
	slowly >pipe &
	exec 8<pipe
	nr=0 status=137
	rm -f journal killed.*.data
	while [ $status = 137 ] && [ $((nr += 1)) -le 40 ]; do
		"$XPUMERGE" split --journal 9 -o killed.%n.data <&8 2>>split.log 9<>journal &
		pid=$!
		if [ $nr -le 12 ]; then
			reached $pid $((nr * 7 % 10 * 50000))
			kill -9 $pid 2>/dev/null
		fi
		wait $pid
		status=$?
	done
	exec 8<&-
	wait
	is $status 0 \
		"turn $turn: split reaches the end after $((nr - 1)) kills" ||
		diag "$(tail -n 5 split.log)"
	[ "$(sum killed)" -le $launches ]
	ok $? "no launch is in two files: $(sum killed) of $launches"
done
unlike "$(cat split.log)" 'not a whole block|damaged' \
	"after each kill, split continues at the right place in the pipe"
[ "$(grep -c 'continues after xpumerge split was killed' split.log)" -ge 8 ]
ok $? "after a kill, split continued $(grep -c 'continues after xpumerge split was killed' split.log) times"

python3 - <<'END'
data = open("x.data", "rb").read()
at = data.index(b"XPUBLOCK", data.index(b"XPUBLOCK") + 8) - 8
open("strange.data", "wb").write(data[:at] + b"\1" * 1000 + data[at:])
END
"$XPUMERGE" split -o strange.%n.data strange.data 2>split.log
is $? 1 "bytes between two blocks: exit status 1"
like "$(cat split.log)" ' 1000 bytes of the recording are not a whole block: left out' \
	"bytes between two blocks are counted"
is "$(sum strange)" $launches "bytes between two blocks: no launch is lost"
like "$("$XPUMERGE" dump strange.1.data)" 'LOST .*kind=DISK count=1000' \
	"bytes between two blocks: a record in the new file counts these bytes as lost"
done_testing
