#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# xpumerge diff --fail-over with several recordings on each side. Runs of one build with known noise
# raise no alarm, even if their numbers of steps differ. A kernel, launch overhead or wait that is
# slower by 3, 5 or 10 % is found and named. --json follows its schema. One recording on each side
# gives no verdict.
. "$XPU_SRC/test/lib/tap.sh"
need python3
runs=$XPU_BUILD/gen_runs

# make SIDE N FIRST-SEED [KEY=VALUE...]: makes the recordings SIDE1.data to SIDEN.data
make() {
	side=$1 n=$2 seed=$3
	shift 3
	for i in $(seq "$n"); do "$runs" "$side$i.data" seed=$((seed + i)) "$@" || return; done
}
gate() {		# gate [OPTION...]: compares a?.data with b?.data
	xpumerge diff "$@" --json a?.data vs b?.data >verdict.json 2>log
}

alarms=0
for pair in $(seq 50); do
	make a 4 $((pair * 100)) steps=60
	make b 4 $((pair * 100 + 50)) steps=$((30 + pair % 4 * 30))
	gate --fail-over 0%
	[ $? = 0 ] || alarms=$((alarms + 1))
done
diag "50 pairs of one build: $alarms alarms"
[ $alarms -le 2 ]
ok $? "50 comparisons of a build with itself, some with unequal numbers of steps: at most 2 alarms"

# planted KEY NAME: checks that the change is found, with its size and name
planted() {
	for percent in 3 5 10; do
		rm -f b?.data
		make b 8 $((7000 + percent)) "$1=$percent"
		gate --fail-over 0%
		is "$?" 1 "$1 slower by $percent %: exit status 1"
		line=$(grep -F "$2" log | grep '^  slower by ')
		like "$line" "^  slower by [0-9.]+ \\+- [0-9.]+ %, from .*: $3" \
			"$1 slower by $percent %: the change is named" || diag "$(cat log)"
		awk -v want="$percent" -v line="$line" 'BEGIN {
			split(line, w, " ")
			exit !(w[3] - 2 * w[5] <= want && want <= w[3] + 2 * w[5] && w[5] < want)
		}'
		ok $? "$1 slower by $percent %: the size is right (${line%%, from*})"
	done
}
rm -f ?*.data
make a 8 9000
planted kernel kernel_3 "device work: .*layer_3"
planted launch "a call of the API: cuLaunchKernel" "a call of the API"
planted wait "waiting for a GPU" "waiting for a GPU: .*run > cuStreamSynchronize"
is "$(sed -n 's/^verdict: //p' log)" "slower, with 99 % confidence, from 8 recordings of A and 8 of B" \
	"the verdict states its confidence"

rm -f b?.data
make b 8 8000 again=50 steps=400
gate --fail-over 5%
is "$? $(grep -c '^  launched 1.5 times as often: .*layer_3' log)" "1 1" \
	"with twice the steps: a kernel that is launched more often is found"
like "$(cat log)" "^  the sides differ in launches: CPU time" "the text says what is not judged"
gate --fail-over 60%
is $? 0 "--fail-over 60%: a smaller growth is no failure"
make b 8 8000 kernel=-5
gate --fail-over 0%
is "$? $(grep -c '^  faster by .*layer_3' log)" "0 1" "a kernel that is faster is no failure"
gate
is "$? $(python3 -c 'import json; print(json.load(open("verdict.json"))["verdict"])')" "0 faster" \
	"without --fail-over, the exit status is 0"

cat >schema.py <<'END'
"""schema.py SCHEMA FILE: checks the verdict by the schema"""
import json
import sys

schema, verdict = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
KINDS = {"string": str, "integer": int, "number": (int, float), "array": list, "boolean": bool,
         "null": type(None)}


def check(value, of, at):
    if "enum" in of:
        assert value in of["enum"], (at, value)
    elif of["type"] == "object":
        assert set(value) == set(of["required"]) == set(of["properties"]), (at, value)
        for key in value:
            check(value[key], of["properties"][key], at + [key])
    else:
        kinds = of["type"] if isinstance(of["type"], list) else [of["type"]]
        assert any(isinstance(value, KINDS[kind]) for kind in kinds), (at, value)
        for i, item in enumerate(value if isinstance(value, list) else []):
            check(item, of["items"], at + [i])


check(verdict, schema, [])
assert len(verdict["changes"]) >= 10 and len(verdict["launches_before"]) == 8, verdict
print("fine")
END
schema=$XPU_SRC/doc/schema/diff.schema.json
is "$(python3 schema.py "$schema" verdict.json 2>&1 | tail -n 1)" fine \
	"the output of --json follows doc/schema/diff.schema.json"

. "$XPU_SRC/test/lib/python_package.sh"
use_package
python "Result.verdict() gives the verdict" <<'END'
import xpuload

a, b = (xpuload.read(*("%s%d.data" % (side, i) for i in range(1, 9))) for side in "ab")
assert a.verdict(b)["verdict"] == "faster" and b.verdict(a, fail_over=2)["verdict"] == "slower"
assert b.verdict(a, fail_over=20)["verdict"] == "same"
try:
    a.verdict(xpuload.read("program.elf"))
except xpuload.XpuloadError as e:
    assert "program.elf" in str(e), e
else:
    raise AssertionError("no error")
END

xpumerge diff --json --fail-over 3% a1.data b1.data >verdict.json 2>log
is "$? $(sed -n 's/^verdict: \([a-z]*\).*/\1/p' log)" "0 unknown" "one run on each side: no verdict"
make b 1 8000 kernel=20
xpumerge diff --fail-over 10% a1.data b1.data >out 2>log
is "$? $(grep -c '^  +[0-9.]* %, noise unknown, .*layer_3' log)" "1 1" \
	"one run on each side: growth above the limit is a failure although the noise is unknown"
xpumerge diff a1.data a2.data vs b1.data b2.data -f folded >folded 2>log
is $? 0 "-f folded adds up the recordings of each side"
like "$(cat log)" "A is 2 recordings, the first is a1.data" \
	"a message names the recordings of side A"
for wrong in "a1.data a2.data b1.data" "a1.data vs" "a1.data"; do
	# shellcheck disable=SC2086 # words
	xpumerge diff $wrong >out 2>log
	is "$? $(grep -c 'xpumerge diff A... vs B...' log)" "2 1" "diff $wrong: refused"
done

# bisect.sh: the program is the generator; each commit has different arguments.
cat >xpuload <<'END'
#!/bin/sh
# Acts as "xpuload ... -o FILE -- COMMAND", with a different seed for each file.
while [ "$1" != -o ]; do shift; done
file=$2
shift 3
exec "$@" "$file" seed=$((5000 + $(basename "$file" .data | tr -dc 0-9))) $(cat commit)
END
chmod +x xpuload
rm -f ?*.data
make a 5 4000
for commit in kernel=0 kernel=9; do
	echo $commit >commit
	PATH=$PWD:$XPU_BUILD:$PATH sh "$XPU_SRC/scripts/bisect.sh" a?.data -- "$runs" >out 2>log
	echo "$commit $?"
done >statuses
echo broken >commit
PATH=$PWD:$XPU_BUILD:$PATH BUILD=false sh "$XPU_SRC/scripts/bisect.sh" a?.data -- "$runs" >out 2>log
echo "not built $?" >>statuses
is "$(tr '\n' ' ' <statuses)" "kernel=0 0 kernel=9 1 not built 125 " \
	"bisect.sh distinguishes good, bad and skipped commits" || diag "$(cat log)"
done_testing
