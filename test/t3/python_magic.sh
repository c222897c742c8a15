#!/bin/sh
# SPDX-License-Identifier: MIT
# %load_ext xpuload and %%xpuload: a cell is recorded, and its page is shown below the cell. The
# test runs in IPython if IPython is installed, and also with objects that replace IPython.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/python_package.sh"
use_launches
cat >cells.py <<'END'
"""Runs cells in @shell, and checks their outputs, which @shown collects."""
import ctypes
import os
import re

LIB = ctypes.CDLL(os.environ["PY_LAUNCH"])
FIRST = "LIB.py_launch_init()\nfor _ in range(7):\n    LIB.py_launch(5)\nx = 41 + 1"


def check(shell, run, shown):
    shell.user_ns["LIB"] = LIB
    run("gpu_only", FIRST)
    frame = re.fullmatch(r'<iframe sandbox="allow-scripts" [^<>]* srcdoc="([^"<>]*)"></iframe>',
                         shown[0])
    assert frame and "&lt;html" in frame[1] and "site_5" in frame[1], shown[0][:300]
    assert shell.user_ns["x"] == 42
    found = {row.name: row.instances for row in shell.user_ns["_xpuload"].kernels}
    assert found == {"site_5": 7}, found
    run("--gpu-only -o cell.folded", "LIB.py_launch(6)\n1 / 0")
    assert len(shown) == 2 and "site_6" in shown[1]
    assert "]site_6 " in open("cell.folded").read()
    return True
END

python "objects in place of IPython: the page of the cell is shown" <<'END'
import sys
import traceback
import types
import cells
import xpuload


class Shell:
    def __init__(self):
        self.user_ns, self.magics = {}, {}

    def register_magic_function(self, function, magic_kind, magic_name):
        self.magics[magic_kind, magic_name] = function

    def run_cell(self, cell):
        try:
            exec(cell, self.user_ns)
        except Exception:
            traceback.print_exc()


shown = []
ipython, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
display.HTML, display.display = str, shown.append
sys.modules.update({"IPython": ipython, "IPython.display": display})
shell = Shell()
xpuload.load_ipython_extension(shell)
assert list(shell.magics) == [("cell", "xpuload")]
assert cells.check(shell, shell.magics["cell", "xpuload"], shown)
for line, text in (("-o", "-o: expected the name"), ("--", "--: expected an option"),
                   ("no_such_option", "--no-such-option"), ("output=x", "sets this option")):
    try:
        shell.magics["cell", "xpuload"](line, "1")
    except xpuload.XpuloadError as e:
        assert text in str(e), e
    else:
        raise AssertionError(line)
END

ipython=
for one in python3 /usr/bin/python3; do
	[ -n "$ipython" ] || ! "$one" -c 'import IPython' 2>/dev/null || ipython=$one
done
if [ -z "$ipython" ]; then
	skip "in IPython" "no IPython: apt-get install python3-ipython"
	done_testing
fi
HOME=$PWD IPYTHONDIR=$PWD/ipython bare "$ipython" - >ipython.out 2>ipython.err <<'END'
import cells
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "xpuload")
shown = []


def run(line, cell):
    with capture_output() as captured:
        shell.run_cell("%%xpuload " + line + "\n" + cell)
    shown.extend(o.data["text/html"] for o in captured.outputs if "text/html" in o.data)


assert cells.check(shell, run, shown)
END
is "$? $(cat ipython.out)" "0 " "in IPython: the cell's page of results is shown" ||
	diag "$(tail -n 8 ipython.err)"
done_testing
