#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""html_folded.py ns|us|nr|bytes [SIDE]: folded stacks out of a page of `xpumerge -f html` on stdin.

Checks on the way that the page is whole and that nothing in its data can end the script element."""
import html.parser
import json
import sys


class Page(html.parser.HTMLParser):
    """Collects the scripts as a browser would."""

    def __init__(self):
        super().__init__()
        self.scripts, self.where, self.tags = {}, None, []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append(tag)
        for name in ("src", "href"):
            assert name not in attrs, f"<{tag} {name}> needs another file"
        if tag == "script":
            self.where = attrs.get("id", f"script{len(self.scripts)}")
            self.scripts[self.where] = ""

    def handle_endtag(self, tag):
        if tag == "script":
            self.where = None

    def handle_data(self, text):
        if self.where:
            self.scripts[self.where] += text


def main():
    unit = sys.argv[1]
    side = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    page = Page()
    page.feed(sys.stdin.buffer.read().decode("utf-8"))
    page.close()
    assert len(page.scripts) == 3 and page.tags.count("body") == 1, page.tags
    text = page.scripts["xpu-data"]
    assert "<" not in text, "a '<' in the data"
    data = json.loads(text)
    assert (data["format"], data["version"]) == ("xpuload-html", 1)

    frames, nodes, cells = data["frames"], data["nodes"], data["cells"]
    nr_frames, nr_nodes, nr_cells = len(frames["name"]), len(nodes["frame"]), len(cells["node"])
    assert all(len(frames[k]) == nr_frames for k in ("file", "kind"))
    assert all(0 <= f < len(data["files"]) for f in frames["file"])
    assert all(-1 <= k < len(data["kinds"]) for k in frames["kind"])
    assert len(nodes["depth"]) == nr_nodes and all(0 <= f < nr_frames for f in nodes["frame"])
    assert len(data["sides"]) == len(cells["values"])
    for values in cells["values"]:
        assert all(len(values[k]) == nr_cells for k in ("ns", "nr", "bytes"))

    paths, at = [], []
    for frame, depth in zip(nodes["frame"], nodes["depth"]):
        assert 0 <= depth <= len(at), "a node without its parent"
        del at[depth:]
        at.append(frames["name"][frame])
        paths.append(";".join(at))
    assert len(set(zip(paths, (frames["kind"][f] for f in nodes["frame"])))) == nr_nodes, \
        "the same path twice"

    gpus = {gpu["number"] for gpu in data["sides"][side]["gpus"]}
    lines = {}
    for i in range(nr_cells):
        kind, leaf = cells["kind"][i], frames["kind"][nodes["frame"][cells["node"][i]]]
        assert leaf == kind or (leaf == -1 and data["kinds"][kind] == "cpu")
        assert (data["kinds"][kind] in ("kernel", "memcpy", "memset")) == (cells["gpu"][i] != -1)
        assert cells["gpu"][i] in gpus | {-1}
        path = paths[cells["node"][i]]
        value = cells["values"][side]["ns" if unit == "us" else unit][i]
        lines[path] = lines.get(path, 0) + value
    for path, value in sorted(lines.items(), key=lambda line: line[0].encode()):
        value = (value + 500) // 1000 if unit == "us" else value
        sys.stdout.buffer.write(f"{path} {value}\n".encode())


main()
