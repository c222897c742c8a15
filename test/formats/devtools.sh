#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The timeline in Chromium's Performance panel. Its screenshot, timeline.png, is the README's; for
# another recording than one of the simulated device: RECORDING=FILE, FROM= and TO= in seconds.
. "$XPU_SRC/test/lib/tap.sh"

if [ -n "${RECORDING:-}" ]; then
	cp "$RECORDING" demo.data
else
	need root bpf shim
	use_sim
	xpuload -q --api -o demo.data "$XPU_BUILD/workload/demo" -s 0.5 >/dev/null 2>load.log ||
		{ cat load.log; echo "Bail out! cannot record"; exit 1; }
fi
xpumerge demo.data --from "${FROM:-0.2}" --to "${TO:-0.203}" -o demo.json 2>merge.log ||
	{ cat merge.log; echo "Bail out! cannot merge"; exit 1; }

exec node "$XPU_SRC/test/formats/devtools.js"
