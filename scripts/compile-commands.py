#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""make -Bn V=1 ... | compile-commands.py DIRECTORY: prints compile_commands.json

Tells clangd and similar tools how each file is compiled: the output has the commands that make
would run and that name a source file. If several commands compile a file, the first one counts.
"""
import json
import shlex
import sys

SOURCES = (".c", ".S", ".cc", ".cu")


def main():
    directory, entries = sys.argv[1], {}
    for line in sys.stdin.read().replace("\\\n", " ").split("\n"):
        if " -o " not in line or not any(ending in line for ending in SOURCES):
            continue
        try:
            words = shlex.split(line)
        except ValueError:
            continue
        # Shell syntax before and after the compiler's command is left out of the result.
        words = [word for word in words if word not in ("{", "}", "||", "&&", ";")]
        for file in words[1:]:
            if file.endswith(SOURCES) and not file.startswith("-"):
                entries.setdefault(file, {"directory": directory, "file": file,
                                          "arguments": words})
    json.dump(list(entries.values()), sys.stdout, indent=1)
    print()


main()
