#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""columns.py FILE...: no line has more than 100 columns, where a tab ends at a multiple of 8

In a shell script a line of a here-document may be longer, because it is data. A line may also be
longer if one string fills it, because a string cannot continue on an indented line.
"""
import re
import sys

COLUMNS = 100
# A string fills a line if the rest of the line, indentation included, has at most this many
# columns.
BESIDE_STRING = 40
HERE_DOCUMENT = re.compile(r"(?<!<)<<-?\s*(['\"]?)([A-Za-z_]\w*)\1")
STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'")


def columns_of(line):
    return len(line.expandtabs(8))


def shell_data(lines):
    """Returns the numbers of the lines that may be longer."""
    found, ends = set(), []
    for number, line in enumerate(lines, 1):
        if ends:
            found.add(number)
            if line.lstrip("\t") == ends[0]:
                ends.pop(0)
            continue
        ends += [match[2] for match in HERE_DOCUMENT.finditer(line)]
        longest = max(STRING.findall(line), key=len, default="")
        if columns_of(line) - len(longest) <= BESIDE_STRING:
            found.add(number)
    return found


def main():
    status = 0
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8", errors="replace") as f:
            lines = f.read().split("\n")
        data = shell_data(lines) if path.endswith(".sh") else ()
        for number, line in enumerate(lines, 1):
            columns = columns_of(line)
            if columns > COLUMNS and number not in data:
                print(f"{path}:{number}: {columns} columns, more than {COLUMNS}")
                status = 1
    sys.exit(status)


main()
