#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The timeline in Chromium's Performance panel. To make a screenshot like the README's timeline.png,
# set RECORDING=demo.data, which is a recording of the demo with --api, and select a few ms with
# FROM= and TO= in seconds.
. "$XPU_SRC/test/lib/tap.sh"

if [ -n "${RECORDING:-}" ]; then
	xpumerge "$RECORDING" --from "${FROM:-0.2}" --to "${TO:-0.203}" -o demo.json 2>merge.log
else
	"$XPU_BUILD/gen_data" --launches 600 --paths 12 --threads 4 --streams 3 --memcpy-every 5 \
		--api -o demo.data
	xpumerge demo.data -o demo.json 2>merge.log
fi || { cat merge.log; echo "Bail out! cannot merge"; exit 1; }

exec node "$XPU_SRC/test/formats/devtools.js"
