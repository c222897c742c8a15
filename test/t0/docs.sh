#!/bin/sh
# SPDX-License-Identifier: MIT
# The maintainers' documents name only existing files, functions, make targets and links.
. "$XPU_SRC/test/lib/tap.sh"
cd "$XPU_SRC" || exit 1
pages="README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md $(echo doc/*.md)"

# Prints "PAGE WORD" for each word in backquotes that matches EXTENDED_REGEX.
quoted() {		# quoted EXTENDED_REGEX
	# shellcheck disable=SC2086 # several pages
	grep -noE "\`$1\`" $pages | sed 's/^\([^:]*\):[0-9]*:/\1 /; s/`//g' | sort -u
}

# File names below the source's directories, with * or without.
folders='record|bpf|lib|preload|loader|merge|python|scripts|test|doc|third_party|\.github'
quoted "($folders)/[A-Za-z0-9_./*-]*" >"$OLDPWD/files"
[ "$(wc -l <"$OLDPWD/files")" -gt 40 ]
ok $? "$(wc -l <"$OLDPWD/files") names of files"
is "$(while read -r page file; do
	# shellcheck disable=SC2086 # a pattern
	for found in $file; do
		[ -e "$found" ] || echo "$page: $file"
		break
	done
done <"$OLDPWD/files")" "" "each file that a page names exists"

quoted '[a-z][A-Za-z0-9_]*\(\)' | grep -e ^CONTRIBUTING -e ^doc/architecture |
	sed 's/()$//' >"$OLDPWD/functions"
[ "$(wc -l <"$OLDPWD/functions")" -gt 20 ]
ok $? "$(wc -l <"$OLDPWD/functions") names of functions"
find record bpf lib preload loader merge test/lib test/t2 -name '*.[chS]' -exec grep -ohE \
	'[A-Za-z_][A-Za-z0-9_]*\(' {} + |
	sort -u >"$OLDPWD/known"
is "$(while read -r page name; do
	grep -qx "$name(" "$OLDPWD/known" || grep -qw "$name" bpf/*.c || echo "$page: $name()"
done <"$OLDPWD/functions")" "" "each function that a page names exists"

quoted 'make [a-z][^`]*' | sed 's/^\([^ ]*\) make \([a-z0-9_.-]*\).*/\1 \2/' |
	sort -u >"$OLDPWD/targets"
[ "$(wc -l <"$OLDPWD/targets")" -gt 15 ]
ok $? "the pages have more than 15 names of make's targets: $(wc -l <"$OLDPWD/targets")"
is "$(while read -r page target; do
	grep -qE "^$target:" GNUmakefile test/test.mk || echo "$page: make $target"
done <"$OLDPWD/targets")" "" "each target of make that a page names exists"

# shellcheck disable=SC2086
is "$(grep -oE '\]\([^)#:]+[)#]' $pages | sed 's/[)#]$//' | sed 's/:\](/ /' |
	while read -r page link; do
	[ -e "$(dirname "$page")/$link" ] || echo "$page: $link"
done)" "" "links between pages lead to pages and headings that exist"
is "$(find . -maxdepth 1 -name README.md -size +5600c)" "" "the README is not too long"
done_testing
