# SPDX-License-Identifier: MIT
"""python -m xpuload --check: reports whether this Python and this machine can record; mcp."""
import importlib.util
import os
import platform
import subprocess
import sys

from xpuload import XpuloadError, __version__
from xpuload._programs import find

FRAMES_FIRST, FRAMES_LAST = (3, 8), (3, 13)	# the CPython versions that preload/python/ knows

USAGE = "usage: python -m xpuload --check | --version | mcp"


def row(is_fine, name, text):
    """Prints a line as xpuload --check does."""
    print("%-8s %-12s %s" % ("ok" if is_fine else "note", name, text))


def frames_of_python():
    """Returns whether call paths have the frames of this Python, and a text."""
    name, version = platform.python_implementation(), platform.python_version()
    if name != "CPython":
        return False, "%s: call paths have no Python frames, only CPython has them" % name
    if not FRAMES_FIRST <= sys.version_info[:2] <= FRAMES_LAST:
        return False, "%s: call paths have no Python frames (%d.%d to %d.%d have them)" % \
            ((version,) + FRAMES_FIRST + FRAMES_LAST)
    return True, version


def check():
    """Prints a line for each part of Python, then xpuload --check. Returns the exit status."""
    row(True, "package", "xpuload %s, %s" % (__version__, os.path.dirname(find("xpuload"))))
    row(*frames_of_python()[:1], "Python", frames_of_python()[1])
    for name, why in (("pandas", "DataFrames"), ("pyarrow", "Arrow tables")):
        found = importlib.util.find_spec(name)
        row(True, name, "installed") if found else row(False, name, "not installed: no " + why)
    sys.stdout.flush()
    return subprocess.call([find("xpuload"), "--check"])


def main():
    args = sys.argv[1:]
    try:
        if args == ["--check"]:
            return check()
        if args == ["mcp"]:
            from xpuload import mcp
            return mcp.main()
        if args == ["--version"]:
            print("xpuload %s" % __version__)
            return 0
    except XpuloadError as e:
        print("xpuload: %s" % e, file=sys.stderr)
        return 125
    print(USAGE, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
