#!/bin/sh
# SPDX-License-Identifier: MIT
# 100 processes record themselves simultaneously without privileges, three times each: each launch
# is in its recording, nothing is lost, and no file is left. PYTHON_MANY is the number of processes.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/python_package.sh"
use_launches
cat >many.py <<'END'
import ctypes
import os
import xpuload

lib = ctypes.CDLL(os.environ["PY_LAUNCH"])
lib.py_launch_init()
for block in range(3):
    with xpuload.record() as prof:
        for _ in range(50):
            lib.py_launch(5 + block)
        assert not lib.cuCtxSynchronize()	# all device work ends inside the block
    account, names = prof.result.account, {row.name for row in prof.result.kernels}
    assert account["launches"] == 50 and not account["lost"], (account, prof.messages)
    assert names == {"site_%d" % (5 + block)}, (names, prof.messages)
END
nr=${PYTHON_MANY:-100}
for i in $(seq "$nr"); do
	bare python3 many.py >"$i.out" 2>"$i.err" &
	eval "pid_$i=\$!"
done
failed=0
for i in $(seq "$nr"); do
	eval "wait \$pid_$i" || {
		failed=$((failed + 1))
		diag "$(tail -n 1 "$i.err")"
	}
done
is $failed 0 "$nr processes at once: each recording has all launches of its process"
for _ in $(seq 100); do [ -n "$(ls tmp)" ] || break; sleep 0.1; done
is "$(ls tmp)" "" "no file stays in TMPDIR"
done_testing
