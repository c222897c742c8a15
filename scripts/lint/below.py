#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""below.py PROGRAM ROOM... - functions that a lower room declares and a higher room defines

PROGRAM is a folder of C sources. The rooms are its folders, from the top layer down; rooms joined
by + share a layer. Files in PROGRAM itself are above all rooms. Prints one line for each such
function. With --count, prints how many functions are declared in headers and defined in
sources instead, so that a test can see that the script finds some.
"""
import os
import re
import sys

COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
DIRECTIVE = re.compile(r'^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.M)
ATTRIBUTE = re.compile(r'__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)')
# At the beginning of a line, since the sources indent everything else.
FUNCTION = re.compile(
    r'^(?!typedef|struct [^()]*\{|enum|union|static)([A-Za-z_][^;{}=]*?)\b([a-z]\w*)'
    r'\s*\(((?:[^;{}()]|\([^;{}()]*\))*)\)\s*([;{])', re.M)


def functions(path):
    """Yields (name, is_definition) for each function that is not static."""
    with open(path, encoding='utf-8') as f:
        text = f.read()
    text = ATTRIBUTE.sub(' ', DIRECTIVE.sub('', COMMENT.sub(' ', text)))
    for match in FUNCTION.finditer(text):
        yield match.group(2), match.group(4) == '{'


def main():
    args = sys.argv[1:]
    count = args and args[0] == '--count'
    program, rooms = (args[1:] if count else args)[0], (args[1:] if count else args)[1:]
    floor = {'.': 0}
    for i, room in enumerate(rooms):
        for name in room.split('+'):
            floor[name] = i + 1

    def floor_of(path):
        parts = os.path.relpath(path, program).split('/')
        for room in ('/'.join(parts[:2]), parts[0]):
            if room in floor:
                return floor[room]
        return floor['.']

    files = sorted(os.path.join(d, f) for d, _, names in os.walk(program) for f in names)
    defined = {}
    for path in files:
        if path.endswith('.c'):
            for name, is_definition in functions(path):
                if is_definition:
                    defined.setdefault(name, []).append(path)
    nr = 0
    for path in files:
        if not path.endswith('.h'):
            continue
        for name, is_definition in functions(path):
            if is_definition:
                continue
            for source in defined.get(name, []):
                nr += 1
                if not count and floor_of(source) < floor_of(path):
                    print(f'{name}() is declared in {path}, defined in {source}')
    if count:
        print(nr)


main()
