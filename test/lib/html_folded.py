#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""html_folded.py ns|us|nr|bytes [SIDE]: prints the folded stacks of an html page from stdin.

Also checks that the page is complete and that nothing in its data can end the script element."""
import html.parser
import json
import subprocess
import sys


DEVICE = ("kernel", "memcpy", "memset", "pending")


class Page(html.parser.HTMLParser):
    """Collects a page's scripts, as a browser does."""

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


def roots_of(data, by, owner):
    """Returns the root frames that --by BY gives a cell with this owner."""
    idx = data["owners"][by][owner]
    return [data["labels"][k] for k in (data["ranges"][idx] if by == "nvtx" else [idx])]


def names_of(data, path, gpu):
    """Returns names of frames. The page leaves out the label of a kernel's frame, so the first
    frame with a kind gets the label."""
    labels = {"kernel": "Kernel", "memcpy": "Memcpy", "memset": "Memset"}
    others = {"pending": "[GPU_Launch_Pending]", "off_cpu": "[Off_CPU]", "gpu_wait": "[GPU_Wait]"}
    names, labelled = [], False
    for frame in path:
        name, kind = data["frames"]["name"][frame], data["frames"]["kind"][frame]
        if kind >= 0 and not labelled:
            word, labelled = data["kinds"][kind], True
            name = (f"[GPU{gpu[5:-1]}_{labels[word]}]" if word in labels else others[word]) + name
        names.append(name)
    return names


def cell_is_rest(data, i):
    """Returns whether the cell has only the times of several small call paths."""
    node = data["cells"]["node"][i]
    name = data["frames"]["name"][data["nodes"]["frame"][node]] if node >= 0 else ""
    return name == "[call paths too small to have times of their own]"


def check_times(data):
    """Checks that a cell's bins of time never exceed the cell. For device work they must be equal,
    unless timestamps are bad, or the cell has several small call paths."""
    times, values = data["times"], data["cells"]["values"][0]
    bad = any("without valid times" in line for line in data["sides"][0]["account"])
    if not times:
        return
    at = bytes_at = 0
    wholes, all_sums = {}, {}
    for i, nr in enumerate(times["each"]):
        kind = data["kinds"][data["cells"]["kind"][i]]
        bins = range(at, at + nr)
        assert all(times["bin"][k] < times["bin"][k + 1] for k in bins[:-1])
        assert all(0 <= times["bin"][k] < times["nr"] for k in bins)
        sums = [sum(times[what][k] for k in bins) for what in ("ns", "count")] + [0]
        if kind in ("memcpy", "memset"):
            sums[2] = sum(times["bytes"][bytes_at:bytes_at + nr])
            bytes_at += nr
        whole = [values[what][i] for what in ("ns", "nr", "bytes")]
        wholes[kind] = [a + b for a, b in zip(wholes.get(kind, [0, 0, 0]), whole)]
        all_sums[kind] = [a + b for a, b in zip(all_sums.get(kind, [0, 0, 0]), sums)]
        is_rest = cell_is_rest(data, i)
        assert times["nr_rest"] or not is_rest
        assert all(a <= b for a, b in zip(sums, whole)) or is_rest, (i, sums, whole)
        if kind in DEVICE and not bad and not times["nr_rest"]:
            assert sums == whole, (i, sums, whole)
        at += nr
    for kind in DEVICE:
        assert bad or kind not in wholes or wholes[kind] == all_sums[kind], (kind, wholes, all_sums)
    assert (at, bytes_at) == (len(times["bin"]), len(times["bytes"]))
    for row in times["rows"]["list"]:
        assert all(0 <= b < times["rows"]["nr"] for b in row["bin"])
        if "gpu" in row:
            assert all(ns <= times["rows"]["bin_ns"] for ns in row["ns"]), "busier than possible"


def data_of(text):
    """Returns the data of a page, which must be complete."""
    page = Page()
    page.feed(text)
    page.close()
    assert len(page.scripts) == 3 and page.tags.count("body") == 1, page.tags
    text = page.scripts["xpu-data"]
    assert "<" not in text, "a '<' in the data"
    data = json.loads(text)
    assert (data["format"], data["version"]) == ("xpuload-html", 2)
    return data


def paths_of(data):
    """Returns the frames of each node, root first."""
    frames, nodes = data["frames"], data["nodes"]
    nr_frames, nr_nodes = len(frames["name"]), len(nodes["frame"])
    assert all(len(frames[k]) == nr_frames for k in ("file", "kind"))
    assert all(0 <= f < len(data["files"]) for f in frames["file"])
    assert all(-1 <= k < len(data["kinds"]) for k in frames["kind"])
    assert len(nodes["depth"]) == nr_nodes and all(0 <= f < nr_frames for f in nodes["frame"])
    paths, at = [], []
    for frame, depth in zip(nodes["frame"], nodes["depth"]):
        assert 0 <= depth <= len(at), "a node without its parent"
        del at[depth:]
        at.append(frame)
        paths.append(tuple(at))
    assert len(set(paths)) == nr_nodes, "the same path twice"
    return paths


def stacks(text, unit, side=0):
    """Yields the names, root first, and the value of each cell of a page."""
    data = data_of(text)
    frames, cells, owners = data["frames"], data["cells"], data["owners"]
    assert len(data["sides"]) == len(cells["values"])
    for values in cells["values"]:
        assert all(len(values[k]) == len(cells["node"]) for k in ("ns", "nr", "bytes"))
    paths = paths_of(data)
    check_times(data)

    gpus = {gpu["number"] for gpu in data["sides"][side]["gpus"]}
    for i, (kind, owner, node) in enumerate(zip(cells["kind"], cells["owner"], cells["node"])):
        path = paths[node] if node >= 0 else ()
        leaf = frames["kind"][path[-1]] if path else -1
        assert leaf == kind or (leaf == -1 and data["kinds"][kind] == "cpu")
        gpu = data["labels"][owners["device"][owner]]
        assert (data["kinds"][kind] in ("kernel", "memcpy", "memset")) == (gpu != "[GPU unknown]")
        assert gpu == "[GPU unknown]" or int(gpu[5:-1]) in gpus
        if cell_is_rest(data, i):
            continue
        roots = [label for by in data["by"] or ["comm"] for label in roots_of(data, by, owner)]
        names = names_of(data, path, gpu if len(gpus) > 1 and len(data["sides"]) == 1 else "")
        yield roots + names, cells["values"][side][unit][i]


def stretches(tool, sources, text, parts):
    """Returns what the page's own modules find in selected stretches of time: html_stretch.js."""
    with open("page.html", "w", encoding="utf-8") as page:
        page.write(text)
    got = subprocess.run(["node", tool, sources, "page.html", *parts], stdout=subprocess.PIPE,
                         check=True)
    return json.loads(got.stdout)


def main():
    unit = sys.argv[1]
    side = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    lines = {}
    for names, value in stacks(sys.stdin.buffer.read().decode("utf-8"),
                               "ns" if unit == "us" else unit, side):
        is_wait = any(name.startswith(("[GPU_Wait]", "[Off_CPU]")) for name in names)
        line = ";".join(["[waits]"] * is_wait + names)
        lines[line] = lines.get(line, 0) + value
    for path, value in sorted(lines.items(), key=lambda line: line[0].encode()):
        value = (value + 500) // 1000 if unit == "us" else value
        sys.stdout.buffer.write(f"{path} {value}\n".encode())


if __name__ == "__main__":
    main()
