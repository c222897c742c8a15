#!/bin/sh
# SPDX-License-Identifier: MIT
# The version is defined in one place: the programs and the change log have GNUmakefile's version.
. "$XPU_SRC/test/lib/tap.sh"

version=$(sed -n 's/^VERSION[\t ]*:= *//p' "$XPU_SRC/GNUmakefile")
like "$version" '^[0-9]+\.[0-9]+\.[0-9]+$' "GNUmakefile: VERSION has three numbers"
for program in xpuload xpumerge; do
	is "$($program --version)" "$program $version" \
		"$program --version prints the version that GNUmakefile states"
done
like "$(grep -m 1 '^## ' "$XPU_SRC/CHANGELOG.md")" \
	"^## $(echo "$version" |
	sed 's/\./\\./g') \((not released yet|20[0-9]{2}-[0-9]{2}-[0-9]{2})\)$" \
	"CHANGELOG.md: the first heading has the version of GNUmakefile"
# Recording versions, and packages of other projects, may contain version numbers.
found=$(cd "$XPU_SRC" &&
	grep -rlF --exclude-dir='build*' --exclude-dir=.git --exclude-dir=third_party \
	--exclude-dir=corpus --exclude-dir=golden --exclude-dir=formats \
	--exclude=package-lock.json -e "$version" . |
	grep -v -e '^./GNUmakefile$' -e '^./CHANGELOG.md$' -e '/gen_corpus.c$' -e '/golden.c$')
is "$found" "" "outside of GNUmakefile and CHANGELOG.md, no file states the version"
done_testing
