#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""btf-of-image.py IMAGE: writes the kernel types (BTF) of a bootable arm64 kernel to stdout

Such an image is not an ELF file: the types are found by their own header.
"""
import gzip
import struct
import sys

# magic, version, flags, header size, offset and size of the types, offset and size of the strings
HEADER = struct.Struct("<HBBIIIII")


def find(image):
    at = image.find(b"\x9f\xeb\x01\x00")
    while at >= 0:
        head = HEADER.unpack_from(image, at)
        size, types_at, types, strings_at, strings = head[3:]
        if size == HEADER.size and types_at == 0 and strings_at == types and types > 1 << 20:
            return image[at:at + size + types + strings]
        at = image.find(b"\x9f\xeb\x01\x00", at + 4)
    return None


def main():
    with open(sys.argv[1], "rb") as f:
        image = f.read()
    if image[:2] == b"\x1f\x8b":
        image = gzip.decompress(image)
    btf = find(image)
    if btf is None:
        sys.exit(f"{sys.argv[1]}: no kernel types (BTF) in it")
    sys.stdout.buffer.write(btf)


main()
