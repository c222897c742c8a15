# SPDX-License-Identifier: MIT
"""%load_ext xpuload: the cell magic %%xpuload records a cell, and shows its page below the cell."""
import html
import os
import shlex
import tempfile

from xpuload._errors import XpuloadError
from xpuload.recording import record

HEIGHT = 700			# height of the page in the cell's output, in pixels


def options_of_line(line):
    """Returns record()'s arguments for a line: --memory freq=499 -o page.html."""
    options, words = {"path": None}, shlex.split(line)
    while words:
        word = words.pop(0)
        if word == "-o":
            if not words:
                raise XpuloadError("-o: expected the name of a file")
            options["path"] = words.pop(0)
            continue
        key, has_value, value = word.lstrip("-").partition("=")
        if not key:
            raise XpuloadError("%s: expected an option, such as --memory or freq=499" % word)
        options[key.replace("-", "_")] = value if has_value else True
    return options


def frame_of(page):
    """Returns an element that shows a page separately from the notebook's page."""
    return '<iframe sandbox="allow-scripts" style="border: 0" width="100%%" height="%d" ' \
        'srcdoc="%s"></iframe>' % (HEIGHT, html.escape(page))


def load(shell):
    """Registers the magic. @shell: IPython's InteractiveShell"""

    def run_and_show(line, cell):
        options = options_of_line(line)
        with tempfile.TemporaryDirectory(prefix="xpuload-") as folder:
            path = options.pop("path")
            page = path if path and path.endswith(".html") else os.path.join(folder, "cell.html")
            with record(page, **options) as prof:
                shell.run_cell(cell)
            prof.wait()
            if path and path != page:
                prof.result.write(path)
            with open(page, encoding="utf-8") as f:
                text = f.read()
        shell.user_ns["_xpuload"] = prof.result
        show(frame_of(text))

    def show(text):
        from IPython.display import HTML, display
        display(HTML(text))

    shell.register_magic_function(run_and_show, magic_kind="cell", magic_name="xpuload")
