#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# bundle.sh - make d3-flame-graph.min.js anew, after package.json names other versions
#
# Needs npm and network; building xpuload needs neither. The notices of all that is in the bundle go
# to its top, and with it into every page.

set -eu
cd "$(dirname "$0")"
out=$PWD
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

cp package.json entry.js "$tmp"
[ ! -e package-lock.json ] || cp package-lock.json "$tmp"
cd "$tmp"
npm install --no-audit --no-fund --ignore-scripts --omit-lockfile-registry-resolved >&2
node_modules/.bin/esbuild entry.js --bundle --minify --format=iife --global-name=d3fg \
	--target=es2020 --charset=ascii --legal-comments=none --loader:.css=empty --outfile=code.js

# Names and versions of what esbuild took in; packages with the same notice share it.
notices() {
	for dir in node_modules/d3-* node_modules/internmap; do
		name=$(basename "$dir")
		version=$(sed -n 's/^ *"version": "\(.*\)",*$/\1/p' "$dir/package.json" | head -n 1)
		if [ "$name" = d3-flame-graph ]; then
			cat <<-END
				$name $version
				Licensed under the Apache License, Version 2.0; you may obtain a copy of it at
				http://www.apache.org/licenses/LICENSE-2.0. Distributed on an "AS IS" BASIS,
				WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.

			END
			continue
		fi
		sum=$(cksum <"$dir/LICENSE" | cut -d ' ' -f 1)
		echo "$name $version" >>"names.$sum"
		cp "$dir/LICENSE" "text.$sum"
	done
	for names in names.*; do
		paste -s -d , "$names" | sed 's/,/, /g' | fold -s -w 96
		cat "text.${names#names.}"
		echo
	done
}

{
	echo '/*!'
	notices | sed 's/^/ * /; s/ *$//'
	echo ' */'
	cat code.js
} >"$out/d3-flame-graph.min.js"
cp package-lock.json "$out"
cp node_modules/d3-flame-graph/LICENSE "$out/LICENSE.d3-flame-graph"
cp node_modules/d3-hierarchy/LICENSE "$out/LICENSE.d3"
cp node_modules/d3-ease/LICENSE "$out/LICENSE.d3-ease"
cp node_modules/internmap/LICENSE "$out/LICENSE.internmap"
! grep -qi '</script' "$out/d3-flame-graph.min.js"
