#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# bundle-page.sh ESBUILD FILE: bundles the modules of the html page into FILE
#
# `make page` runs it with the esbuild that scripts/bundler names, and so does make check-formats,
# which compares the result with the page.js of the tree.
set -eu
mkdir -p "$(dirname "$2")"
out=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
esbuild=$(readlink -f "$1")
cd "$(dirname "$0")/../merge/write/page"
"$esbuild" src/main.js --bundle --format=iife --target=es2020 --charset=ascii --legal-comments=none \
	--log-level=warning --outfile="$out" --banner:js='/* SPDX-License-Identifier: MIT */
/* Bundled from merge/write/page/src/*.js by "make page"; do not edit. */
"use strict";'
