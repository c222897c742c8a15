#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""columns.py FILE...: no line has more than 100 columns, where a tab ends at a multiple of 8"""
import sys

COLUMNS = 100


def main():
    found = False
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8", errors="replace") as f:
            for number, line in enumerate(f, 1):
                columns = len(line.rstrip("\n").expandtabs(8))
                if columns > COLUMNS:
                    print(f"{path}:{number}: {columns} columns, more than {COLUMNS}")
                    found = True
    sys.exit(found)


main()
