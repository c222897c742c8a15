#!/bin/sh
# SPDX-License-Identifier: MIT
# The repository has no generated file, and no file that .gitignore names.
. "$XPU_SRC/test/lib/tap.sh"
command -v git >/dev/null && git -C "$XPU_SRC" rev-parse --git-dir >/dev/null 2>&1 ||
	skip_all "no git repository"

# generated: lists the generated files that are committed in the current directory's repository
generated() {
	git ls-files -ci --exclude-standard
	git ls-files |
		grep -E \
		'(^|/)(__pycache__|node_modules|\.cache)/|\.(pyc|o|a|so|d|gcno|gcda|orig|rej|swp)$|~$'
}

work=$PWD
cd "$XPU_SRC" || exit 1
is "$(generated | sort -u)" "" "no generated file is committed"

# The rule finds each of these files.
cd "$work" && git init -q . || exit 1
cp "$XPU_SRC/.gitignore" .
mkdir -p a/__pycache__ build-x
touch a/b.c a/__pycache__/b.cpython-311.pyc a/b.o a/b.c.orig build-x/list a/x.data
git add -f . && is "$(generated | sort -u | tr '\n' ' ')" \
	"a/__pycache__/b.cpython-311.pyc a/b.c.orig a/b.o a/x.data build-x/list " \
		"the rule finds generated files"
done_testing
