#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""comments.py FILE...: no comment begins with "What ..." as a noun, or with "The same ..."

Such a comment can only be read together with the code, or with the comment before it. A comment
names the thing instead: "Return: ...", "Writes ...", "The flags that ...".
"""
import re
import sys

FIRST = re.compile(r"(What|The same)\b(?!.*\?)")
BLOCK = re.compile(r"/\*+\s*(?:\*\s*)?(\S[^\n]*)")
LINE = re.compile(r"^\s*(?://|#(?!!))\s*(\S.*)$")


def block_comments(text):
    """Yields the line number, from 1, and the first words of each C comment."""
    for match in BLOCK.finditer(text):
        yield text.count("\n", 0, match.start(1)) + 1, match[1]


def line_comments(text):
    """Yields the line number, from 1, and the first line of each run of comment lines."""
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        match = LINE.match(line)
        if match and not inside:
            yield number, match[1]
        inside = bool(match) and not match[1].startswith("SPDX-")


def main():
    found = []
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8", errors="replace") as f:
            text = f.read()
        is_c = path.endswith((".c", ".h", ".cc", ".cu", ".js", ".S", ".css"))
        comments = list(block_comments(text)) if is_c else []
        if not is_c or path.endswith((".js", ".cc", ".cu")):
            comments += line_comments(text)
        found += [f"{path}:{number}: a comment that begins with \"{FIRST.match(words)[1]}\": "
                  "name the thing"
                  for number, words in comments if FIRST.match(words)]
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))


main()
