# SPDX-License-Identifier: MIT
"""The programs xpuload and xpumerge of the package, and how it runs them."""
import os
import subprocess
import sys

from xpuload._errors import XpuloadError

TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_tree")


def tree():
    """Returns the directory with bin/ and lib/: XPULOAD_TREE, or the one inside the package.

    XPULOAD_TREE is for a package that runs from the sources, which has no programs of its own. It
    may also name a build directory, which has all programs in one place.
    """
    return os.environ.get("XPULOAD_TREE") or TREE


def find(name):
    """Returns the path of the program xpuload or xpumerge, or of libxpushim.so."""
    top = tree()
    for folder in ("bin", "lib/xpuload", ""):
        path = os.path.join(top, folder, name)
        if os.path.exists(path):
            return path
    raise XpuloadError("%s is missing in %s: install the wheel again, or set XPULOAD_TREE to a "
                       "tree of make portable" % (name, top))


def run(name, args, **how):
    """Runs a program to its end. Returns a subprocess.CompletedProcess with bytes.

    The program gets no terminal to read from, and no pager.
    """
    return subprocess.run([find(name), *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, **how)


def last_line(text):
    """Returns the last line of a program's messages without the program's name, for an error."""
    lines = [line for line in text.decode("utf-8", "replace").splitlines() if line.strip()]
    line = lines[-1].strip() if lines else "it printed no reason"
    for name in ("xpumerge: ", "xpuload: "):
        if line.startswith(name):
            return line[len(name):]
    return line


def become(name):
    """Replaces this process by a program, for the console scripts of the package."""
    try:
        path = find(name)
        os.execv(path, [path, *sys.argv[1:]])
    except (OSError, XpuloadError) as e:
        print("%s: %s" % (name, e), file=sys.stderr)
        sys.exit(126)


def run_xpuload():
    become("xpuload")


def run_xpumerge():
    become("xpumerge")
