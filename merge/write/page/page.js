/* SPDX-License-Identifier: MIT */
/* Bundled from merge/write/page/src/*.js by "make page"; do not edit. */
"use strict";
(() => {
  // src/data.js
  var data = JSON.parse(document.getElementById("xpu-data").textContent);
  var sides = data.sides;
  var diff = sides.length === 2;
  var ranks = data.ranks || null;
  var sideNames = ranks ? ["median", "rank"] : ["A", "B"];
  var kinds = data.kinds;
  var haveLines = !ranks && sides.some((side) => side.stalls.samples.length > 0);
  var NONE = -1;
  var base = (() => {
    const nr = data.nodes.frame.length + 1, at3 = [0];
    const frame = new Int32Array(nr), depth = new Int32Array(nr), parent = new Int32Array(nr);
    frame[0] = NONE;
    parent[0] = NONE;
    for (let i = 1; i < nr; i++) {
      frame[i] = data.nodes.frame[i - 1];
      depth[i] = data.nodes.depth[i - 1] + 1;
      parent[i] = at3[depth[i] - 1];
      at3[depth[i]] = i;
    }
    return { nr, frame, depth, parent };
  })();
  var cells = {
    nr: data.cells.node.length,
    node: Int32Array.from(data.cells.node, (n) => n + 1),
    kind: Uint8Array.from(data.cells.kind),
    owner: Int32Array.from(data.cells.owner),
    values: data.cells.values.map((v) => ({
      ns: Float64Array.from(v.ns),
      nr: Float64Array.from(v.nr),
      bytes: Float64Array.from(v.bytes)
    }))
  };
  function seen(name) {
    if (/[^\s\p{Cf}\p{Cc}\u034f\u115f\u1160\u2800\u3164\uffa0]/u.test(name))
      return name;
    const points = [...name].slice(0, 8).map((c) => " U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0"));
    return `[blank name${points.join("")}]`;
  }
  var isolated = (name) => /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u.test(name) ? `\u2068${name}\u2069` : name;
  var LEAF_NAMES = {
    memcpy: (name) => "copy " + name,
    memset: () => "set",
    pending: () => "pending launch",
    off_cpu: (name) => "off CPU: " + name,
    gpu_wait: (name) => "wait for " + name,
    memory: (name) => "memory: " + name
  };
  var frames = {
    name: data.frames.name.map((name, f) => {
      const naming = LEAF_NAMES[kinds[data.frames.kind[f]]];
      return naming ? naming(seen(name)) : seen(name);
    }),
    file: data.frames.file.slice(),
    kind: data.frames.kind.slice(),
    root: data.frames.name.map(() => false)
  };
  var rootFrames = /* @__PURE__ */ new Map();
  function rootFrame(name) {
    let f = rootFrames.get(name);
    if (f === void 0) {
      f = frames.name.length;
      rootFrames.set(name, f);
      frames.name.push(seen(name));
      frames.file.push(0);
      frames.kind.push(NONE);
      frames.root.push(true);
    }
    return f;
  }
  var isDevice = kinds.map((kind) => ["kernel", "memcpy", "memset", "pending", "nccl"].includes(kind));
  var present = new Array(kinds.length).fill(false);
  for (let c = 0; c < cells.nr; c++)
    present[cells.kind[c]] = true;
  var ofMemory = kinds.every((kind, k) => present[k] === (kind === "memory"));
  var units = ofMemory ? ["bytes", "count"] : ["auto", "ns", "\xB5s", "ms", "s", ...ranks ? [] : ["count", "bytes"]];
  var gpuOfOwner = (data.owners.device || []).map((label) => {
    const number2 = /^\[GPU (\d+)/.exec(data.labels[label] || "");
    return number2 ? +number2[1] : NONE;
  });
  var rankOfOwner = (ranks ? data.owners.rank : []).map((label) => label === NONE ? "" : data.labels[label].replace(/^\[rank (\d+)\]$/, "$1"));
  var MAX_BINS = 1024;
  function wholeScale({ from_ns: from, bin_ns: width2, nr }, { recorded, nr_windows: nrWindows }) {
    const bins = (ns) => (nrWindows ? Math.ceil : Math.round)(Math.max(0, ns) / width2);
    const last = recorded.length - 1, before = bins(last < 0 ? 0 : from - recorded[0][0]);
    const all = before + nr + bins(last < 0 ? 0 : recorded[last][1] - from - nr * width2);
    return all > Math.max(MAX_BINS, nr) ? { from_ns: from, nr, before: 0 } : { from_ns: from - before * width2, nr: all, before };
  }
  var moved = (bins, by) => Int32Array.from(bins, (bin) => bin + by);
  var times = data.times && data.times.rows.list.length ? (() => {
    const t = data.times, nr = t.bin.length, whole = wholeScale(t, t), rows2 = wholeScale(t.rows, t);
    const first = new Int32Array(cells.nr + 1), bytes = new Float64Array(nr);
    let at3 = 0;
    for (let c = 0; c < cells.nr; c++)
      first[c + 1] = first[c] + t.each[c];
    for (let c = 0; c < cells.nr; c++)
      if (["memcpy", "memset"].includes(kinds[cells.kind[c]]))
        for (let k = first[c]; k < first[c + 1]; k++)
          bytes[k] = t.bytes[at3++];
    return {
      from: whole.from_ns,
      width: t.bin_ns,
      nr: whole.nr,
      rest: t.nr_rest,
      first,
      bin: moved(t.bin, whole.before),
      ns: Float64Array.from(t.ns),
      count: Float64Array.from(t.count),
      bytes,
      rows: {
        from_ns: rows2.from_ns,
        bin_ns: t.rows.bin_ns,
        nr: rows2.nr,
        list: t.rows.list.map((row) => ({ ...row, bin: moved(row.bin, rows2.before) }))
      },
      nrWindows: t.nr_windows,
      recorded: t.recorded
    };
  })() : null;

  // src/dom.js
  var el = (id) => document.getElementById(id);
  function fill(e, props, children) {
    for (const [name, value] of Object.entries(props || {})) {
      if (name.startsWith("on"))
        e.addEventListener(name.slice(2), value);
      else if (name === "class")
        e.setAttribute("class", value);
      else if (name === "style")
        e.style.cssText = value;
      else
        e.setAttribute(name, value);
    }
    e.append(...children);
    return e;
  }
  var make = (tag, props, ...children) => fill(document.createElement(tag), props, children);
  var draw = (tag, props, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);
  function keepFocus(box, redraw) {
    const now = document.activeElement, data2 = box.contains(now) ? { ...now.dataset } : {};
    redraw();
    for (const [key, value] of Object.entries(data2)) {
      const again = [...box.querySelectorAll(`[data-${key}]`)].find((e) => e.dataset[key] === value);
      if (again)
        again.focus({ preventScroll: true });
    }
  }

  // src/tree.js
  var nrNodes = 0;
  var frameOf;
  var depthOf;
  var parentOf;
  var endOf;
  var nodeOfCell;
  var WORDS = {
    comm: "thread name",
    tid: "thread",
    pid: "process",
    host: "host",
    rank: "rank",
    node: "node",
    pod: "pod",
    container: "container",
    job: "job",
    device: "device",
    stream: "stream",
    nvtx: "NVTX range",
    none: "nothing"
  };
  function shortLabel(by, label) {
    const m = /^\[(\w+) (.*)\]$/s.exec(label);
    if (by === "nvtx")
      return label === "[no NVTX range]" ? "no NVTX range" : label.replace(/^\[NVTX\]/, "");
    if (!m || by === "comm")
      return label;
    if (m[2] === "unknown")
      return by === "device" ? "no device" : `no ${WORDS[by] || by}`;
    return by === "device" ? `GPU ${m[2]}` : by === "host" ? m[2] : `${WORDS[by] || by} ${m[2]}`;
  }
  function labelOf(by, owner) {
    const label = data.owners[by][owner];
    return label === NONE ? "unknown" : data.labels[label];
  }
  function rootsOf(by, owner) {
    if (by === "none" || !data.owners[by])
      return [];
    if (by === "nvtx") {
      const range = data.ranges[data.owners.nvtx[owner]] || [];
      return range.map((label) => shortLabel(by, data.labels[label]));
    }
    if (by !== "tid")
      return [shortLabel(by, labelOf(by, owner))];
    const process = data.owners.pid && distinct("pid") > 1 ? `, ${shortLabel("pid", labelOf("pid", owner))}` : "";
    return [`${isolated(seen(labelOf("comm", owner)))} ${labelOf(by, owner).replace(/^\[tid (.*)\]$/s, "$1")}${process}`];
  }
  var counts = /* @__PURE__ */ new Map();
  function distinct(by) {
    if (!counts.has(by)) {
      const used = /* @__PURE__ */ new Set();
      for (let c = 0; c < cells.nr; c++)
        used.add(data.owners[by][cells.owner[c]]);
      counts.set(by, used.size);
    }
    return counts.get(by);
  }
  var asked = data.by.join(",");
  function groupings() {
    const list4 = Object.keys(data.owners).filter((by) => by === "comm" || by === asked || distinct(by) > 1);
    if (!list4.includes(asked) && data.by.every((by) => data.owners[by] || by === "none"))
      list4.unshift(asked);
    return [...list4, "none"].map((by) => [by, by.split(",").map((b) => WORDS[b] || b).join(", ")]);
  }
  function rootTree(by) {
    const lists = by.split(","), top2 = { frame: NONE, name: "", below: /* @__PURE__ */ new Map(), cells: [] };
    const of = /* @__PURE__ */ new Map();
    const find = (owner) => {
      let at3 = top2;
      for (const name of lists.flatMap((b) => rootsOf(b, owner))) {
        if (!at3.below.has(name))
          at3.below.set(name, { frame: rootFrame(name), name, below: /* @__PURE__ */ new Map(), cells: [] });
        at3 = at3.below.get(name);
      }
      return at3;
    };
    for (let c = 0; c < cells.nr; c++) {
      const owner = cells.owner[c];
      if (!of.has(owner))
        of.set(owner, find(owner));
      of.get(owner).cells.push(c);
    }
    return top2;
  }
  function nodesOf(list4, mark, stamp) {
    const found = [];
    for (const c of list4)
      for (let n = cells.node[c]; n > 0 && mark[n] !== stamp; n = base.parent[n]) {
        mark[n] = stamp;
        found.push(n);
      }
    return Int32Array.from(found).sort();
  }
  var byName = (a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
  function group(by) {
    const mark = new Int32Array(base.nr), where = new Int32Array(base.nr);
    const frame = [], depth = [], parent = [];
    let stamp = 0;
    nodeOfCell = new Int32Array(cells.nr);
    const add = (root, at3, level) => {
      const me = frame.length;
      frame.push(root.frame);
      depth.push(level);
      parent.push(at3);
      for (const below of [...root.below.values()].sort(byName))
        add(below, me, level + 1);
      where[0] = me;
      for (const n of nodesOf(root.cells, mark, ++stamp)) {
        where[n] = frame.length;
        frame.push(base.frame[n]);
        depth.push(level + base.depth[n]);
        parent.push(where[base.parent[n]]);
      }
      for (const c of root.cells)
        nodeOfCell[c] = where[cells.node[c]];
    };
    add(rootTree(by), NONE, 0);
    nrNodes = frame.length;
    frameOf = Int32Array.from(frame);
    depthOf = Int32Array.from(depth);
    parentOf = Int32Array.from(parent);
    endOf = new Int32Array(nrNodes);
    for (let i = nrNodes - 1; i >= 0; i--) {
      endOf[i] = Math.max(endOf[i], i + 1);
      if (i)
        endOf[parentOf[i]] = Math.max(endOf[parentOf[i]], endOf[i]);
    }
  }
  var nameOf = (i) => i ? frames.name[frameOf[i]] : "all";
  var fileOf = (i) => i ? data.files[frames.file[frameOf[i]]] : "";
  var kindOf = (i) => i ? frames.kind[frameOf[i]] : NONE;
  var isRoot = (i) => !i || frames.root[frameOf[i]];
  var whereName = (i) => kinds[kindOf(i)] === "kernel" ? "launched as" : "file";
  function forChildren(node2, visit) {
    for (let i = node2 + 1; i < endOf[node2]; i = endOf[i])
      visit(i);
  }
  function pathOf(i) {
    const path = [];
    for (let n = i; n > 0; n = parentOf[n])
      path.push(nameOf(n));
    return path.reverse();
  }

  // src/model.js
  var MODES = ["gpu", "thread", "both"];
  var kindsOf = (mode) => present.map((p, k) => p && (mode === "both" || isDevice[k] === (mode === "gpu")));
  var hasMode = (mode) => kindsOf(mode).some(Boolean);
  var firstMode = ranks && hasMode("both") ? "both" : !hasMode("gpu") && hasMode("thread") ? "thread" : "gpu";
  var DEFAULTS = {
    mode: firstMode,
    /* Kinds that are left out; what stragglers did themselves comes before their part in other operations. */
    off: ranks && present.some((p, k) => p && kinds[k] !== "nccl") ? "nccl" : "",
    by: asked,
    gpu: "all",
    rank: "all",
    /* the straggler whose call paths are shown */
    unit: units.includes(data.unit) ? data.unit : units[0],
    width: "larger",
    order: "name",
    flame: true,
    zoom: 0,
    group: "",
    /* of narrow children of the zoomed frame: "first-last-width" */
    open: "",
    /* the first frames of folded runs that are opened */
    selected: NONE,
    tab: ranks ? "ranks" : "graph",
    term: "",
    sortBy: "self",
    focus: NONE,
    /* the frame whose callers and callees are shown */
    from: 0,
    /* bins of the picked stretch */
    to: times ? times.nr : 0,
    kernel: "",
    /* whose lines are shown; "": that of the most samples */
    linesBy: "samples",
    strip: true,
    ranksBy: "caused",
    /* the column by which the table of ranks is sorted */
    ranksTerm: "",
    heat: "waits",
    /* what is over time: waits of ranks, or waits for them */
    collective: NONE
    /* of which waits are shown; NONE: all */
  };
  var state = { ...DEFAULTS };
  var isPicked = () => times && (state.from > 0 || state.to < times.nr);
  function chosen(kind) {
    return kindsOf(state.mode)[kind] && !state.off.split(".").includes(kinds[kind]);
  }
  var self;
  var total;
  var count;
  var width;
  var shownBefore;
  var values = cells.values;
  var measure = () => state.unit === "count" ? "nr" : state.unit === "bytes" ? "bytes" : "ns";
  function regroup() {
    group(state.by);
    self = sides.map(() => new Float64Array(nrNodes));
    total = sides.map(() => new Float64Array(nrNodes));
    count = sides.map(() => new Float64Array(nrNodes));
    width = diff ? new Float64Array(nrNodes) : total[0];
    shownBefore = new Int32Array(nrNodes + 1);
  }
  function pick() {
    if (!isPicked()) {
      values = cells.values;
      return;
    }
    const ns = new Float64Array(cells.nr), nr = new Float64Array(cells.nr), bytes = new Float64Array(cells.nr);
    for (let c = 0; c < cells.nr; c++)
      for (let k = times.first[c]; k < times.first[c + 1]; k++) {
        if (times.bin[k] < state.from || times.bin[k] >= state.to)
          continue;
        ns[c] += times.ns[k];
        nr[c] += times.count[k];
        bytes[c] += times.bytes[k];
      }
    values = [{ ns, nr, bytes }];
  }
  var cellValues = (s) => values[s];
  var onDevice = (c) => ranks ? state.rank === "all" || rankOfOwner[cells.owner[c]] === state.rank : state.gpu === "all" || gpuOfOwner[cells.owner[c]] === NONE || gpuOfOwner[cells.owner[c]] === +state.gpu;
  function unitIsOf(counted, kind) {
    return measure() === "ns" || isDevice[kind] || !kinds.some((_, k) => isDevice[k] && counted[k]);
  }
  function sumsOfKinds(s) {
    const sums2 = kinds.map(() => 0), v = values[s][measure()];
    for (let c = 0; c < cells.nr; c++)
      if (onDevice(c))
        sums2[cells.kind[c]] += v[c] * sides[s].scale;
    return sums2;
  }
  function sumUp(totals) {
    for (let i = nrNodes - 1; i > 0; i--)
      totals[parentOf[i]] += totals[i];
  }
  function sumCells(s) {
    const v = values[s][measure()], nr = values[s].nr, scale = sides[s].scale;
    const counted = kinds.map((_, k) => chosen(k)), fits = kinds.map((_, k) => counted[k] && unitIsOf(counted, k));
    const devices2 = kinds.some((_, k) => counted[k] && isDevice[k]);
    self[s].fill(0);
    count[s].fill(0);
    for (let c = 0; c < cells.nr; c++) {
      const kind = cells.kind[c];
      if (!fits[kind] || !onDevice(c))
        continue;
      self[s][nodeOfCell[c]] += v[c] * scale;
      if (isDevice[kind] || !devices2)
        count[s][nodeOfCell[c]] += nr[c];
    }
    total[s].set(self[s]);
    sumUp(total[s]);
    sumUp(count[s]);
  }
  function compute() {
    for (let s = 0; s < sides.length; s++)
      sumCells(s);
    if (diff && state.width === "larger") {
      for (let i = 0; i < nrNodes; i++)
        width[i] = Math.max(self[0][i], self[1][i]);
      sumUp(width);
    } else if (diff) {
      width.set(total[state.width === "a" ? 0 : 1]);
    }
    for (let i = 0; i < nrNodes; i++)
      shownBefore[i + 1] = shownBefore[i] + (width[i] > 0);
  }
  function onCpu(i) {
    if (!i || kindOf(i) !== NONE)
      return 0;
    return !diff ? self[0][i] : state.width === "larger" ? Math.max(self[0][i], self[1][i]) : self[state.width === "a" ? 0 : 1][i];
  }

  // src/words.js
  var TIMES = { ns: 1, "\xB5s": 1e3, ms: 1e6, s: 1e9 };
  var integer = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
  var fraction = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });
  var decimals = (digits) => new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  var thousandths = decimals(3);
  function formatTime(ns, unit) {
    if (!TIMES[unit])
      unit = Math.abs(ns) < 1e3 ? "ns" : Math.abs(ns) < 1e6 ? "\xB5s" : Math.abs(ns) < 1e9 ? "ms" : "s";
    return (unit === "ns" ? fraction : thousandths).format(ns / TIMES[unit]) + " " + unit;
  }
  function formatMoment(ns, step_ns) {
    const unit = ns < 1e3 ? "ns" : ns < 1e6 ? "\xB5s" : ns < 1e9 ? "ms" : "s";
    const digits = Math.max(0, Math.ceil(Math.log10(TIMES[unit] / step_ns)));
    return digits > 3 ? decimals(Math.min(9, digits)).format(ns / TIMES[unit]) + " " + unit : formatTime(ns, "auto");
  }
  function formatBytes(bytes) {
    const units2 = ["B", "KiB", "MiB", "GiB", "TiB"];
    let i = 0;
    for (; Math.abs(bytes) >= 1024 && i < units2.length - 1; i++)
      bytes /= 1024;
    return fraction.format(bytes) + " " + units2[i];
  }
  function format(value) {
    if (state.unit === "count")
      return fraction.format(value);
    return state.unit === "bytes" ? formatBytes(value) : formatTime(value, state.unit);
  }
  function formatDelta(value) {
    return (value > 0 ? "+" : value < 0 ? "\u2212" : "\xB1") + format(Math.abs(value));
  }
  function plural(nr, what) {
    return `${integer.format(nr)} ${what}${nr === 1 ? "" : "s"}`;
  }
  function percent(part2, whole) {
    return whole ? (100 * part2 / whole).toFixed(2) + "%" : "\u2013";
  }
  var KIND_WORDS = {
    kernel: "kernels",
    memcpy: "copies",
    memset: "sets",
    pending: "pending",
    cpu: "on CPU",
    off_cpu: "off CPU",
    gpu_wait: "waits for the GPU",
    nccl: "NCCL",
    host: "before launches"
  };
  function kindWords(kind) {
    return KIND_WORDS[kinds[kind]] || kinds[kind];
  }

  // src/header.js
  var MAX_ABOUT = 64;
  var sides2 = ranks ? sides.slice(0, 1) : sides;
  var compared = diff && !ranks;
  function fact(side, label) {
    for (const recording of side.recordings)
      for (const [key, value] of recording)
        if (key === label)
          return value;
    return "";
  }
  function panel(props, line, ...content) {
    return make("details", props, make("summary", null, line), make("div", { class: "panel" }, ...content));
  }
  function closePanels(inside) {
    let closed = null;
    for (const open of document.querySelectorAll("header details[open]"))
      if (!open.contains(inside)) {
        open.open = false;
        closed = open;
      }
    return closed;
  }
  function account(side, s) {
    const t = side.totals, clean = !t.unmatched && !t.lost && t.clean;
    const [summary, ...lines3] = side.account.concat(side.messages);
    const words = (compared ? "AB"[s] + ": " : "") + summary + (lines3.length ? `; ${plural(lines3.length, "note")}` : "");
    if (!lines3.length)
      return make("span", { class: "account" }, words);
    return panel(
      { class: clean ? "account" : "account loss" },
      words,
      make(
        "pre",
        { tabindex: "0", "aria-label": "Notes" },
        [summary, ...lines3.map((line) => line.trim())].join("\n")
      )
    );
  }
  function about() {
    return panel(
      { class: "account" },
      "Recording",
      ...sides2.flatMap((side, s) => side.recordings.slice(0, MAX_ABOUT).map((recording) => make("dl", null, ...(compared ? [["", "AB"[s]], ...recording] : recording).flatMap(([key, value]) => [make("dt", null, key), make("dd", null, value)])))),
      ...sides2.filter((side) => side.recordings.length > MAX_ABOUT).map((side) => make("p", null, `and ${plural(side.recordings.length - MAX_ABOUT, "more recording")}`))
    );
  }
  function rangesOf(numbers2) {
    const list4 = [...numbers2].sort((a, b) => a - b), runs = [];
    for (const n of list4)
      if (runs.length && n === runs[runs.length - 1][1] + 1)
        runs[runs.length - 1][1] = n;
      else
        runs.push([n, n]);
    return runs.flatMap(([a, b]) => a === b ? [a] : b === a + 1 ? [a, b] : [`${a}\u2013${b}`]).join(", ");
  }
  function gpuFacts(side) {
    const byName2 = /* @__PURE__ */ new Map();
    for (const gpu of side.gpus)
      byName2.set(gpu.name, [...byName2.get(gpu.name) || [], gpu.number]);
    return [...byName2].map(([name, numbers2]) => `GPU ${rangesOf(numbers2)} ${name}`.trim());
  }
  var memoryKind = (name) => name.replace(/^\[GPU\d*_Memory\]/, "").replace(/_/g, " ");
  var PARTS = [
    ["held", "held, in all"],
    ["reserved", "of that, reserved"],
    ["rest", "rest of the devices"],
    ["host", "of the host"],
    ["used", "of reserved, used"],
    ["fragmentation", "fragmentation"],
    ["unused", "unused in pools"],
    ["blocks", "of used, blocks"],
    ["outside", "outside of allocators"]
  ];
  function peakPanel(p, prefix) {
    const path = (p.path || []).slice(0, -1).reverse().map(seen);
    const kind = p.holder_bytes ? memoryKind(p.path[p.path.length - 1]) : "";
    const holder = kind && `; largest holder ${formatBytes(p.holder_bytes)} (${kind}): ${path.map(isolated).join(" \u2190 ")}`;
    return panel(
      { class: "account" },
      `${prefix}GPU memory: at most ${formatBytes(p.bytes)}, ${formatTime(p.at_ns, "auto")} after the start${holder}`,
      make("dl", null, ...[
        ["at most", `${integer.format(p.bytes)} bytes` + (p.nr_recordings > 1 ? ", in one of the recordings" : "")],
        ["then", `${formatTime(p.at_ns, "auto")} after the start`],
        ...PARTS.map(([key, words]) => [words, `${integer.format(p[key])} bytes`]),
        ...kind ? [
          ["largest holder", `${integer.format(p.holder_bytes)} bytes (${kind})`],
          ...path.map((name, i) => [i ? "called by" : "in", name])
        ] : [],
        ["all of it", "xpumerge RECORDING --memory peak -o memory.html draws who held it"]
      ].flatMap(([key, value]) => [make("dt", null, key), make("dd", null, value)]))
    );
  }
  function setUpMemory() {
    const same = compared && JSON.stringify(sides2[0].peak) === JSON.stringify(sides2[1].peak);
    const peaks = sides2.slice(0, same ? 1 : 2).flatMap((side, s) => side.peak ? [peakPanel(side.peak, compared && !same ? `${"AB"[s]}: ` : "")] : []);
    el("memory").hidden = !peaks.length;
    el("memory").append(...peaks);
  }
  var rankFacts = () => `${plural(ranks.list.number.length, "rank")} on ${plural(ranks.hosts.length, "host")}`;
  function more() {
    const nr = compared ? 0 : sides2[0].recordings.length - 1;
    return nr > 0 ? ` and ${plural(nr, "more recording")}` : "";
  }
  function setUpHeader() {
    const title = sides2.map((side) => fact(side, "command") || fact(side, "recording")).filter((t, s, all) => s === all.indexOf(t)).join("  \u2192  ") + more();
    const facts = sides2.map((side, s) => (compared ? `${"AB"[s]}: ` : "") + [
      side.memory,
      compared ? fact(side, "recording") : "",
      ranks ? rankFacts() : fact(side, "host"),
      fact(side, "start"),
      ...ranks ? [] : gpuFacts(side),
      side.filter && "only " + side.filter
    ].filter(Boolean).map(isolated).join(" \xB7 "));
    document.title = `${title.slice(0, 120)} \u2013 xpuload`;
    el("title").textContent = title;
    el("title").title = title;
    el("facts").textContent = [...facts, data.normalize].filter(Boolean).join("; ");
    el("facts").title = el("facts").textContent;
    el("accounts").append(...sides2.map(account), about());
    setUpMemory();
    document.addEventListener("click", (event) => closePanels(event.target), true);
  }

  // src/ranks_data.js
  var list = ranks && ranks.list;
  var nrRanks = ranks ? list.number.length : 0;
  var hostOf = (r) => ranks.hosts[list.host[r]];
  var nameOfRank = (r) => ranks.names[list.name[r]];
  var sumOf = (column) => column.reduce((a, b) => a + b, 0);
  var SORTS = [
    "number",
    "busy_ns",
    "own_ns",
    "wait_ns",
    "transfer_ns",
    "unpaired_ns",
    "host_wait_ns",
    "launches",
    "ops",
    "last",
    "caused",
    "host",
    "name",
    "pid"
  ];
  var worst = null;
  function culprits() {
    worst || (worst = Array.from({ length: nrRanks }, (_, r) => r).filter((r) => list.caused_ns[r] > 0).sort((a, b) => list.caused_ns[b] - list.caused_ns[a] || a - b).slice(0, ranks ? ranks.compared : 0));
    return worst;
  }
  var culpritSet = null;
  function isCulprit(r) {
    culpritSet || (culpritSet = new Set(culprits()));
    return culpritSet.has(r);
  }
  var LEFT_OUT = -2;
  function forWaits(w, visit) {
    let at3 = 0;
    if (!w)
      return;
    for (let k = 0; k < w.each.length; k++)
      for (const end = at3 + w.each[k]; at3 < end; at3++)
        visit(k, w.bin[at3], w.ns[at3]);
  }
  var reasons = null;
  function lateBy(r) {
    if (!reasons) {
      const [median, own] = cells.values.map((v) => v.ns), best = /* @__PURE__ */ new Map();
      for (let c = 0; c < cells.nr; c++) {
        const rank = rankOfOwner[cells.owner[c]], more2 = own[c] - median[c];
        if (more2 > 0 && kinds[cells.kind[c]] !== "nccl" && (!best.has(rank) || more2 > own[best.get(rank)] - median[best.get(rank)]))
          best.set(rank, c);
      }
      reasons = new Map([...best].map(([rank, c]) => {
        const path = [];
        for (let n = cells.node[c]; n > 0; n = base.parent[n])
          path.push(frames.name[base.frame[n]]);
        return [rank, { frames: path.reverse(), ns: own[c], median: median[c] }];
      }));
    }
    return reasons.get(String(list.number[r]));
  }
  function matcher(term) {
    const words = term.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
      if (!/^\d+(-\d+)?(,\d+(-\d+)?)*,?$/.test(word))
        return (r) => `${hostOf(r)}
${nameOfRank(r)}`.toLowerCase().includes(word);
      const spans = word.split(",").filter(Boolean).map((span) => span.split("-").map(Number));
      return (r) => spans.some(([from, to = from]) => list.number[r] >= from && list.number[r] <= to);
    });
    return (r) => words.every((fits) => fits(r));
  }

  // src/url.js
  var number = (low, high) => (text2) => /^-?\d+$/.test(text2) && +text2 >= low && +text2 <= high ? +text2 : void 0;
  var one = (list4) => (text2) => list4().includes(text2) ? text2 : void 0;
  var text = (limit) => (t) => t.length <= limit ? t : void 0;
  var numbers = (t) => /^(all|\d+(\.\d+)*)?$/.test(t) && t.length <= 4e3 ? t : void 0;
  var node = number(NONE, 2 ** 31 - 1);
  var devices = () => ["all", ...sides.flatMap((side) => side.gpus.map((gpu) => String(gpu.number)))];
  var PARAMS = {
    tab: ["view", one(() => ["graph", "top", ...haveLines ? ["lines"] : [], ...ranks ? ["ranks"] : []])],
    mode: ["time", one(() => MODES.filter(hasMode))],
    off: ["without", (t) => !t || t.split(".").every((kind) => kinds.includes(kind)) ? t : void 0],
    by: ["by", one(() => groupings().map(([by]) => by))],
    gpu: ["device", one(devices)],
    unit: ["unit", one(() => units)],
    width: ["width", one(() => diff ? ["larger", "a", "b"] : [])],
    order: ["order", one(() => ["name", "value"])],
    flame: ["icicle", (t) => t === "1" ? false : void 0, () => "1"],
    from: ["from", number(0, times ? times.nr : 0)],
    to: ["to", number(0, times ? times.nr : 0)],
    zoom: ["zoom", node],
    group: ["narrow", (t) => /^\d+-\d+-\d+(\.\d+)?$/.test(t) ? t : void 0],
    open: ["open", numbers],
    selected: ["frame", node],
    term: ["search", text(2e3)],
    sortBy: ["sort", one(() => ["self", "total", "count", "delta", "name"])],
    focus: ["of", number(0, frames.name.length - 1)],
    kernel: ["kernel", text(2e4)],
    linesBy: ["lines", one(() => ["samples", "place"])],
    rank: ["rank", one(() => ["all", ...culprits().map((r) => String(ranks.list.number[r]))])],
    ranksBy: ["ranks", one(() => SORTS)],
    ranksTerm: ["only", text(2e3)],
    heat: ["over", one(() => ["waits", "caused"])],
    collective: ["collective", number(0, ranks ? ranks.collectives.count.length - 1 : -1)],
    strip: ["overview", (t) => t === "0" ? false : void 0, () => "0"]
  };
  function readUrl() {
    const choices = { ...DEFAULTS }, given = new URLSearchParams(location.hash.slice(1));
    for (const [member, [name, read]] of Object.entries(PARAMS)) {
      const value = given.has(name) ? read(given.get(name)) : void 0;
      if (value !== void 0)
        choices[member] = value;
    }
    if (choices.from >= choices.to) {
      choices.from = DEFAULTS.from;
      choices.to = DEFAULTS.to;
    }
    return choices;
  }
  function writeUrl(replace) {
    const given = new URLSearchParams();
    for (const [member, [name, , write]] of Object.entries(PARAMS))
      if (state[member] !== DEFAULTS[member])
        given.set(name, write ? write(state[member]) : state[member]);
    const hash2 = given.toString();
    if (hash2 === location.hash.slice(1))
      return;
    try {
      history[replace ? "replaceState" : "pushState"](null, "", hash2 ? "#" + hash2 : location.pathname + location.search);
    } catch {
    }
  }

  // src/actions.js
  var TABS = ["graph", "top", "lines", "ranks"];
  var show = () => {
  };
  function onStep(update2) {
    show = update2;
  }
  function go(choices, replace = false) {
    const before = { ...state };
    Object.assign(state, choices);
    if (state.by !== before.by)
      Object.assign(state, { zoom: 0, group: "", open: "", selected: NONE });
    show(before);
    writeUrl(replace);
  }
  function select(i, zoom) {
    go(zoom ? { selected: i, zoom: Math.max(i, 0), group: "" } : { selected: i }, !zoom);
  }
  var showTab = (tab) => go({ tab });
  var flip = () => go({ flame: !state.flame });

  // src/search.js
  var matches = null;
  var pattern = null;
  var isText = false;
  function search(term) {
    const input = el("search");
    let regex;
    state.term = term;
    input.setAttribute("aria-invalid", "false");
    matches = null;
    pattern = null;
    isText = false;
    if (!term)
      return;
    const flags = /[A-Z]/.test(term) ? "" : "i";
    try {
      regex = new RegExp(term, flags);
    } catch {
      input.setAttribute("aria-invalid", "true");
      isText = true;
      regex = new RegExp(term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), flags);
    }
    pattern = regex;
    matches = new Uint8Array(frames.name.length);
    for (let f = 0; f < matches.length; f++)
      matches[f] = regex.test(frames.name[f]);
  }
  function showMatched() {
    let sum2 = 0, nr = 0;
    if (!matches) {
      el("matched").textContent = "";
      return;
    }
    for (let i = 1, end = 0; i < nrNodes; i++) {
      if (!matches[frameOf[i]] || !width[i])
        continue;
      nr++;
      if (i < end)
        continue;
      sum2 += width[i];
      end = endOf[i];
    }
    el("matched").textContent = `${percent(sum2, width[0])} matched, ` + plural(nr, "frame") + (isText ? "; no regular expression, taken as text" : "");
  }

  // src/colours.js
  var dark = matchMedia("(prefers-color-scheme: dark)");
  var SHADES = 24;
  var MATCH = "#e65cf0";
  var KIND_COLOURS = {
    kernel: [212, 14, 74, 66],
    memcpy: [174, 10, 52, 56],
    memset: [262, 10, 54, 73],
    pending: [338, 8, 62, 74],
    cpu: [26, 8, 92, 62],
    off_cpu: [215, 8, 6, 68],
    gpu_wait: [216, 8, 70, 84],
    memory: [152, 16, 42, 64],
    nccl: [292, 6, 46, 76],
    host: [46, 6, 62, 70]
  };
  function hash(text2) {
    let h = 2166136261;
    for (let i = 0; i < text2.length && i < 64; i++)
      h = Math.imul(h ^ text2.charCodeAt(i), 16777619);
    return Math.floor((h >>> 0) / 4294967296 * SHADES) / SHADES;
  }
  function hsl(hue, saturation, lightness) {
    return `hsl(${hue.toFixed(0)},${saturation}%,${dark.matches ? lightness - 8 : lightness}%)`;
  }
  function kindColour(kind, vector) {
    const [hue, spread, saturation, lightness] = KIND_COLOURS[kinds[kind]] || [0, 0, 0, 75];
    return hsl(hue + (vector - 0.5) * 2 * spread, saturation, lightness);
  }
  var frameColours = /* @__PURE__ */ new Map();
  function frameColour(frame) {
    let colour2 = frameColours.get(frame);
    if (colour2)
      return colour2;
    const name = frames.name[frame], kind = frames.kind[frame], vector = hash(name);
    if (kind !== NONE && name === "[NCCL_Wait]")
      colour2 = hsl(292, 46, 76);
    else if (kind !== NONE)
      colour2 = kindColour(kind, vector);
    else if (frames.root[frame])
      colour2 = hsl(215, 14, 84);
    else if (name.endsWith("_[k]"))
      colour2 = hsl(350 + vector * 10, 34, 82);
    else if (/\.py:/.test(name))
      colour2 = hsl(54 + vector * 8, 58, 76);
    else if (/^\[.*\]$/.test(name))
      colour2 = hsl(30, 6, 82);
    else
      colour2 = hsl(34 + vector * 14, 44 + vector * 14, 84 - vector * 5);
    frameColours.set(frame, colour2);
    return colour2;
  }
  function deltaColour(i) {
    const larger = Math.max(total[0][i], total[1][i]);
    const change = larger ? (total[1][i] - total[0][i]) / larger : 0;
    const lightness = 94 - 38 * Math.sqrt(Math.abs(change));
    return hsl(change > 0 ? 4 : 214, change ? 82 : 0, lightness);
  }
  var paler = (own) => matches ? own.replace("hsl(", "hsla(").replace(")", ",.45)") : own;
  function colour(i) {
    if (i && matches && matches[frameOf[i]])
      return MATCH;
    return paler(!i ? hsl(215, 10, 88) : diff ? deltaColour(i) : frameColour(frameOf[i]));
  }
  function specialColour(what, matched) {
    if (matched)
      return MATCH;
    return paler(what === "cpu" ? kindColour(kinds.indexOf("cpu"), 0.5) : hsl(215, 8, what === "fold" ? 90 : 86));
  }

  // src/lines.js
  var LINES_ROWS = 500;
  var HUES = {
    long_scoreboard: 212,
    short_scoreboard: 190,
    barrier: 0,
    membar: 330,
    wait: 48,
    math_pipe_throttle: 30,
    mio_throttle: 280,
    lg_throttle: 250,
    tex_throttle: 235,
    no_instructions: 130,
    no_inst: 130,
    dispatch_stall: 20,
    sleeping: 80,
    drain: 165,
    branch_resolve: 100,
    imc_miss: 310,
    gmma: 15,
    not_selected: 60,
    selected: 110
  };
  function reasonColour(name) {
    let hue = HUES[name];
    if (hue === void 0)
      hue = [...name].reduce((h, c) => (h * 31 + c.charCodeAt(0)) % 360, 7);
    return hsl(hue, name === "selected" || name === "not_selected" ? 24 : 62, 62);
  }
  var newPlace = () => ({ samples: 0, notIssued: 0, reasons: /* @__PURE__ */ new Map() });
  function addSamples(to, reason, samples, notIssued) {
    to.samples += samples;
    to.notIssued += notIssued;
    to.reasons.set(reason, (to.reasons.get(reason) || 0) + samples);
  }
  var kernels = /* @__PURE__ */ new Map();
  (ranks ? [] : sides).forEach((side, s) => {
    const v = side.stalls;
    v.samples.forEach((samples, i) => {
      const name = v.kernels[v.kernel[i]], place2 = v.places[v.place[i]];
      let k = kernels.get(name);
      if (!k)
        kernels.set(name, k = { sums: sides.map(newPlace), places: /* @__PURE__ */ new Map() });
      if (!k.places.has(place2))
        k.places.set(place2, sides.map(newPlace));
      for (const to of [k.sums[s], k.places.get(place2)[s]])
        addSamples(to, v.reasons[v.reason[i]], samples, v.not_issued[i]);
    });
  });
  var samplesOf = (list4) => list4.reduce((sum2, p) => sum2 + p.samples, 0);
  var names = [...kernels.keys()].sort((a, b) => samplesOf(kernels.get(b).sums) - samplesOf(kernels.get(a).sums) || (a < b ? -1 : 1));
  function kernelOf(i) {
    if (!haveLines || i < 1 || kinds[kindOf(i)] !== "kernel")
      return "";
    const name = nameOf(i);
    return names.find((n) => {
      const shown = n.replaceAll(";", ":");
      return name === shown || name.startsWith(shown + "<<<");
    }) || "";
  }
  function placeCell(place2) {
    const frames2 = place2.split(";").reverse();
    return make(
      "td",
      { class: "name", title: frames2.join("\n") },
      frames2[0],
      ...frames2.slice(1).map((f) => make("div", { class: "outer" }, "in " + f))
    );
  }
  function bar(place2) {
    const box = make("div", { class: "reasons" });
    for (const [reason, nr] of [...place2.reasons].sort((a, b) => b[1] - a[1]))
      if (nr)
        box.append(make("span", {
          style: `width:${100 * nr / place2.samples}%;background:${reasonColour(reason)}`,
          title: `${reason}: ${integer.format(nr)}, ${percent(nr, place2.samples)}`
        }));
    return box;
  }
  function largest(place2) {
    let name = "", most2 = 0;
    for (const [reason, nr] of place2.reasons)
      if (nr > most2)
        [name, most2] = [reason, nr];
    return name && `${name} ${percent(most2, place2.samples)}`;
  }
  function legend(sum2) {
    return make("div", { class: "legend" }, ...[...sum2.reasons].sort((a, b) => b[1] - a[1]).filter(([, nr]) => nr).map(([reason, nr]) => make(
      "span",
      null,
      make("span", { class: "swatch", style: `background:${reasonColour(reason)}` }),
      `${reason} ${percent(nr, sum2.samples)}`
    )));
  }
  function byPlace(a, b) {
    return a.localeCompare(b, "en", { numeric: true });
  }
  function chooser() {
    const kernel = make("select", { id: "lines-kernel", "aria-label": "Kernel", onchange: () => go({ kernel: kernel.value }) }, ...names.map((n) => make("option", { value: n }, n)));
    const order3 = make("select", { id: "lines-by", onchange: () => go({ linesBy: order3.value }) }, ...[["samples", "by samples"], ["place", "by line"]].map(([v, text2]) => make("option", { value: v }, text2)));
    kernel.value = kernels.has(state.kernel) ? state.kernel : names[0];
    order3.value = state.linesBy;
    return make(
      "div",
      { class: "choice" },
      make("label", null, "Kernel ", kernel),
      make("label", null, "Order ", order3)
    );
  }
  function cellsOf(place2, sum2) {
    return [
      make("td", null, integer.format(place2.samples)),
      make("td", null, percent(place2.samples, sum2.samples)),
      make("td", null, percent(place2.notIssued, place2.samples)),
      make("td", { class: "bar-cell" }, bar(place2), make("div", { class: "outer" }, largest(place2)))
    ];
  }
  function drawLines() {
    const k = kernels.get(state.kernel) || kernels.get(names[0]), head = make("tr"), body = make("tbody");
    const rows2 = [...k.places].filter(([place2]) => !pattern || pattern.test(place2));
    rows2.sort(([a, pa], [b, pb]) => state.linesBy === "samples" ? samplesOf(pb) - samplesOf(pa) || byPlace(a, b) : byPlace(a, b));
    sides.forEach((_, s) => {
      const side = diff ? " " + sideNames[s] : "";
      for (const text2 of ["Samples", "%", "No issue %", "Reasons"])
        head.append(make("th", { scope: "col", class: text2 === "Reasons" ? "name" : "" }, text2 + side));
    });
    head.append(make("th", { scope: "col", class: "name" }, "Line"));
    for (const [place2, list4] of rows2.slice(0, LINES_ROWS))
      body.append(make("tr", null, ...list4.flatMap((p, s) => cellsOf(p, k.sums[s])), placeCell(place2)));
    el("lines").replaceChildren(
      chooser(),
      ...k.sums.map(legend),
      make("table", null, make("thead", null, head), body),
      make("p", null, `${integer.format(rows2.length)} lines, ${k.sums.map((s) => integer.format(s.samples)).join(" and ")} samples, of all call paths` + (isPicked() ? " and all of the time" : "") + (rows2.length > LINES_ROWS ? `; the first ${LINES_ROWS} are shown` : "") + ".")
    );
  }

  // src/tooltip.js
  function sharesOf(i, s) {
    return `${percent(total[s][i], total[s][0])} of all` + (i ? `, ${percent(total[s][i], total[s][parentOf[i]])} of parent` : "");
  }
  function addNumbers(add, i) {
    if (diff) {
      const delta2 = total[1][i] - total[0][i];
      for (const s of [0, 1])
        add(sideNames[s], `${format(total[s][i])} (${sharesOf(i, s)})`);
      add(
        `${sideNames[1]} \u2212 ${sideNames[0]}`,
        `${formatDelta(delta2)} (${percent(delta2, total[0][i])} of ${sideNames[0]})`,
        delta2 > 0 ? "up" : delta2 < 0 ? "down" : ""
      );
      if (!ranks)
        add("count", `${integer.format(count[0][i])}, ${integer.format(count[1][i])}`);
    } else {
      add("total", format(total[0][i]));
      add("self", format(self[0][i]));
      if (count[0][i])
        add("count", integer.format(count[0][i]));
      add("share", sharesOf(i, 0));
    }
    if (fileOf(i))
      add(whereName(i), fileOf(i));
  }
  function tipOf(d, add) {
    switch (d.what) {
      case "narrow":
        add("width", `${format(d.v)} (${percent(d.v, width[0])} of all)`);
        add("", "too narrow to draw each: a click shows them");
        return plural(d.nr, "frame");
      case "fold":
        addNumbers(add, d.run[0]);
        add("", "these all share one path: a click opens them");
        return d.run.map(nameOf).join("\n");
      case "cpu":
        add("time", `${format(d.v)} (${percent(d.v, width[0])} of all)`);
        return `on CPU in ${nameOf(d.i)}`;
      default:
        addNumbers(add, d.i);
        return nameOf(d.i);
    }
  }
  function showTip(event, d) {
    const tip = el("tip"), list4 = make("dl");
    const name = tipOf(d, (label, value, cls) => list4.append(make("dt", null, label), make("dd", { class: cls || "" }, value)));
    tip.replaceChildren(make("strong", null, name), list4);
    tip.hidden = false;
    moveTip(event);
  }
  function showWords(event, title, pairs) {
    el("tip").replaceChildren(make("strong", null, title), make("dl", null, ...pairs.flatMap(([label, value]) => [make("dt", null, label), make("dd", null, value)])));
    el("tip").hidden = false;
    moveTip(event);
  }
  function moveTip(event) {
    const tip = el("tip"), gap = 14;
    if (tip.hidden)
      return;
    const x = event.clientX + gap, y = event.clientY + gap;
    tip.style.left = Math.max(4, x + tip.offsetWidth > innerWidth ? event.clientX - tip.offsetWidth - gap : x) + "px";
    tip.style.top = Math.max(4, y + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - gap : y) + "px";
  }
  function hideTip() {
    el("tip").hidden = true;
  }

  // src/detail.js
  var orderOf = null;
  var cellOrder;
  function ordered() {
    if (orderOf !== nodeOfCell) {
      orderOf = nodeOfCell;
      cellOrder = Int32Array.from({ length: cells.nr }, (_, c) => c).sort((a, b) => nodeOfCell[a] - nodeOfCell[b]);
    }
    return cellOrder;
  }
  function* cellsBelow(i) {
    const order3 = ordered();
    let lo = 0, hi = cells.nr;
    while (lo < hi) {
      const mid = lo + hi >> 1;
      if (nodeOfCell[order3[mid]] < i)
        lo = mid + 1;
      else
        hi = mid;
    }
    for (; lo < cells.nr && nodeOfCell[order3[lo]] < endOf[i]; lo++)
      yield order3[lo];
  }
  function kindRows(i) {
    const rows2 = kinds.map(() => sides.map(() => ({ ns: 0, self: 0, nr: 0, bytes: 0 })));
    for (const c of cellsBelow(i))
      sides.forEach((_, s) => {
        const row = rows2[cells.kind[c]][s], v = cellValues(s);
        row.ns += v.ns[c];
        row.nr += v.nr[c];
        row.bytes += v.bytes[c];
        if (nodeOfCell[c] === i)
          row.self += v.ns[c];
      });
    return rows2;
  }
  function kindTable(i) {
    const body = make("tbody");
    kindRows(i).forEach((row, kind) => row.forEach((r, s) => {
      if (!r.nr && !r.ns)
        return;
      body.append(make(
        "tr",
        null,
        make("td", null, kindWords(kind) + (diff ? ` (${sideNames[s]})` : "")),
        ...[r.ns, r.self].map((ns) => ofMemory ? make("td") : make("td", { title: integer.format(ns) + " ns" }, formatTime(ns, "auto"))),
        make("td", null, integer.format(r.nr)),
        make("td", null, r.bytes ? formatBytes(r.bytes) : "")
      ));
    }));
    return make(
      "table",
      null,
      make("thead", null, make("tr", null, ...["kind", "total", "self", "count", "bytes"].map((text2) => make("th", text2 === "count" ? { scope: "col", title: "device records; launches where they are pending; samples" } : { scope: "col" }, text2)))),
      body
    );
  }
  function describe(i) {
    if (!i)
      return "";
    if (kindOf(i) !== NONE)
      return kindWords(kindOf(i));
    return isRoot(i) ? "group" : "function";
  }
  async function copy(text2) {
    try {
      await navigator.clipboard.writeText(text2);
    } catch {
      const box = make("textarea", { class: "hidden", "aria-hidden": "true" });
      box.value = text2;
      document.body.append(box);
      box.select();
      document.execCommand("copy");
      box.remove();
    }
  }
  async function copyPath() {
    if (state.selected === NONE)
      return;
    await copy(pathOf(state.selected).map((name, depth) => " ".repeat(depth) + name).join("\n") + "\n");
    el("said").textContent = "The call path is copied.";
    const button = el("copy-path");
    if (button)
      button.textContent = "Copied";
  }
  function buttons(i) {
    const kernel = kernelOf(i);
    const button = (id, text2, onclick) => make("button", { type: "button", id, onclick }, text2);
    return make(
      "p",
      { class: "actions" },
      button("copy-path", "Copy path", copyPath),
      ...i ? [button("show-sandwich", "Callers and callees", () => go({ tab: "top", focus: frameOf[i] }))] : [],
      ...kernel ? [button("show-lines", "Its lines", () => go({ tab: "lines", kernel }))] : []
    );
  }
  function showDetail() {
    const panel2 = el("detail"), i = state.selected, list4 = make("dl"), path = [];
    const add = (label, value) => list4.append(make("dt", null, label), make("dd", null, value));
    if (i === NONE || state.tab !== "graph") {
      panel2.hidden = true;
      return;
    }
    if (i)
      add("what", describe(i));
    if (fileOf(i))
      add(whereName(i), fileOf(i));
    sides.forEach((side, s) => {
      const prefix = diff ? sideNames[s] + " " : "";
      add(prefix + "total", `${format(total[s][i])}, ${sharesOf(i, s)}`);
      add(prefix + "self", format(self[s][i]));
    });
    for (let n = i; n !== NONE; n = parentOf[n])
      path.push(n);
    panel2.replaceChildren(
      make("button", {
        type: "button",
        class: "close",
        "aria-label": "Close",
        onclick: () => select(NONE, false)
      }, "\xD7"),
      make("h2", { tabindex: "0" }, nameOf(i)),
      list4,
      buttons(i),
      make("h3", null, "Below it, whatever is chosen above" + (isPicked() ? ", in this stretch" : "")),
      kindTable(i),
      make("h3", null, "Call path, innermost first"),
      make("ul", { class: "path" }, ...path.map((n) => make(
        "li",
        null,
        make("button", {
          type: "button",
          title: nameOf(n),
          onclick: () => select(n, true)
        }, nameOf(n))
      )))
    );
    panel2.hidden = false;
  }

  // src/flame.js
  var ROW = 18;
  var LABEL_PIXELS = 22;
  var PADDING = 4;
  var FONT = 12;
  var MIN_LABEL = 2;
  var MAX_LABEL = 1e3;
  var placed = [];
  var levels = [];
  var ruler = document.createElement("canvas").getContext("2d");
  var widths = /* @__PURE__ */ new Map();
  function widthOf(text2) {
    let pixels = widths.get(text2);
    if (pixels === void 0) {
      if (widths.size > 2e4)
        widths.clear();
      pixels = ruler.measureText(text2).width;
      widths.set(text2, pixels);
    }
    return pixels;
  }
  function fit(text2, pixels) {
    const start2 = text2.slice(0, MAX_LABEL), all = widthOf(start2);
    if (all <= pixels && start2 === text2)
      return text2;
    for (let nr = Math.min(start2.length, Math.ceil(start2.length * pixels / all)); nr >= MIN_LABEL; nr--) {
      const label = start2.slice(0, nr).replace(/[\ud800-\udbff]$/, "").trimEnd() + "\u2026";
      if (ruler.measureText(label).width <= pixels)
        return label;
    }
    return "";
  }
  function place(root, pixels, flame) {
    const todo = [{ d: root, x: 0, level: 0 }], scale = pixels / root.v;
    placed = [];
    levels = [];
    while (todo.length) {
      const { d, x, level } = todo.pop(), p = { d, x, y: 0, w: d.v * scale, level, name: "", fill: "" };
      let at3 = x;
      placed.push(p);
      (levels[level] || (levels[level] = [])).push(p);
      for (const child of d.children) {
        todo.push({ d: child, x: at3, level: level + 1 });
        at3 += child.v * scale;
      }
    }
    for (const row of levels)
      row.sort((a, b) => a.x - b.x);
    for (const p of placed)
      p.y = ROW * (flame ? levels.length - 1 - p.level : p.level);
  }
  var drawnWidth = (p) => Math.max(p.w * 0.7, p.w - 0.7);
  function labelled(p) {
    const box = draw(
      "g",
      { class: p.d.fade ? "frame fade" : "frame" },
      draw("rect", { x: p.x.toFixed(2), y: p.y, width: drawnWidth(p).toFixed(2), height: ROW - 1, fill: p.fill })
    );
    const label = fit(p.name, p.w - 2 * PADDING);
    if (label)
      box.append(draw("text", { x: (p.x + PADDING).toFixed(2), y: p.y + 13 }, label));
    return box;
  }
  function paths(list4) {
    const byColour = /* @__PURE__ */ new Map();
    for (const p of list4) {
      const w = drawnWidth(p).toFixed(2);
      byColour.set(p.fill, `${byColour.get(p.fill) || ""}M${p.x.toFixed(2)} ${p.y}h${w}v${ROW - 1}h-${w}z`);
    }
    return [...byColour].map(([fill2, d]) => draw("path", { d, fill: fill2 }));
  }
  var outline = (id) => draw("rect", { id, class: "outline", height: ROW - 1, visibility: "hidden" });
  function drawFlame(box, root, { pixels, flame, name, fill: fill2 }) {
    place(root, pixels, flame);
    ruler.font = `${FONT}px ${getComputedStyle(box).fontFamily}`;
    for (const p of placed) {
      p.name = name(p.d);
      p.fill = fill2(p.d);
    }
    const svg = draw(
      "svg",
      {
        class: "flame",
        width: pixels,
        height: levels.length * ROW,
        viewBox: `0 0 ${pixels} ${levels.length * ROW}`
      },
      ...paths(placed.filter((p) => p.w < LABEL_PIXELS)),
      ...placed.filter((p) => p.w >= LABEL_PIXELS).map(labelled),
      outline("chosen"),
      outline("hovered")
    );
    svg.frames = placed;
    box.replaceChildren(svg);
  }
  function surround(id, p) {
    const rect2 = el(id);
    if (!rect2)
      return;
    rect2.setAttribute("visibility", p ? "visible" : "hidden");
    if (!p)
      return;
    rect2.setAttribute("x", p.x);
    rect2.setAttribute("y", p.y);
    rect2.setAttribute("width", Math.max(1, drawnWidth(p)));
  }
  var findPlaced = (of) => placed.find((p) => of(p.d));
  function frameAt(event) {
    const svg = el("chart").querySelector("svg");
    if (!svg)
      return null;
    const box = svg.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const row = levels.find((list4) => y >= list4[0].y && y < list4[0].y + ROW) || [];
    let low = 0, high = row.length;
    while (low < high) {
      const middle = low + high >> 1;
      if (row[middle].x <= x)
        low = middle + 1;
      else
        high = middle;
    }
    const p = row[low - 1];
    return p && x < p.x + p.w ? p : null;
  }
  function reveal(p) {
    const box = el("chart"), view = box.getBoundingClientRect();
    const y = box.querySelector("svg").getBoundingClientRect().top + p.y;
    box.scrollTop -= Math.max(0, view.top - y);
    box.scrollTop += Math.max(0, y + ROW - view.bottom);
  }

  // src/graph.js
  var GROUP_PIXELS = 150;
  var narrowWords = (d) => `${plural(d.nr, "frame")}, ${percent(d.v, width[0])}`;
  function labelOf2(d) {
    switch (d.what) {
      case "cpu":
        return "on CPU";
      case "narrow":
        return narrowWords(d);
      case "fold":
        return `${isolated(nameOf(d.run[0]))} \u22EF ${isolated(nameOf(d.run[d.run.length - 1]))} (${d.run.length} frames)`;
      default:
        return nameOf(d.i);
    }
  }
  function fillOf(d) {
    if (!d.what)
      return colour(d.i);
    const within = d.what === "fold" ? d.run.some((n) => matches && matches[frameOf[n]]) : false;
    return specialColour(d.what, within);
  }
  var opened = () => state.open === "all" ? null : new Set(state.open.split(".").filter(Boolean).map(Number));
  function sharedRun(root, least) {
    const run = [];
    for (let at3 = root; ; ) {
      let only = NONE;
      forChildren(at3, (c) => {
        if (only === NONE || width[c] > width[only])
          only = c;
      });
      if (only === NONE || width[at3] - width[only] >= least || kindOf(only) !== NONE || isRoot(only))
        break;
      run.push(only);
      at3 = only;
    }
    run.pop();
    return run.length > 1 ? run : null;
  }
  var folds = /* @__PURE__ */ new Map();
  function findFolds(least) {
    const open = opened();
    folds = /* @__PURE__ */ new Map();
    if (!open)
      return;
    const visit = (root) => {
      const run = width[root] >= least && sharedRun(root, least);
      if (run && !open.has(run[0]))
        run.forEach((n) => folds.set(n, run));
      forChildren(root, (c) => {
        if (isRoot(c) && width[c] > 0)
          visit(c);
      });
    };
    visit(0);
  }
  function inGroup() {
    const [first, last, limit] = state.group.split("-").map(Number);
    return (i) => i >= first && i <= last && width[i] < limit;
  }
  function groupWidth() {
    const of = inGroup();
    let sum2 = 0;
    forChildren(state.zoom, (i) => {
      if (of(i))
        sum2 += width[i];
    });
    return sum2;
  }
  function groupNarrow(parent, list4, least, tally) {
    const sum2 = list4.reduce((v, i) => v + width[i], 0);
    const nr = Math.max(1, Math.min(list4.length, Math.floor(sum2 / (GROUP_PIXELS * least))));
    let at3 = 0, done = 0;
    if (sum2 < least) {
      for (const i of list4)
        tally.hidden += shownBefore[endOf[i]] - shownBefore[i];
      tally.hiddenSum += sum2;
      return [];
    }
    return Array.from({ length: nr }, (_, k) => {
      const d = { i: parent, what: "narrow", first: list4[at3], v: 0, nr: 0, limit: least, children: [] };
      for (; at3 < list4.length; at3++) {
        if (k < nr - 1 && done + d.v >= (k + 1) * sum2 / nr)
          break;
        d.last = list4[at3];
        d.v += width[list4[at3]];
        d.nr += shownBefore[endOf[list4[at3]]] - shownBefore[list4[at3]];
      }
      done += d.v;
      return d;
    }).filter((d) => d.v > 0);
  }
  function tallyBeside(run, tally) {
    run.slice(0, -1).forEach((node2, n) => forChildren(node2, (i) => {
      if (i === run[n + 1] || !width[i])
        return;
      tally.hidden += shownBefore[endOf[i]] - shownBefore[i];
      tally.hiddenSum += width[i];
    }));
  }
  function drawnChildren(d, least, only, tally) {
    const list4 = [], narrow = [], own = onCpu(d.i);
    forChildren(d.i, (i) => {
      if (!width[i] || only && !only(i))
        return;
      if (width[i] < least)
        narrow.push(i);
      else
        list4.push({ i, v: width[i], children: [] });
    });
    if (state.order === "value")
      list4.sort((a, b) => b.v - a.v);
    if (own >= least && !only)
      list4.push({ i: d.i, what: "cpu", v: own, children: [] });
    return list4.concat(groupNarrow(d.i, narrow, least, tally));
  }
  function visibleTree(pixels) {
    const zoom = state.zoom, all = state.group ? groupWidth() : width[zoom], least = all / pixels;
    const tally = { hidden: 0, hiddenSum: 0 };
    const top2 = { i: zoom, v: all, children: [] }, todo = [top2];
    let root = top2;
    findFolds(least);
    while (todo.length) {
      const d = todo.pop();
      const run = d !== top2 && !d.what && folds.get(d.i);
      if (run) {
        const last = run[run.length - 1];
        Object.assign(d, { what: "fold", run, i: run[0] });
        tallyBeside(run, tally);
        d.children = drawnChildren({ i: last }, least, null, tally);
      } else if (!d.what) {
        d.children = drawnChildren(d, least, d === top2 && state.group ? inGroup() : null, tally);
      }
      todo.push(...d.children.filter((c) => !c.what));
    }
    if (state.group)
      top2.fade = true;
    for (let i = parentOf[zoom]; i !== NONE; i = parentOf[i]) {
      const run = folds.get(i);
      root = run ? { i: run[0], what: "fold", run, v: all, fade: true, children: [root] } : { i, v: all, fade: true, children: [root] };
      if (run)
        i = run[0];
    }
    return { root, ...tally };
  }
  function note(drawn) {
    const parts = [], nothing = nrNodes - shownBefore[nrNodes], all = state.group ? groupWidth() : width[state.zoom];
    let pending = 0;
    if (state.group)
      parts.push("Frames that were too narrow to draw; Esc goes back.");
    if (drawn.hidden)
      parts.push(`${plural(drawn.hidden, "frame")} narrower than a pixel, ${percent(drawn.hiddenSum, all)} of the width, not drawn: zoom in to see them.`);
    for (let c = 0; c < cells.nr; c++)
      if (kinds[cells.kind[c]] === "pending")
        pending += state.tab === "graph" ? sumOfCell(c) : 0;
    if (pending && measure() !== "nr")
      parts.push(`${integer.format(pending)} pending launch${pending === 1 ? "" : "es"} without time: unit count shows them.`);
    else if (nothing && !drawn.hidden && state.zoom === 0 && !isPicked() && state.mode === "both")
      parts.push(`${plural(nothing, "frame")} without any of what is chosen.`);
    el("note").textContent = parts.join(" ");
    el("note").hidden = !parts.length;
  }
  function sumOfCell(c) {
    return cells.values.reduce((sum2, _, s) => sum2 + cellValues(s).nr[c], 0);
  }
  function emptyWords() {
    if (!cells.nr && !ranks)
      return "Nothing was recorded: no work of a device, no samples, no waits.";
    return `Nothing of what is chosen is in this ${isPicked() ? "stretch" : "recording"}.`;
  }
  function drawEmpty(box) {
    const counted = measure() === "ns" ? count.reduce((sum2, list4) => sum2 + list4[0], 0) : 0;
    box.replaceChildren(make("p", { id: "empty" }, ...counted ? ["What is chosen took no time. ", make("button", {
      type: "button",
      id: "show-count",
      onclick: () => go({ unit: "count" })
    }, "Show its count")] : [emptyWords()]));
    note({});
  }
  function drawGraph() {
    const box = el("chart"), pixels = Math.max(200, box.clientWidth - 16);
    hideTip();
    if (!(width[state.zoom] > 0))
      state.zoom = 0;
    if (state.group && !(groupWidth() > 0))
      state.group = "";
    el("reset").disabled = state.zoom === 0 && !state.group;
    box.classList.toggle("flame", state.flame);
    if (!(width[0] > 0)) {
      drawEmpty(box);
      return;
    }
    const drawn = visibleTree(pixels), fromRoot = box.scrollHeight - box.clientHeight - box.scrollTop;
    drawFlame(box, drawn.root, { pixels, flame: state.flame, name: labelOf2, fill: fillOf });
    if (state.flame)
      box.scrollTop = box.scrollHeight - box.clientHeight - fromRoot;
    markSelected();
    note(drawn);
  }
  var placeOf = (i) => findPlaced((d) => (!d.what || d.what === "fold") && d.i === i);
  function endsOf(i) {
    const run = folds.get(i);
    return run ? [run[0], run[run.length - 1]] : [i, i];
  }
  var markSelected = () => surround("chosen", placeOf(state.selected));
  function scrollToRoot() {
    const box = el("chart");
    box.scrollTop = state.flame ? box.scrollHeight : 0;
  }

  // src/help.js
  var KEYS = [
    ["/", "search: a regular expression; a capital letter makes case matter"],
    ["1 2 3", "flame graph, Top, lines of kernels"],
    ...ranks ? [["4", "ranks; there the arrow keys go over the waits, and Enter shows the call paths of the rank that was waited for"]] : [],
    ["t", "GPU time, thread time, both"],
    ["b", "group by the next of: thread name, thread, process ..."],
    ["arrow keys", "in the graph: the parent, the widest child, the neighbours; in Top: the rows; in the overview: move the stretch, with Shift make it longer or shorter"],
    ["Enter", "zoom to the chosen frame; show what a frame stands for"],
    ["u", "zoom out to the parent"],
    ["s", "callers and callees of the chosen frame"],
    ["c", "copy the call path of the chosen frame"],
    ["f", "fold or open the frames that all calls of a thread share"],
    ["i", "turn the graph upside down"],
    ["o", "show or hide the overview"],
    ["Esc", "one step out: a panel, the search, the zoom, the stretch of time"],
    ["Alt+\u2190", "the browser's Back undoes each step; the address has all choices"],
    ["?", "this list"]
  ];
  function openHelp() {
    const box = el("help");
    if (!box.firstChild)
      box.append(
        make("h2", { id: "help-title" }, "Keys"),
        make("dl", null, ...KEYS.flatMap(([key, what]) => [make("dt", null, make("kbd", null, key)), make("dd", null, what)])),
        make("button", { type: "button", onclick: () => box.close() }, "Close")
      );
    box.showModal();
  }

  // src/heat.js
  var MAX_HEIGHT = 420;
  var ROW2 = 16;
  var LABEL = 12;
  var order = [];
  var lines = [];
  var top = 1;
  var height = 0;
  var cursor = null;
  var showsWaits = () => state.heat === "waits";
  var shownWaits = () => showsWaits() ? ranks.waits : ranks.caused || ranks.waits;
  var tellsCollectives = () => Boolean(shownWaits()) && !shownWaits().collective.includes(LEFT_OUT);
  var counts2 = (w, k) => state.collective === NONE || !tellsCollectives() || w.collective[k] === state.collective;
  function sums() {
    const w = shownWaits(), nr = w.nr, by = /* @__PURE__ */ new Map();
    const of = (r) => {
      if (!by.has(r))
        by.set(r, { ns: new Float64Array(nr), start: new Float64Array(nr) });
      return by.get(r);
    };
    forWaits(w, (k, bin, ns) => {
      const culprit = w.culprit[k], r = showsWaits() ? w.rank[k] : culprit;
      if (r === NONE || !counts2(w, k))
        return;
      of(r).ns[bin] += ns;
      if (culprit === NONE)
        of(r).start[bin] += ns;
    });
    return by;
  }
  function makeLines() {
    const by = sums(), nr = shownWaits().nr, most2 = Math.floor(MAX_HEIGHT / 2);
    const each = Math.max(1, Math.ceil(order.length / most2));
    lines = [];
    for (let first = 0; first < order.length; first += each) {
      const line = {
        first,
        last: Math.min(order.length, first + each),
        ns: new Float64Array(nr),
        start: new Float64Array(nr),
        rank: new Int32Array(nr).fill(NONE)
      };
      for (let i = first; i < line.last; i++) {
        const of = by.get(order[i]);
        if (!of)
          continue;
        for (let b = 0; b < nr; b++)
          if (of.ns[b] > line.ns[b]) {
            line.ns[b] = of.ns[b];
            line.start[b] = of.start[b];
            line.rank[b] = order[i];
          }
      }
      lines.push(line);
    }
    const all = lines.flatMap((line) => [...line.ns].filter((ns, b) => ns > line.start[b])).sort((a, b) => a - b);
    top = all.length ? all[Math.min(all.length - 1, Math.floor(all.length * 0.999))] : 1;
  }
  function colourOf(ns, isStart) {
    const part2 = Math.sqrt(Math.min(1, ns / top)), hue = showsWaits() ? 292 : 8;
    if (isStart)
      return dark.matches ? `hsl(215,8%,${26 + 26 * part2}%)` : `hsl(215,10%,${92 - 34 * part2}%)`;
    return dark.matches ? `hsl(${hue},${30 + 40 * part2}%,${18 + 50 * part2}%)` : `hsl(${hue},${50 + 20 * part2}%,${95 - 52 * part2}%)`;
  }
  var cssColour = (name) => globalThis.getComputedStyle(document.body).getPropertyValue(name);
  function paint() {
    const canvas = el("heat"), box = el("heat-box"), wide = Math.max(50, box.clientWidth), scale = globalThis.devicePixelRatio || 1;
    const row = height / lines.length, nr = shownWaits().nr, ctx = canvas.getContext("2d");
    canvas.width = wide * scale;
    canvas.height = height * scale;
    canvas.style.height = height + "px";
    ctx.scale(scale, scale);
    ctx.fillStyle = cssColour("--panel");
    ctx.fillRect(0, 0, wide, height);
    lines.forEach((line, y) => {
      for (let b = 0; b < nr; b++) {
        if (!line.ns[b])
          continue;
        ctx.fillStyle = colourOf(line.ns[b], line.start[b] * 2 > line.ns[b]);
        ctx.fillRect(Math.floor(b * wide / nr), y * row, Math.ceil(wide / nr) + 0.3, row > 4 ? row - 1 : row);
      }
    });
    if (cursor) {
      ctx.strokeStyle = cssColour("--text");
      ctx.lineWidth = 2;
      ctx.strokeRect(cursor.bin * wide / nr - 1, cursor.y * row - 1, wide / nr + 2, Math.max(4, row) + 1);
    }
  }
  function drawLabels() {
    const row = height / lines.length, step = Math.max(1, Math.ceil(LABEL / row));
    el("heat-names").style.height = height + "px";
    el("heat-names").replaceChildren(...lines.filter((_, y) => y % step === 0).map((line, k) => make("div", { style: `top:${(k * step * row).toFixed(1)}px` }, String(ranks.list.number[order[line.first]]))));
  }
  var at = (b) => formatTime(Math.max(0, shownWaits().from_ns + b * shownWaits().bin_ns), "auto");
  var numberOf = (r) => `rank ${ranks.list.number[r]}`;
  function others(r, bin) {
    const w = shownWaits(), by = /* @__PURE__ */ new Map();
    forWaits(w, (k, b, ns) => {
      const [one2, other] = showsWaits() ? [w.rank[k], w.culprit[k]] : [w.culprit[k], w.rank[k]];
      if (b === bin && one2 === r && other !== LEFT_OUT && counts2(w, k))
        by.set(other, (by.get(other) || 0) + ns);
    });
    return [...by].sort((a, b) => b[1] - a[1]);
  }
  function describe2(y, bin) {
    const line = lines[y], r = line.rank[bin] === NONE ? order[line.first] : line.rank[bin], list4 = others(r, bin);
    const span = `${at(bin)} to ${at(bin + 1)}`, ns = line.ns[bin];
    const nr = line.last - line.first;
    const who = numberOf(r) + (nr > 1 ? `, the most of ${nr}` : "");
    const first = list4.find(([other]) => other !== NONE), known = first ? first[0] : list4.length ? NONE : ranks.list.waited_for[r];
    const culprit = !ns ? NONE : showsWaits() ? known : r;
    if (!ns)
      return { head: who, rows: [[span, showsWaits() ? "it waited for nobody" : "nobody waited for it"]], culprit };
    return { head: who, culprit, rows: [
      [span, `${formatTime(ns, "auto")}${showsWaits() ? `, ${percent(ns, shownWaits().bin_ns)} of it` : ""}`],
      ...list4.slice(0, 6).map(([other, of]) => [other === NONE ? "while ranks started" : (showsWaits() ? "for " : "of ") + numberOf(other), formatTime(of, "auto")]),
      ...list4.length > 6 ? [["", `and ${list4.length - 6} more`]] : [],
      ...isCulprit(culprit) ? [["", `a click shows the call paths of ${numberOf(culprit)}`]] : []
    ] };
  }
  function placeOf2(event) {
    const box = el("heat").getBoundingClientRect();
    return {
      bin: Math.min(shownWaits().nr - 1, Math.max(0, Math.floor((event.clientX - box.left) / box.width * shownWaits().nr))),
      y: Math.min(lines.length - 1, Math.max(0, Math.floor((event.clientY - box.top) / box.height * lines.length)))
    };
  }
  function showPlace(place2, event) {
    const what = describe2(place2.y, place2.bin), list4 = make("dl");
    for (const [label, value] of what.rows)
      list4.append(make("dt", null, label), make("dd", null, value));
    el("tip").replaceChildren(make("strong", null, what.head), list4);
    el("tip").hidden = false;
    moveTip(event);
  }
  var showPaths = (r) => go({ tab: "graph", rank: String(ranks.list.number[r]), zoom: 0, group: "", selected: NONE });
  function follow(place2) {
    const { culprit } = describe2(place2.y, place2.bin);
    if (isCulprit(culprit))
      showPaths(culprit);
  }
  function onKey(event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (step && lines.length) {
      const now = cursor || { bin: 0, y: 0 }, far = event.shiftKey ? 10 : 1;
      event.preventDefault();
      event.stopPropagation();
      cursor = cursor ? {
        bin: Math.min(shownWaits().nr - 1, Math.max(0, now.bin + step[0] * far)),
        y: Math.min(lines.length - 1, Math.max(0, now.y + step[1] * far))
      } : now;
      paint();
      const what = describe2(cursor.y, cursor.bin);
      el("heat-words").textContent = `${what.head}: ${what.rows.map((row) => row.filter(Boolean).join(": ")).join("; ")}`;
    } else if (event.key === "Enter" && cursor) {
      follow(cursor);
    }
  }
  function drawHeat(of) {
    const w = shownWaits(), empty = !w || !of.length;
    el("heat-box").closest("section").hidden = empty;
    if (empty)
      return;
    order = of;
    cursor = null;
    makeLines();
    height = lines.length * Math.max(1, Math.min(ROW2, Math.floor(MAX_HEIGHT / lines.length)));
    paint();
    drawLabels();
    const c = ranks.collectives;
    el("heat-words").textContent = `${formatTime(w.nr * w.bin_ns, "auto")} in steps of ${formatTime(w.bin_ns, "auto")}` + (state.collective === NONE || !tellsCollectives() ? "" : `; only ${c.operation[state.collective]} of ${c.communicator[state.collective]}`);
    el("heat-legend").replaceChildren(
      make("span", { class: "scale", style: `background:linear-gradient(90deg,${[0, 0.1, 0.3, 0.6, 1].map((part2) => colourOf(part2 * top, false)).join(",")})` }),
      ` up to ${formatTime(top, "auto")} in a step, of all communicators`,
      ...showsWaits() ? [
        " ",
        make("span", { class: "swatch", style: `background:${colourOf(top / 2, true)}` }),
        " while ranks start"
      ] : []
    );
  }
  function collectiveStrip(values2) {
    const canvas = make("canvas", { width: values2.length, height: 1, class: "mini", "aria-hidden": "true" });
    const ctx = canvas.getContext("2d"), most2 = Math.max(1, ...values2);
    values2.forEach((ns, b) => {
      if (!ns)
        return;
      const part2 = Math.sqrt(ns / most2);
      ctx.fillStyle = dark.matches ? hsl(292, 60, 26 + 50 * part2) : hsl(292, 60, 94 - 50 * part2);
      ctx.fillRect(b, 0, 1, 1);
    });
    return canvas;
  }
  function setUpHeat() {
    const box = el("heat-box");
    if (nrRanks && ranks.waits) {
      box.addEventListener("pointermove", (event) => showPlace(placeOf2(event), event));
      box.addEventListener("pointerleave", () => {
        el("tip").hidden = true;
      });
      box.addEventListener("click", (event) => follow(placeOf2(event)));
      box.addEventListener("keydown", onKey);
    }
  }

  // src/ranks.js
  var MAX_ROWS = 1e3;
  var MAX_COLLECTIVES = 200;
  var MAX_OTHERS = 100;
  var MAX_SHOWN_FRAMES = 4;
  var MIN_SHARE = 0.02;
  var list2 = ranks && ranks.list;
  var time = (ns) => formatTime(ns, "auto");
  var pathWords = (frames2) => (frames2.length > MAX_SHOWN_FRAMES ? "\u2026 \u203A " : "") + frames2.slice(-MAX_SHOWN_FRAMES).join(" \u203A ");
  function answerOf(r) {
    const caused = sumOf(list2.caused_ns), why = lateBy(r), number2 = list2.number[r];
    return make(
      "p",
      { class: "answer" },
      make("button", { type: "button", onclick: () => showPaths(r) }, `Rank ${number2}`),
      ` on ${hostOf(r) || "an unknown host"} made other ranks wait ${time(list2.caused_ns[r])}, ${percent(list2.caused_ns[r], caused)} of all waits for stragglers; it came last ${list2.last[r] === 1 ? "once" : integer.format(list2.last[r]) + " times"}.`,
      ...why ? [
        " Before that: ",
        make("code", { title: why.frames.join("\n") }, pathWords(why.frames)),
        ` for ${time(why.ns)}, the median of the other ranks ${time(why.median)}.`
      ] : []
    );
  }
  function drawAnswer() {
    const all = list2.caused_ns.filter(Boolean).length, caused = sumOf(list2.caused_ns);
    const shown = culprits().filter((r, k) => k < 3 && (!k || list2.caused_ns[r] >= caused * MIN_SHARE));
    el("ranks-answer").replaceChildren(
      ...shown.map(answerOf),
      ...all > shown.length ? [make("p", { class: "dim" }, `${plural(all - shown.length, "more straggler")} below.`)] : [],
      ...all ? [] : [make("p", null, "No rank made others wait in operations that are paired.")],
      make(
        "details",
        null,
        make("summary", null, ranks.account[0]),
        make("pre", { tabindex: "0", "aria-label": "Account of operations" }, ranks.account.slice(1).join("\n"))
      )
    );
  }
  function workBar(r, most2) {
    const parts = [["kernel", list2.own_ns[r]], ["memcpy", list2.transfer_ns[r]], ["nccl", list2.wait_ns[r]]];
    return make("span", { class: "work", "aria-hidden": "true" }, ...parts.map(([kind, ns]) => make("span", {
      style: `width:${(100 * ns / most2).toFixed(2)}%;background:${kindColour(kinds.indexOf(kind), 0.5)}`
    })));
  }
  var most = () => list2.own_ns.reduce((a, own, r) => Math.max(a, own + list2.transfer_ns[r] + list2.wait_ns[r]), 1);
  function whomWords(r) {
    const other = list2.waited_for[r], all = list2.wait_ns[r] - list2.start_wait_ns[r];
    return other !== NONE ? `${list2.number[other]} (${percent(list2.waited_for_ns[r], all)})` : "";
  }
  function reasonCell(r) {
    const why = lateBy(r);
    return why ? make("span", { title: why.frames.join("\n") }, `+${time(why.ns - why.median)} ${pathWords(why.frames.slice(-2))}`) : "";
  }
  var COLUMNS = [
    ["Rank", "number", null, "", ""],
    ["Device time", null, (r) => workBar(r, most()), "bar-cell", "own work, transfers, waits in collectives"],
    ["Caused", "caused", (r) => list2.caused_ns[r] ? time(list2.caused_ns[r]) : "", "", "waits of other ranks for this one"],
    ["Last", "last", (r) => list2.last[r] || "", "", "operations in which others waited for it"],
    ["Late by", null, reasonCell, "name late", "the work that took longest beyond the median of the other ranks"],
    ["Waiting", "wait_ns", (r) => time(list2.wait_ns[r]), "", "in collectives, for other ranks"],
    ["Waited for", null, whomWords, "", "the rank that it waited for longest, its part of the waits for stragglers"],
    ["Transfer", "transfer_ns", (r) => time(list2.transfer_ns[r]), "", "in collectives, when all ranks had come"],
    ["Unpaired", "unpaired_ns", (r) => time(list2.unpaired_ns[r]), "", "in operations without a partner"],
    ["Own work", "own_ns", (r) => time(list2.own_ns[r]), "", "sum of all device work that is not NCCL's"],
    ["Busy", "busy_ns", (r) => time(list2.busy_ns[r]), "", "its devices had work"],
    ["Host waits", "host_wait_ns", (r) => time(list2.host_wait_ns[r]), "", "its threads waited for a device"],
    ["Launches", "launches", (r) => integer.format(list2.launches[r]), "", ""],
    ["Operations", "ops", (r) => integer.format(list2.ops[r]) + (list2.paired[r] === list2.ops[r] ? "" : ` (${integer.format(list2.ops[r] - list2.paired[r])} unpaired)`), "", "of NCCL"],
    ["Pid", "pid", (r) => list2.pid[r], "", ""],
    ["Host", "host", hostOf, "name", ""],
    ["Name", "name", nameOfRank, "name", ""]
  ];
  var columnsHere = () => COLUMNS.filter(([, key]) => !["unpaired_ns", "host_wait_ns"].includes(key) || list2[key].some(Boolean));
  var byText = (of) => (a, b) => of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : a - b;
  function order2(rows2) {
    const key = state.ranksBy, column = key === "caused" ? list2.caused_ns : list2[key];
    return rows2.sort(key === "host" ? byText(hostOf) : key === "name" ? byText(nameOfRank) : key === "number" || key === "pid" ? (a, b) => column[a] - column[b] || a - b : (a, b) => column[b] - column[a] || a - b);
  }
  function exact(key, r) {
    const column = key === "caused" ? "caused_ns" : key || "";
    return column.endsWith("_ns") ? { title: `${integer.format(list2[column][r])} ns` } : {};
  }
  function rankRow(r, columns) {
    const number2 = String(list2.number[r]), open = isCulprit(r);
    return make(
      "tr",
      open ? { onclick: () => showPaths(r), class: "culprit" } : null,
      make("th", { scope: "row" }, open ? make("button", {
        type: "button",
        class: "plain",
        "data-rank": number2,
        title: "Its call paths, beside the median of the other ranks"
      }, number2) : number2),
      ...columns.slice(1).map(([, key, cell, cls]) => make("td", { class: cls, ...exact(key, r) }, cell(r)))
    );
  }
  function header([title, key, , cls, words]) {
    const ascending = ["number", "host", "name", "pid"].includes(key);
    return make(
      "th",
      {
        scope: "col",
        class: cls,
        title: words,
        ...key && key === state.ranksBy ? { "aria-sort": ascending ? "ascending" : "descending" } : {}
      },
      ...key ? [make("button", { type: "button", "data-sort": key, onclick: () => go({ ranksBy: key }) }, title)] : [title]
    );
  }
  function drawTable(rows2) {
    const columns = columnsHere(), shown = order2(rows2.slice()).slice(0, MAX_ROWS), table = make("tbody");
    for (const r of shown)
      table.append(rankRow(r, columns));
    el("ranks-table").replaceChildren(make(
      "table",
      null,
      make("caption", { class: "hidden" }, "Ranks"),
      make("thead", null, make("tr", null, ...columns.map(header))),
      table
    ));
    el("ranks-count").textContent = rows2.length === nrRanks && shown.length === nrRanks ? plural(nrRanks, "rank") + `, numbered ${ranks.numbered}` : `${integer.format(shown.length)} of ${plural(nrRanks, "rank")}`;
  }
  function waitsOfCollectives() {
    const w = ranks.over, by = /* @__PURE__ */ new Map();
    if (!w)
      return null;
    forWaits(w, (k, bin, ns) => {
      if (!by.has(w.collective[k]))
        by.set(w.collective[k], new Float64Array(w.nr));
      by.get(w.collective[k])[bin] += ns;
    });
    return by;
  }
  function collectiveRow(i, waits) {
    const c = ranks.collectives, chosen2 = state.collective === i, values2 = waits && waits.get(i);
    const name = c.operation[i].replace(/^NCCL:/, ""), filters = values2 && tellsCollectives();
    return make(
      "tr",
      { class: chosen2 ? "selected" : "" },
      make("td", { class: "name" }, filters ? make("button", {
        type: "button",
        class: "plain",
        "data-collective": i,
        "aria-pressed": String(chosen2),
        title: "Only its waits above",
        onclick: () => go({ collective: chosen2 ? NONE : i })
      }, name) : name),
      make("td", { class: "name" }, c.communicator[i]),
      make("td", { class: "bar-cell" }, values2 ? collectiveStrip(values2) : ""),
      make("td", null, time(c.wait_ns[i])),
      make("td", null, time(c.longest_wait_ns[i])),
      make("td", null, time(c.transfer_ns[i])),
      make("td", null, integer.format(c.count[i])),
      make("td", null, integer.format(c.ranks[i])),
      make("td", null, c.bytes[i] ? formatBytes(c.bytes[i]) : "")
    );
  }
  function drawCollectives() {
    const c = ranks.collectives, nr = Math.min(MAX_COLLECTIVES, c.count.length), waits = waitsOfCollectives();
    const titles = ["Operation", "Communicator", "Waits over time", "Waiting", "Longest wait", "Transfer", "Count", "Ranks", "Bytes"];
    el("ranks-collectives").hidden = !nr;
    el("ranks-collectives").replaceChildren(
      make("h2", null, "Collectives"),
      make("div", { class: "wide" }, make(
        "table",
        null,
        make("caption", { class: "hidden" }, "Collectives"),
        make("thead", null, make("tr", null, ...titles.map((title, k) => make("th", { scope: "col", class: k < 2 ? "name" : k === 2 ? "bar-cell" : "" }, title)))),
        make("tbody", null, ...Array.from({ length: nr }, (_, i) => collectiveRow(i, waits)))
      )),
      make("p", { class: "dim" }, (c.count.length > nr ? `and ${plural(c.count.length - nr, "more")}. ` : "") + "Count and bytes are of one rank; of sends and receives, all sends. Times are of all ranks.")
    );
  }
  function section(title, titles, rows2, more2) {
    return make(
      "section",
      null,
      make("h2", null, title),
      make("div", { class: "wide" }, make(
        "table",
        null,
        make("caption", { class: "hidden" }, title),
        make("thead", null, make("tr", null, ...titles.map((t) => make(
          "th",
          { scope: "col", class: t.startsWith("<") ? "name" : "" },
          t.replace("<", "")
        )))),
        make("tbody", null, ...rows2.map((row) => make("tr", null, ...row.map((cell, k) => make("td", { class: titles[k].startsWith("<") ? "name" : "" }, cell)))))
      )),
      ...more2 ? [make("p", { class: "dim" }, more2)] : []
    );
  }
  function drawRest() {
    const real = (n) => n.toFixed(3), parts = [];
    if (ranks.others.length)
      parts.push(section(
        "Other kernels that communicate",
        ["Rank", "Count", "Time", "<Library", "<Kernel"],
        ranks.others.slice(0, MAX_OTHERS).map(([r, nr, ns, library, kernel]) => [list2.number[r], integer.format(nr), time(ns), library, kernel]),
        "Nothing tells which of them belong together." + (ranks.others.length + ranks.others_left_out > MAX_OTHERS ? ` And ${plural(ranks.others.length + ranks.others_left_out - MAX_OTHERS, "more")}.` : "")
      ));
    if (ranks.clocks.length > 1)
      parts.push(section(
        "Clocks",
        ["<Host", "<Aligned by", "Collectives", "Ahead, \xB5s", "Error, \xB5s", "Drift, ppm"],
        ranks.clocks.slice(0, MAX_OTHERS).map(([host, by, nr, ...numbers2]) => [host, by, integer.format(nr), ...numbers2.map(real)]),
        "Half of the collectives that a clock is aligned by end no further apart than its error."
      ));
    el("ranks-rest").replaceChildren(...parts);
  }
  function drawRanks() {
    const fits = matcher(state.ranksTerm), rows2 = Array.from({ length: nrRanks }, (_, r) => r).filter(fits);
    for (const b of el("heat-modes").children) {
      b.setAttribute("aria-checked", b.dataset.heat === state.heat);
      b.tabIndex = b.dataset.heat === state.heat ? 0 : -1;
    }
    if (el("ranks-filter").value !== state.ranksTerm)
      el("ranks-filter").value = state.ranksTerm;
    keepFocus(el("ranks"), () => {
      drawAnswer();
      drawTable(rows2);
      drawCollectives();
      drawRest();
    });
    drawHeat(rows2);
  }
  function setUpRanks() {
    if (!ranks)
      return;
    setUpHeat();
    el("ranks-filter").addEventListener("input", () => go({ ranksTerm: el("ranks-filter").value }, true));
    for (const b of el("heat-modes").children)
      b.addEventListener("click", () => go({ heat: b.dataset.heat }));
    el("heat-modes").addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight")
        return;
      event.preventDefault();
      go({ heat: state.heat === "waits" ? "caused" : "waits" });
      el("heat-modes").querySelector('[aria-checked="true"]').focus();
    });
  }

  // src/sandwich.js
  var ROW3 = 18;
  var MAX_DEPTH = 200;
  function nodesOf2(frame) {
    const list4 = [];
    for (let i = 1; i < nrNodes; i++)
      if (frameOf[i] === frame && width[i] > 0) {
        list4.push(i);
        i = endOf[i] - 1;
      }
    return list4;
  }
  function merge(pairs) {
    const byFrame = /* @__PURE__ */ new Map();
    for (const pair of pairs) {
      const frame = frameOf[pair.i];
      if (!byFrame.has(frame))
        byFrame.set(frame, { frame, v: 0, pairs: [] });
      const m = byFrame.get(frame);
      m.v += pair.v;
      m.pairs.push(pair);
    }
    return [...byFrame.values()].sort((a, b) => b.v - a.v || a.frame - b.frame);
  }
  var callers = (pairs) => pairs.filter((p) => parentOf[p.i] > 0).map((p) => ({ i: parentOf[p.i], v: p.v }));
  function callees(pairs) {
    const list4 = [];
    for (const p of pairs)
      forChildren(p.i, (i) => {
        if (width[i] > 0)
          list4.push({ i, v: width[i] });
      });
    return list4;
  }
  function layOut(pairs, next2, all, pixels) {
    const placed2 = [], least = all / pixels;
    let rows2 = [{ pairs, x: 0 }];
    for (let level = 0; level < MAX_DEPTH && rows2.length; level++) {
      const below = [];
      for (const row of rows2) {
        let x = row.x, narrow = 0, nr = 0;
        for (const m of merge(next2(row.pairs))) {
          if (m.v < least) {
            narrow += m.v;
            nr++;
            continue;
          }
          placed2.push({ frame: m.frame, v: m.v, x, level });
          below.push({ pairs: m.pairs, x });
          x += m.v / all * pixels;
        }
        if (narrow >= least)
          placed2.push({ frame: NONE, v: narrow, x, level, words: plural(nr, "frame") });
      }
      rows2 = below;
    }
    return placed2;
  }
  function rect(p, y, all, pixels) {
    const w = p.v / all * pixels;
    const name = p.frame === NONE ? p.words : frames.name[p.frame];
    const chars = Math.floor((w - 6) / 6.7);
    const box = draw(
      "g",
      { class: p.frame === NONE ? "frame rest" : "frame", "data-frame": p.frame },
      draw("title", null, `${name}
${format(p.v)}, ${percent(p.v, width[0])} of all`),
      draw("rect", {
        x: p.x.toFixed(2),
        y,
        width: Math.max(0.5, w - 0.6).toFixed(2),
        height: ROW3 - 1,
        fill: p.frame === NONE ? "hsl(215,8%,80%)" : frameColour(p.frame)
      })
    );
    if (chars >= 3)
      box.append(draw(
        "text",
        { x: (p.x + 3).toFixed(2), y: y + 13 },
        name.length > chars ? name.slice(0, chars - 1) + "\u2026" : name
      ));
    return box;
  }
  function chart(id, placed2, up, all, pixels, words) {
    const levels2 = placed2.reduce((n, p) => Math.max(n, p.level + 1), 0);
    if (!levels2)
      return make("p", { id, class: "nothing" }, words);
    return draw(
      "svg",
      { id, width: pixels, height: levels2 * ROW3, viewBox: `0 0 ${pixels} ${levels2 * ROW3}`, "aria-hidden": "true" },
      ...placed2.map((p) => rect(p, (up ? levels2 - 1 - p.level : p.level) * ROW3, all, pixels))
    );
  }
  function list3(title, placed2) {
    return make("div", { class: "hidden keys" }, make("h3", null, title), make(
      "ul",
      null,
      ...placed2.filter((p) => !p.level && p.frame !== NONE).slice(0, 50).map((p) => make(
        "li",
        null,
        make(
          "button",
          { type: "button", onclick: () => go({ focus: p.frame }) },
          `${isolated(frames.name[p.frame])}: ${format(p.v)}`
        )
      ))
    ));
  }
  function figures(nodes) {
    if (!diff)
      return format(nodes.reduce((sum2, i) => sum2 + total[0][i], 0));
    const [a, b] = [0, 1].map((s) => nodes.reduce((sum2, i) => sum2 + total[s][i], 0));
    return `A ${format(a)}, B ${format(b)}, ${formatDelta(b - a)}`;
  }
  function showInGraph() {
    const term = "^" + frames.name[state.focus].replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "$";
    el("search").value = term;
    go({ term, zoom: 0, group: "", open: "all", tab: "graph" });
  }
  function drawSandwich() {
    const box = el("sandwich"), nodes = nodesOf2(state.focus);
    const pairs = nodes.map((i) => ({ i, v: width[i] })), all = pairs.reduce((sum2, p) => sum2 + p.v, 0);
    const pixels = Math.max(160, box.clientWidth - 24);
    const up = all ? layOut(pairs, callers, all, pixels) : [], down = all ? layOut(pairs, callees, all, pixels) : [];
    const own = nodes.reduce((sum2, i) => sum2 + onCpu(i), 0);
    box.replaceChildren(
      make(
        "p",
        { class: "actions" },
        make("button", { type: "button", id: "show-in-graph", onclick: showInGraph }, "Show in the flame graph"),
        make("button", {
          type: "button",
          class: "close",
          "aria-label": "Close callers and callees",
          onclick: () => go({ focus: NONE })
        }, "\xD7")
      ),
      make("h3", null, "Called by"),
      chart("callers", up, true, all, pixels, "Nothing: it is where calls begin."),
      list3("Callers", up),
      make("h2", {
        id: "focus-name",
        tabindex: "0",
        style: `background:${frameColour(state.focus)}`
      }, frames.name[state.focus]),
      make("p", { id: "focus-total" }, all ? `${figures(nodes)} in ${plural(nodes.length, "place")}, ${percent(all, width[0])} of all` + (own ? `; itself on CPU ${format(own)}` : "") : "Nothing of what is chosen is in it."),
      make("h3", null, "Calls"),
      chart("callees", down, false, all, pixels, "Nothing."),
      list3("Callees", down)
    );
    box.onclick = (event) => {
      const g = event.target.closest("g.frame");
      if (g && +g.dataset.frame !== NONE)
        go({ focus: +g.dataset.frame });
    };
  }

  // src/top.js
  var TOP_ROWS = 500;
  function frameRows() {
    const nr = frames.name.length, sums2 = () => sides.map(() => new Float64Array(nr));
    const selfs = sums2(), totals = sums2(), counts3 = sums2();
    const until = new Int32Array(nr);
    for (let i = 1; i < nrNodes; i++) {
      const f = frameOf[i], outermost = i >= until[f];
      for (let s = 0; s < sides.length; s++) {
        selfs[s][f] += self[s][i];
        totals[s][f] += outermost ? total[s][i] : 0;
        counts3[s][f] += outermost ? count[s][i] : 0;
      }
      if (outermost)
        until[f] = endOf[i];
    }
    const rows2 = [];
    const present2 = (f) => totals.some((t) => t[f] > 0) || measure() === "ns" && counts3.some((n) => n[f] > 0);
    for (let f = 0; f < nr; f++)
      if (present2(f) && !frames.root[f] && (!matches || matches[f]))
        rows2.push({
          frame: f,
          self: selfs.map((v) => v[f]),
          total: totals.map((v) => v[f]),
          count: counts3.map((v) => v[f])
        });
    return rows2;
  }
  var sum = (list4) => list4.reduce((a, b) => a + b, 0);
  var delta = (r) => diff ? r.total[1] - r.total[0] : 0;
  var TOP_KEYS = {
    self: (r) => sum(r.self),
    total: (r) => sum(r.total),
    count: (r) => sum(r.count),
    delta: (r) => Math.abs(delta(r)),
    name: null
  };
  function topColumns() {
    const columns = [];
    sides.forEach((_, s) => {
      const side = diff ? " " + sideNames[s] : "";
      columns.push(
        ["Self" + side, "self", (r) => r.self[s] ? format(r.self[s]) : ""],
        ["", null, (r) => r.self[s] ? percent(r.self[s], total[s][0]) : ""],
        ["Total" + side, "total", (r) => format(r.total[s])],
        ["", null, (r) => percent(r.total[s], total[s][0])]
      );
      if (count[s][0])
        columns.push(["Count" + side, "count", (r) => r.count[s] ? integer.format(r.count[s]) : ""]);
    });
    if (diff)
      columns.push([`Total ${sideNames[1]} \u2212 ${sideNames[0]}`, "delta", (r) => formatDelta(delta(r))]);
    return columns;
  }
  function topRow(r, columns, reached) {
    const name = frames.name[r.frame], focus = () => go({ focus: r.frame });
    return make(
      "tr",
      {
        onclick: focus,
        title: name.slice(0, 2e3),
        ...r.frame === state.focus ? { "aria-selected": "true", class: "selected" } : {}
      },
      ...columns.map(([, sort, cell]) => make("td", { class: sort ? "" : "share" }, cell(r))),
      make(
        "td",
        { class: "name" },
        make("span", { class: "swatch", style: `background:${frameColour(r.frame)}` }),
        make("button", { type: "button", class: "plain", "data-frame": r.frame, tabindex: reached ? "0" : "-1" }, name)
      )
    );
  }
  function drawTable2() {
    const rows2 = frameRows(), key = TOP_KEYS[state.sortBy], columns = topColumns();
    const name = (r) => frames.name[r.frame];
    const byName2 = (a, b) => name(a) < name(b) ? -1 : name(a) > name(b) ? 1 : 0;
    const head = make("tr"), body = make("tbody");
    const header2 = (text2, sort, cls) => make("th", {
      scope: "col",
      class: cls,
      ...sort && sort === state.sortBy ? { "aria-sort": sort === "name" ? "ascending" : "descending" } : {}
    }, ...sort ? [make("button", { type: "button", "data-sort": sort, onclick: () => go({ sortBy: sort }) }, text2)] : [make("span", { title: "of all that is chosen" }, "%")]);
    for (const r of rows2) {
      r.key = key ? key(r) : 0;
      r.second = key ? sum(r.total) : 0;
    }
    rows2.sort((a, b) => b.key - a.key || b.second - a.second || byName2(a, b));
    columns.forEach(([text2, sort]) => head.append(header2(text2, sort, sort ? "" : "share")));
    head.append(header2("Name", "name", "name"));
    const shown = rows2.slice(0, TOP_ROWS), focus = Math.max(0, shown.findIndex((r) => r.frame === state.focus));
    shown.forEach((r, k) => body.append(topRow(r, columns, k === focus)));
    el("top-list").replaceChildren(
      make("table", null, make("thead", null, head), body),
      make("p", null, rows2.length > TOP_ROWS ? `${integer.format(rows2.length - TOP_ROWS)} more rows; search to narrow them down.` : !rows2.length ? matches ? "Nothing of what is chosen matches the search." : emptyWords() : `${plural(rows2.length, "row")}. A click shows a row's callers and callees.`)
    );
  }
  function listenToTop() {
    el("top-list").addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], now = document.activeElement;
      const list4 = [...el("top-list").querySelectorAll("[data-frame]")], next2 = list4[list4.indexOf(now) + step];
      if (!step || !list4.includes(now))
        return;
      event.preventDefault();
      if (!next2)
        return;
      now.tabIndex = -1;
      next2.tabIndex = 0;
      next2.focus();
    });
  }
  function drawTop() {
    const at3 = el("top-list").scrollTop;
    keepFocus(el("top-list"), drawTable2);
    el("top-list").scrollTop = at3;
    el("sandwich").hidden = state.focus === NONE;
    if (state.focus !== NONE)
      drawSandwich();
  }

  // src/input.js
  function neighbour(key) {
    const i = state.selected, outward = state.flame ? "ArrowDown" : "ArrowUp";
    let best = NONE;
    if (i === NONE)
      return state.zoom;
    if (key === outward)
      return i ? endsOf(parentOf[endsOf(i)[0]])[0] : i;
    if (key === "ArrowUp" || key === "ArrowDown") {
      forChildren(endsOf(i)[1], (c) => {
        if (width[c] > 0 && (best === NONE || width[c] > width[best]))
          best = c;
      });
      return best === NONE ? i : best;
    }
    if (!i)
      return i;
    const row = [];
    forChildren(parentOf[i], (c) => {
      if (width[c] > 0)
        row.push(c);
    });
    if (state.order === "value")
      row.sort((a, b) => width[b] - width[a]);
    best = row[row.indexOf(i) + (key === "ArrowRight" ? 1 : -1)];
    return best === void 0 ? i : best;
  }
  function stepOut() {
    const panel2 = closePanels(null);
    if (panel2) {
      panel2.querySelector("summary").focus();
    } else if (state.term) {
      el("search").value = "";
      go({ term: "" });
    } else if (state.tab === "top" && state.focus !== NONE) {
      go({ focus: NONE });
    } else if (state.zoom || state.group || state.selected !== NONE) {
      go({ zoom: 0, group: "", selected: NONE });
    } else if (isPicked()) {
      go({ from: 0, to: times.nr });
    } else if (ranks && state.tab !== "ranks") {
      go({ tab: "ranks" });
    } else if (ranks && (state.ranksTerm || state.collective !== NONE)) {
      go({ ranksTerm: "", collective: NONE });
    }
  }
  var next = (list4, value) => list4[(list4.indexOf(value) + 1) % list4.length];
  function toTab(tab) {
    if (!el("tab-" + tab).hidden)
      go({ tab });
  }
  var KEYS2 = {
    "/": () => {
      el("search").focus();
      el("search").select();
    },
    "?": openHelp,
    1: () => toTab(TABS[0]),
    2: () => toTab(TABS[1]),
    3: () => toTab(TABS[2]),
    4: () => toTab(TABS[3]),
    t: () => go({ mode: next(MODES.filter(hasMode), state.mode) }),
    b: () => go({ by: next(groupings().map(([by]) => by), state.by) }),
    i: flip,
    o: () => go({ strip: !state.strip }),
    f: () => go({ open: state.open ? DEFAULTS.open : "all" }),
    c: copyPath,
    s: () => {
      if (state.selected > 0)
        go({ tab: "top", focus: frameOf[state.selected] });
    },
    u: () => {
      if (state.group)
        go({ group: "" });
      else if (state.zoom)
        select(parentOf[state.zoom], true);
    }
  };
  function onFrame(d) {
    if (d.what === "narrow")
      go({ zoom: d.i, group: `${d.first}-${d.last}-${d.limit}`, selected: NONE });
    else if (d.what === "fold")
      go({ open: [state.open, d.run[0]].filter((v) => v !== "").join(".") });
    else if (d.what === "cpu")
      go({ selected: d.i }, true);
    else
      select(d.i, true);
  }
  function onChartKey(event) {
    if (/^Arrow/.test(event.key)) {
      event.preventDefault();
      select(neighbour(event.key), false);
      const place2 = placeOf(state.selected);
      if (place2)
        reveal(place2);
    } else if (event.key === "Enter" && state.selected !== NONE) {
      const place2 = placeOf(state.selected);
      onFrame(place2 ? place2.d : { i: state.selected });
    }
  }
  function onKey2(event) {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.ctrlKey || event.altKey || event.metaKey || el("help").open)
      return;
    if (event.key === "Escape") {
      stepOut();
      if (typing)
        event.target.blur();
    } else if (!typing && Object.hasOwn(KEYS2, event.key)) {
      event.preventDefault();
      KEYS2[event.key]();
    } else if (event.target === el("chart")) {
      onChartKey(event);
    }
  }
  function onResize(id, tab, redraw) {
    let width2 = 0;
    new ResizeObserver(() => {
      const now = el(id).clientWidth;
      if (now === width2 || state.tab !== tab || el(id).hidden)
        return;
      width2 = now;
      redraw();
    }).observe(el(id));
  }
  function listenToGraph() {
    const chart2 = el("chart");
    let over = null;
    const leave = () => {
      over = null;
      surround("hovered", null);
      hideTip();
    };
    chart2.addEventListener("click", (event) => {
      const place2 = frameAt(event);
      if (place2)
        onFrame(place2.d);
    });
    chart2.addEventListener("mousemove", (event) => {
      const place2 = frameAt(event);
      chart2.classList.toggle("over", Boolean(place2));
      if (!place2) {
        leave();
      } else if (place2 === over) {
        moveTip(event);
      } else {
        over = place2;
        surround("hovered", place2);
        showTip(event, place2.d);
      }
    });
    chart2.addEventListener("mouseleave", leave);
    chart2.addEventListener("scroll", leave);
  }
  function listen() {
    listenToGraph();
    listenToTop();
    document.addEventListener("keydown", onKey2);
    onResize("chart", "graph", drawGraph);
    onResize("sandwich", "top", drawSandwich);
    onResize("ranks", "ranks", drawRanks);
  }

  // src/strip.js
  var HEIGHT = 14;
  var GAP = 2;
  var MAX_DEVICES = 8;
  var MAX_THREADS = 5;
  var MAX_GAPS = 600;
  var STATES = ["cpu", "gpu_wait", "off_cpu"].map((kind) => kinds.indexOf(kind));
  function recordedIn(from, to) {
    let sum2 = 0;
    for (const [begin, end, ns] of times.recorded) {
      if (begin >= to)
        break;
      if (end > from)
        sum2 += ns * (Math.min(end, to) - Math.max(begin, from)) / (end - begin || 1);
    }
    return sum2;
  }
  function gaps() {
    const { from_ns: first, bin_ns: width2, nr } = times.rows, span = width2 * nr, list4 = [];
    let at3 = first;
    for (const [begin, end] of [...times.recorded, [first + span, first + span]]) {
      if (begin - at3 > span / MAX_GAPS)
        list4.push(make("div", { class: "gap", style: `left:${100 * (at3 - first) / span}%;width:${100 * (begin - at3) / span}%` }));
      at3 = Math.max(at3, end);
    }
    return list4;
  }
  function series(list4) {
    const v = new Float64Array(times.rows.nr);
    for (const row of list4)
      row.bin.forEach((bin, k) => {
        v[bin] += row.ns[k];
      });
    return v;
  }
  var sumOf2 = (list4) => list4.reduce((sum2, row) => sum2 + row.ns.reduce((a, b) => a + b, 0), 0);
  function lines2() {
    const list4 = times.rows.list, width2 = times.rows.bin_ns, all = [];
    const gpus = list4.filter((row) => row.gpu !== void 0).sort((a, b) => a.gpu - b.gpu);
    const threads = /* @__PURE__ */ new Map(), cpu = kinds.indexOf("cpu");
    const onCpu2 = list4.filter((row) => row.kind === cpu);
    for (const row of list4.filter((r) => r.kind !== void 0)) {
      const key = `${row.pid} ${row.tid}`;
      if (!threads.has(key))
        threads.set(key, { name: `${isolated(seen(row.name))} ${row.tid === void 0 ? "" : row.tid}`, rows: [], active: 0 });
      const thread = threads.get(key);
      thread.rows.push(row);
      thread.active += sumOf2([row]) * (kinds[row.kind] === "off_cpu" ? 1e-6 : 1);
    }
    const kernel = kinds.indexOf("kernel");
    for (const row of gpus.slice(0, MAX_DEVICES))
      all.push({ name: `GPU ${row.gpu}`, nr: 1, device: true, layers: [[kernel, series([row])]] });
    if (gpus.length > MAX_DEVICES)
      all.push({
        name: plural(gpus.length - MAX_DEVICES, "more GPU"),
        device: true,
        nr: gpus.length - MAX_DEVICES,
        layers: [[kernel, series(gpus.slice(MAX_DEVICES))]]
      });
    const byActivity = [...threads.values()].sort((a, b) => b.active - a.active);
    for (const thread of byActivity.slice(0, MAX_THREADS))
      all.push({ name: thread.name, nr: 1, layers: STATES.filter((k) => k >= 0).map((kind) => [kind, series(thread.rows.filter((row) => row.kind === kind))]) });
    if (byActivity.length > MAX_THREADS) {
      const rest = byActivity.slice(MAX_THREADS).flatMap((thread) => thread.rows), nr = byActivity.length - MAX_THREADS;
      all.push({ name: plural(nr, "more thread"), nr, layers: STATES.filter((k) => k >= 0).map((kind) => [kind, series(rest.filter((row) => row.kind === kind))]) });
    }
    if (onCpu2.length) {
      const v = series(onCpu2), most2 = Math.max(1, Math.ceil(v.reduce((a, b) => Math.max(a, b), 0) / width2 - 0.05));
      all.push({ name: `CPU use, of ${most2}`, nr: most2, layers: [[cpu, v]] });
    }
    return all;
  }
  var rows = null;
  var full = null;
  var painted = null;
  function fullBins() {
    const { from_ns: from, bin_ns: width2, nr } = times.rows;
    return Float64Array.from({ length: nr }, (_, b) => times.nrWindows && recordedIn(from + b * width2, from + (b + 1) * width2) || width2);
  }
  function outline2(low, high, nr, y) {
    const at3 = (v, b) => (y + HEIGHT - Math.min(1, v / (full[b] * nr)) * HEIGHT).toFixed(2);
    let up = "", down = "";
    for (let b = 0; b < high.length; b++) {
      up += `L${b},${at3(high[b], b)}L${b + 1},${at3(high[b], b)}`;
      down = `L${b + 1},${at3(low[b], b)}L${b},${at3(low[b], b)}` + down;
    }
    return "M" + (up + down).slice(1) + "Z";
  }
  function drawRows() {
    const nr = times.rows.nr, svg = el("strip-rows");
    const height2 = rows.length * (HEIGHT + GAP);
    svg.setAttribute("viewBox", `0 0 ${nr} ${height2}`);
    svg.style.height = height2 + "px";
    svg.replaceChildren(...rows.flatMap((row, r) => {
      const y = r * (HEIGHT + GAP);
      let low = new Float64Array(nr);
      return [
        draw("rect", { class: "ground", x: 0, y, width: nr, height: HEIGHT }),
        ...row.layers.map(([kind, values2]) => {
          const high = low.map((v, b) => v + values2[b]);
          const path = draw("path", {
            d: outline2(low, high, row.nr, y),
            fill: kindColour(kind, 0.5),
            "data-kind": kinds[kind],
            "data-row": row.name
          });
          low = high;
          return path;
        })
      ];
    }));
    for (const gap of el("strip-area").querySelectorAll(".gap"))
      gap.remove();
    if (times.nrWindows)
      el("stretch").before(...gaps());
  }
  function drawLegend() {
    const shown = new Set(rows.filter((row) => !row.device).flatMap((row) => row.layers.filter(([, values2]) => values2.some(Boolean)).map(([kind]) => kind)));
    const entry = (cls, style, words) => make("span", null, make("span", { class: cls, style }), words);
    el("strip-legend").replaceChildren(
      ...STATES.filter((kind) => shown.has(kind)).map((kind) => entry("swatch", `background:${kindColour(kind, 0.5)}`, kindWords(kind))),
      ...times.nrWindows ? [entry("swatch gap", "", "not recorded")] : []
    );
  }
  var sumBins = (values2, first, last) => values2.subarray(first, last).reduce((sum2, v) => sum2 + v, 0);
  var share = (part2, whole) => whole > 0 ? (100 * part2 / whole).toFixed(1) + "%" : "\u2013";
  var rowBin = (b) => Math.min(times.rows.nr, Math.max(
    0,
    Math.round((times.from + b * times.width - times.rows.from_ns) / times.rows.bin_ns)
  ));
  function drawNames() {
    const { from_ns: from, bin_ns: width2 } = times.rows;
    const first = isPicked() ? rowBin(state.from) : 0, last = isPicked() ? rowBin(state.to) : times.rows.nr;
    const whole = isPicked() ? recordedIn(from + first * width2, from + last * width2) : recordedIn(-Infinity, Infinity);
    el("strip-names").replaceChildren(...rows.map((row) => {
      const busy = row.device ? share(sumBins(row.layers[0][1], first, last), whole * row.nr) : "";
      return make("div", { title: row.name + (busy && `: busy ${busy} of the time` + (isPicked() ? " picked" : "") + (times.nrWindows ? " that was recorded" : "")) }, row.name + (busy && " " + busy));
    }));
  }
  function part(b) {
    const rowsFrom = times.rows.from_ns, span = times.rows.nr * times.rows.bin_ns;
    return Math.min(1, Math.max(0, (times.from + b * times.width - rowsFrom) / span));
  }
  function binAt(at3) {
    const ns = times.rows.from_ns + at3 * times.rows.nr * times.rows.bin_ns;
    return Math.min(times.nr - 1, Math.max(0, Math.floor((ns - times.from) / times.width)));
  }
  function placeStretch(from, to) {
    const box = el("stretch"), picked = from > 0 || to < times.nr;
    box.hidden = !picked;
    box.style.left = 100 * part(from) + "%";
    box.style.width = 100 * (part(to) - part(from)) + "%";
  }
  var at2 = (b) => formatMoment(Math.max(0, times.from + b * times.width), times.width);
  function recordedWords() {
    const ns = recordedIn(times.from + state.from * times.width, times.from + state.to * times.width);
    return times.nrWindows ? `; ${formatTime(ns, "auto")} of it recorded` : "";
  }
  function describe3() {
    const { from, to } = state;
    const words = isPicked() ? `${at2(from)} to ${at2(to)}: ${formatTime((to - from) * times.width, "auto")} of ` + formatTime(times.nr * times.width, "auto") + recordedWords() : `all of the time, ${at2(0)} to ${at2(times.nr)}${recordedWords()}` + (times.nrWindows ? ` in ${plural(times.nrWindows, "window")}` : "");
    el("stretch-words").replaceChildren(words, ...!isPicked() && times.nr > 1 ? [make("span", { class: "drag" }, ": drag over a stretch to see it alone")] : []);
    el("stretch-words").title = `Steps of ${formatTime(times.width, "auto")}. Time that has no place on this line, such as many short waits recorded as one sum, is left out of a stretch.` + (times.rest ? ` ${plural(times.rest, "small call path")} stand together there.` : "");
    el("all-time").hidden = !isPicked();
    el("strip-area").setAttribute("aria-valuetext", words);
    el("strip-area").setAttribute("aria-valuenow", state.from);
  }
  function movePicked(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key], length = state.to - state.from;
    if (!step || times.nr < 2)
      return;
    event.preventDefault();
    event.stopPropagation();
    if (!isPicked()) {
      const eighth = Math.max(1, Math.round(times.nr / 8));
      go(step > 0 ? { from: 0, to: eighth } : { from: times.nr - eighth, to: times.nr });
    } else if (event.shiftKey) {
      go({ to: Math.min(times.nr, Math.max(state.from + 1, state.to + step)) }, true);
    } else {
      const from = Math.min(times.nr - length, Math.max(0, state.from + step));
      go({ from, to: from + length }, true);
    }
  }
  function listenToDrag() {
    const area = el("strip-area");
    let start2 = null, startX = 0;
    const where = (event) => {
      const box = area.getBoundingClientRect();
      return binAt((event.clientX - box.left) / box.width);
    };
    const ends = (event) => {
      const now = where(event);
      return [Math.min(start2, now), Math.max(start2, now) + 1];
    };
    area.addEventListener("pointerdown", (event) => {
      if (event.button || times.nr < 2)
        return;
      start2 = where(event);
      startX = event.clientX;
      area.setPointerCapture(event.pointerId);
    });
    area.addEventListener("pointermove", (event) => {
      if (start2 !== null && Math.abs(event.clientX - startX) > 3)
        placeStretch(...ends(event));
    });
    area.addEventListener("pointerup", (event) => {
      if (start2 === null)
        return;
      const [from, to] = Math.abs(event.clientX - startX) > 3 ? ends(event) : [0, times.nr];
      start2 = null;
      go({ from, to });
    });
    area.addEventListener("pointercancel", () => {
      start2 = null;
      drawStrip();
    });
    area.addEventListener("keydown", movePicked);
  }
  function hover(event) {
    const box = el("strip-rows").getBoundingClientRect(), { from_ns: from, bin_ns: width2, nr } = times.rows;
    const b = Math.floor((event.clientX - box.left) / box.width * nr);
    const row = rows[Math.floor((event.clientY - box.top) / (HEIGHT + GAP))];
    if (b < 0 || b >= nr || !row || event.buttons) {
      hideTip();
      return;
    }
    const recorded = !times.nrWindows || recordedIn(from + b * width2, from + (b + 1) * width2) > 0;
    const parts = row.layers.filter(([, values2]) => values2[b] > 0).map(([kind, values2]) => [row.device ? "busy" : kindWords(kind), share(values2[b], full[b] * row.nr)]);
    showWords(event, row.name, [
      ["at", formatMoment(Math.max(0, from + b * width2), width2)],
      ["in", formatTime(width2, "auto")],
      ...parts.length ? parts : [["", recorded ? "nothing" : "not recorded"]]
    ]);
  }
  function drawStrip() {
    const shown = Boolean(times) && state.strip;
    el("strip").hidden = !shown;
    if (!shown)
      return;
    rows || (rows = lines2());
    full || (full = fullBins());
    if (painted !== dark.matches) {
      drawRows();
      drawLegend();
      painted = dark.matches;
    }
    drawNames();
    placeStretch(state.from, state.to);
    describe3();
  }
  function setUpStrip() {
    if (!times)
      return;
    el("strip-area").setAttribute("aria-valuemax", times.nr - 1);
    el("all-time").addEventListener("click", () => go({ from: 0, to: times.nr }));
    listenToDrag();
    el("strip-area").addEventListener("mousemove", hover);
    el("strip-area").addEventListener("mouseleave", hideTip);
  }

  // src/controls.js
  var MODE_WORDS = { gpu: "GPU time", thread: "Thread time", both: "Both" };
  function setOptions(id, options, change) {
    const box = el(id);
    box.replaceChildren(...options.map(([v, text2]) => make("option", { value: v }, text2)));
    box.addEventListener("change", () => change(box.value));
  }
  function show2(id, shown) {
    el(id).style.display = shown ? "" : "none";
  }
  var offKinds = () => state.off.split(".").filter(Boolean);
  function toggleKind(k, alone) {
    const of = kindsOf(state.mode), all = kinds.filter((_, n) => of[n]);
    const off = new Set(offKinds());
    if (alone)
      all.forEach((kind) => kind === kinds[k] ? off.delete(kind) : off.add(kind));
    else if (!off.delete(kinds[k]))
      off.add(kinds[k]);
    go({ off: kinds.filter((kind) => off.has(kind)).join(".") });
  }
  function setUpModes() {
    for (const mode of MODES.filter(hasMode))
      el("modes").append(make("button", {
        type: "button",
        role: "radio",
        "data-mode": mode,
        onclick: () => go({ mode })
      }, MODE_WORDS[mode], " ", make("b")));
    show2("modes", hasMode("gpu") && hasMode("thread"));
    kinds.forEach((kind, k) => {
      if (present[k])
        el("kinds").append(make(
          "button",
          {
            type: "button",
            class: "kind",
            "data-kind": kind,
            title: "Count or leave out; with Shift, this one only",
            onclick: (event) => toggleKind(k, event.shiftKey)
          },
          make("span", { class: "swatch" }),
          kindWords(k),
          " ",
          make("b")
        ));
    });
  }
  function sumWords(list4, of) {
    return list4.map((sums2) => format(sums2.reduce((sum2, v, k) => sum2 + (of(k) ? v : 0), 0))).join(" \u2192 ");
  }
  var hasUnit = (k) => ofMemory || isDevice[k] || state.unit !== "bytes" && (state.unit !== "count" || state.mode === "thread");
  function paintChoices() {
    const sums2 = sides.map((_, s) => sumsOfKinds(s)), off = offKinds(), of = kindsOf(state.mode);
    for (const b of el("modes").children) {
      b.setAttribute("aria-checked", b.dataset.mode === state.mode);
      b.tabIndex = b.dataset.mode === state.mode ? 0 : -1;
      b.lastChild.textContent = sumWords(sums2, (k) => kindsOf(b.dataset.mode)[k] && hasUnit(k));
    }
    for (const b of el("kinds").children) {
      const k = kinds.indexOf(b.dataset.kind);
      b.hidden = !of[k];
      b.setAttribute("aria-pressed", !off.includes(kinds[k]));
      b.firstChild.style.background = kindColour(k, 0.5);
      b.lastChild.textContent = hasUnit(k) ? sumWords(sums2, (n) => n === k) : "";
    }
    for (const id of ["by", "gpu", "unit", "order", "width", ...ranks ? ["rank"] : []])
      el(id).value = state[id];
    el("flip").textContent = state.flame ? "Icicle" : "Flame";
    el("overview").setAttribute("aria-pressed", state.strip);
    show2("graph-controls", state.tab === "graph");
    document.body.dataset.tab = state.tab;
  }
  function paintLegend() {
    if (diff)
      el("legend").replaceChildren(`less in ${ranks ? "this rank" : "B"} `, make("span", { class: "scale", style: `background:linear-gradient(90deg,${hsl(214, 82, 56)},${hsl(0, 0, 94)},${hsl(4, 82, 56)})` }), ` more in ${ranks ? "this rank" : "B"}`);
  }
  function setUpRank() {
    show2("rank-label", Boolean(ranks));
    if (ranks)
      setOptions(
        "rank",
        [["all", "all stragglers"], ...culprits().map((r) => [
          ranks.list.number[r],
          `${ranks.list.number[r]}, waits of ${formatTime(ranks.list.caused_ns[r], "auto")}`
        ])],
        (rank) => go({ rank, zoom: 0, group: "", selected: NONE })
      );
  }
  function setUpTabs() {
    el("tab-lines").hidden = !haveLines;
    el("tab-ranks").hidden = !ranks;
    for (const tab of TABS)
      el("tab-" + tab).addEventListener("click", () => showTab(tab));
    for (const [id, attribute] of [["tabs", "aria-selected"], ["modes", "aria-checked"]])
      el(id).addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        const list4 = [...el(id).children].filter((b) => !b.hidden);
        const now = list4.findIndex((b) => b.getAttribute(attribute) === "true");
        if (!step)
          return;
        event.preventDefault();
        const next2 = list4[(now + step + list4.length) % list4.length];
        next2.click();
        next2.focus();
      });
  }
  function setUpControls(redraw) {
    const gpus = /* @__PURE__ */ new Map();
    for (const side of ranks ? [] : sides)
      for (const gpu of side.gpus)
        gpus.set(gpu.number, gpu.name);
    setOptions("by", groupings(), (by) => go({ by }));
    el("by").title = data.without.length ? `Left out, for the page would be too large: ${data.without.join(", ")}` : "";
    setOptions("gpu", [["all", "all"], ...[...gpus].sort((a, b) => a[0] - b[0]).map(([number2, name]) => [number2, `GPU ${number2}${name ? " " + name : ""}`])], (gpu) => go({ gpu }));
    show2("gpu-label", gpus.size > 1);
    setOptions("unit", units.map((unit) => [unit, unit === "auto" ? "time" : unit]), (unit) => go({ unit }));
    setUpRank();
    show2("width-label", diff);
    if (ranks)
      ["larger of both", "median", "this rank"].forEach((name, k) => {
        el("width").options[k].textContent = name;
      });
    show2("overview", Boolean(times));
    el("width").addEventListener("change", () => go({ width: el("width").value }));
    el("order").addEventListener("change", () => go({ order: el("order").value }));
    el("flip").addEventListener("click", flip);
    el("reset").addEventListener("click", () => select(NONE, true));
    el("overview").addEventListener("click", () => go({ strip: !state.strip }));
    el("help-button").addEventListener("click", openHelp);
    el("search").addEventListener("input", () => go({ term: el("search").value }, true));
    setUpTabs();
    setUpModes();
    paintLegend();
    dark.addEventListener("change", () => {
      frameColours.clear();
      paintLegend();
      redraw();
    });
  }

  // src/view.js
  var SUMS = ["by", "from", "to", "mode", "off", "gpu", "rank", "unit", "width"];
  var SCROLL = ["by", "rank", "zoom", "group", "flame", "tab"];
  var REFUGE = { graph: "chart", top: "top-list", lines: "lines", ranks: "ranks" };
  function draw2() {
    for (const tab of TABS) {
      el(tab).hidden = tab !== state.tab;
      el("tab-" + tab).setAttribute("aria-selected", tab === state.tab);
      el("tab-" + tab).tabIndex = tab === state.tab ? 0 : -1;
    }
    paintChoices();
    drawStrip();
    if (state.tab === "graph")
      drawGraph();
    else if (state.tab === "top")
      drawTop();
    else if (state.tab === "lines")
      drawLines();
    else
      drawRanks();
    showMatched();
    showDetail();
  }
  function follow2(before) {
    const differs = (list4) => list4.some((member) => state[member] !== before[member]);
    if (differs(["by"]))
      regroup();
    for (const member of ["zoom", "selected"])
      if (state[member] >= nrNodes)
        state[member] = DEFAULTS[member];
    if (differs(["term", "by"]))
      search(state.term);
    if (differs(["from", "to"]))
      pick();
    if (differs(SUMS))
      compute();
    hideTip();
    if (!differs(Object.keys(DEFAULTS).filter((member) => member !== "selected")) && state.tab === "graph") {
      markSelected();
      showDetail();
      return;
    }
    draw2();
    if (differs(SCROLL))
      scrollToRoot();
  }
  function update(before) {
    const focused = document.activeElement !== document.body;
    follow2(before);
    if (focused && document.activeElement === document.body)
      el(state.tab === "top" && state.focus !== NONE ? "sandwich" : REFUGE[state.tab]).focus({ preventScroll: true });
  }
  function goTo() {
    const before = { ...state };
    Object.assign(state, readUrl());
    el("search").value = state.term;
    update(before);
  }
  function start() {
    setUpControls(draw2);
    onStep(update);
    regroup();
    compute();
    Object.assign(state, readUrl());
    el("search").value = state.term;
    update(Object.fromEntries(Object.keys(DEFAULTS).map((member) => [member, void 0])));
    addEventListener("popstate", goTo);
    addEventListener("hashchange", goTo);
  }

  // src/main.js
  setUpHeader();
  setUpStrip();
  setUpRanks();
  start();
  listen();
  document.documentElement.dataset.ready = "1";
})();
