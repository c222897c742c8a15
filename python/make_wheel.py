#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""make_wheel.py --tree TREE --version VERSION --arch ARCH --glibc VERSION --out DIRECTORY

Writes a wheel of the package next to this script, with the programs of TREE, a tree of
`make portable`, inside the package. It needs no network and no build backend. Two runs with the
same files and the same SOURCE_DATE_EPOCH write the same bytes. The last line that it prints is the
wheel's name.

Source: the binary distribution format of wheels, version 1.0 (packaging.python.org).
"""
import argparse
import base64
import hashlib
import os
import stat
import sys
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
NOT_BEFORE = 315532800			# a zip file has no times before 1980

METADATA = [
    "Metadata-Version: 2.1",
    "Name: xpuload",
    "Version: %(version)s",
    "Summary: Which call path launched each GPU kernel: xpuload and xpumerge, and a Python package",
    "License: GPL-3.0-or-later AND MIT",
    "Classifier: Environment :: GPU :: NVIDIA CUDA",
    "Classifier: Operating System :: POSIX :: Linux",
    "Classifier: Programming Language :: Python :: 3",
    "Requires-Python: >=3.9",
    "Provides-Extra: arrow",
    "Requires-Dist: pyarrow; extra == 'arrow'",
    "Provides-Extra: pandas",
    "Requires-Dist: pandas; extra == 'pandas'",
    "Description-Content-Type: text/markdown",
    "",
]

WHEEL = [
    "Wheel-Version: 1.0",
    "Generator: xpuload make_wheel.py",
    "Root-Is-Purelib: false",
    "Tag: %(tag)s",
]

ENTRY_POINTS = [
    "[console_scripts]",
    "xpuload = xpuload._programs:run_xpuload",
    "xpumerge = xpuload._programs:run_xpumerge",
]


def fill(lines, **values):
    """Returns the lines of a file of the wheel, with values in place of %(name)s."""
    return ("\n".join(lines) % values + "\n").encode()


def walk(top):
    """Yields the paths of all files below a directory, relative to it, in a fixed order."""
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            yield os.path.relpath(os.path.join(folder, name), top)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def package_files(version):
    """Yields (name in the wheel, bytes, whether it is a program) for the package itself."""
    top = os.path.join(HERE, "xpuload")
    for name in walk(top):
        if name.endswith(".py") and name != "_version.py":
            yield "xpuload/" + name, read(os.path.join(top, name)), False
    schema = os.path.join(HERE, "..", "doc", "schema", "summary.schema.json")
    yield "xpuload/summary.schema.json", read(schema), False
    yield "xpuload/_version.py", b'VERSION = "%s"\n' % version.encode(), False


def tree_files(tree):
    """Yields the files of the portable tree that programs need at run time."""
    for folder in ("bin", "lib"):
        for name in walk(os.path.join(tree, folder)):
            path = os.path.join(tree, folder, name)
            is_program = bool(os.stat(path).st_mode & stat.S_IXUSR)
            yield "xpuload/_tree/%s/%s" % (folder, name), read(path), is_program


def data_files(tree, version):
    """Yields the manual pages, which pip puts below the prefix of the environment."""
    folder = os.path.join(tree, "share")
    for name in walk(folder):
        yield "xpuload-%s.data/data/share/%s" % (version, name), read(os.path.join(folder, name)), \
            False


def info_files(tree, version, tag):
    """Yields the files of the wheel's .dist-info directory, without RECORD."""
    info = "xpuload-%s.dist-info/" % version
    readme = os.path.join(tree, "README.md")
    about = read(readme) if os.path.exists(readme) else b""
    yield info + "METADATA", fill(METADATA, version=version) + about, False
    yield info + "WHEEL", fill(WHEEL, tag=tag), False
    yield info + "entry_points.txt", fill(ENTRY_POINTS), False
    for name in sorted(os.listdir(tree)):
        if name == "LICENSE" or name.endswith(".txt"):
            yield info + "licenses/" + name, read(os.path.join(tree, name)), False


def digest(data):
    raw = hashlib.sha256(data).digest()
    return "sha256=" + base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def write(path, files, version, seconds):
    """Writes the wheel at @path; RECORD, with the hash of each file, is its last file."""
    date = time.gmtime(max(seconds, NOT_BEFORE))[:6]
    record = []

    def add(z, name, data, is_program):
        entry = zipfile.ZipInfo(name, date)
        entry.create_system = 3			# Unix: so the permissions below apply
        entry.external_attr = (stat.S_IFREG | (0o755 if is_program else 0o644)) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        z.writestr(entry, data)

    with zipfile.ZipFile(path, "w") as z:
        for name, data, is_program in files:
            if "," in name or "\n" in name:
                sys.exit("make_wheel.py: %r: such a name cannot be in RECORD" % name)
            add(z, name, data, is_program)
            record.append("%s,%s,%d\n" % (name, digest(data), len(data)))
        name = "xpuload-%s.dist-info/RECORD" % version
        add(z, name, ("".join(record) + name + ",,\n").encode(), False)


def main():
    parser = argparse.ArgumentParser(description="writes a wheel of a portable tree")
    for option in ("--tree", "--version", "--arch", "--glibc", "--out"):
        parser.add_argument(option, required=True)
    args = parser.parse_args()
    for name in ("bin/xpuload", "bin/xpumerge", "lib/xpuload/libxpushim.so"):
        if not os.path.exists(os.path.join(args.tree, name)):
            sys.exit("make_wheel.py: %s has no %s: expected a tree of make portable" %
                     (args.tree, name))
    tag = "py3-none-manylinux_%s_%s" % (args.glibc.replace(".", "_"), args.arch)
    files = [*package_files(args.version), *tree_files(args.tree),
             *data_files(args.tree, args.version), *info_files(args.tree, args.version, tag)]
    os.makedirs(args.out, exist_ok=True)
    path = os.path.join(args.out, "xpuload-%s-%s.whl" % (args.version, tag))
    write(path + ".new", files, args.version,
          int(os.environ.get("SOURCE_DATE_EPOCH") or time.time()))
    os.replace(path + ".new", path)
    print(path)


if __name__ == "__main__":
    main()
