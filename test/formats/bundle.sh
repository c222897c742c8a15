#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The page's script in the tree is the one that its modules are bundled into.
. "$XPU_SRC/test/lib/tap.sh"

sh "$XPU_SRC/scripts/bundle-page.sh" "$XPU_ESBUILD" page.js 2>log
is "$?$(cat log)" 0 "bundled without a complaint"
cmp page.js "$XPU_SRC/merge/write/page/page.js"
ok $? "page.js is that of the tree: \"make page\" makes it anew"
done_testing
