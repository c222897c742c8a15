#!/bin/sh
# SPDX-License-Identifier: MIT
# The html page's script is up to date: page.sha256 has the sums of page.js and of all its modules.
. "$XPU_SRC/test/lib/tap.sh"
cd "$XPU_SRC/merge/write/page" || exit 1

is "$(sed 's/.*  //' page.sha256)" "$(LC_ALL=C ls page.js src/*.js)" "page.sha256 has each module"
is "$(sha256sum --quiet -c page.sha256 2>&1)" "" "each module is as it was when \"make page\" bundled them"
done_testing
