#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""format.py FILE...: indentation and spaces are as clang-format writes them

clang-format would rewrite a tenth of the tree: it knows no tabs before a comment or in a table, and
where a line ends is the author's choice. Only these of its changes are reported:
- another indentation of a statement,
- a space between two words or signs where there should be none, or the other way round,
- space at the end of a line, two empty lines.
Directives of the preprocessor, macros among them, are left alone.
"""
import re
import subprocess
import sys
from xml.etree import ElementTree

CPP_WORD = re.compile(rb"\b(new|not|and|or|delete)\b")
# Matches a line if the next line begins a new statement, instead of continuing a statement.
STATEMENT_FOLLOWS = re.compile(rb"""[;}]$|[^={][ ]{$|^{$|^\s*(case\b.*|default|\w+):$|\belse$|
	^\s*(}\s*)?(else\s)?(if|for|while)\b.*\)$""", re.VERBOSE)


def directives(lines):
    """Returns the numbers, from 0, of lines that preprocessor directives consist of."""
    inside, found = False, set()
    for i, line in enumerate(lines):
        if inside or line.lstrip().startswith(b"#"):
            found.add(i)
            inside = line.endswith(b"\\")
    return found


def check_lines(path, lines):
    for i, line in enumerate(lines):
        if line != line.rstrip():
            yield i, "space at the end of the line"

        if not line and i and not lines[i - 1] and i + 1 < len(lines):
            yield i, "two empty lines"


def check_replacements(text, replacements, lines):
    """Reports replacements: (offset, length, new text), in the order of the file."""
    skipped, moved = directives(lines), None
    for offset, length, wanted in replacements:
        old = text[offset:offset + length]
        if old.strip() or wanted.strip():
            continue
        end = offset + length
        line = text.count(b"\n", 0, end)
        if line in skipped:
            continue
        breaks = b"\n" in old
        if breaks != (b"\n" in wanted):
            moved = end
        elif not breaks and bool(old) != bool(wanted):
            # clang-format does not know types, so it takes a pointer for a product, and a macro for
            # a call.
            if CPP_WORD.search(text[max(0, offset - 6):offset]) or \
                    CPP_WORD.match(text[end:end + 8]):
                continue
            before, after = text[offset - 1:offset], text[end:end + 2]
            if before in b"*&" or after[:1] in b"*&":
                continue
            if old and (before in b"<>;" or after[:1] in b"<>;)" or after == b"(*"):
                continue
            yield line, ("no " if old else "a ") + "space before '" + \
                text[end:end + 20].split(b"\n")[0].decode("utf-8", "replace") + "'"
        elif breaks and old.rpartition(b"\n")[2] != wanted.rpartition(b"\n")[2]:
            # If clang-format breaks a line elsewhere, all that follows in the statement moves.
            if moved is not None and not re.search(rb"[;{}]\s*\n", text[moved:end]):
                continue
            before = text[text.rfind(b"\n", 0, offset) + 1:offset].rstrip()
            if STATEMENT_FOLLOWS.search(before):
                indent = wanted.rpartition(b"\n")[2].decode().replace("\t", "\\t")
                yield line, f"indentation: expected '{indent}'"


def main():
    paths, found = sys.argv[1:], []
    out = subprocess.run(["clang-format", "--output-replacements-xml", *paths], check=True,
                         capture_output=True).stdout
    documents = out.split(b"<?xml version='1.0'?>")[1:]
    if len(documents) != len(paths):
        sys.exit(f"clang-format reported {len(documents)} files, expected {len(paths)}")
    for path, document in zip(paths, documents):
        with open(path, "rb") as f:
            text = f.read()
        lines = text.split(b"\n")
        replacements = [(int(r.get("offset")), int(r.get("length")), (r.text or "").encode())
                        for r in ElementTree.fromstring(document).iter("replacement")]
        for check in check_lines(path, lines), check_replacements(text, replacements, lines):
            found += [f"{path}:{line + 1}: {what}" for line, what in check]
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))


main()
