/* SPDX-License-Identifier: MIT */
/* Bundled from merge/write/page/src/*.js by "make page"; do not edit. */
"use strict";
(() => {
  // src/data.js
  var data = JSON.parse(document.getElementById("xpu-data").textContent);
  var sides = data.sides;
  var diff = sides.length === 2;
  var kinds = data.kinds;
  var NONE = -1;
  var nrNodes = data.nodes.frame.length + 1;
  var frameOf = new Int32Array(nrNodes);
  var depthOf = new Int32Array(nrNodes);
  var parentOf = new Int32Array(nrNodes);
  var endOf = new Int32Array(nrNodes);
  (() => {
    const at = [0];
    frameOf[0] = NONE;
    parentOf[0] = NONE;
    for (let i = 1; i < nrNodes; i++) {
      frameOf[i] = data.nodes.frame[i - 1];
      depthOf[i] = data.nodes.depth[i - 1] + 1;
      parentOf[i] = at[depthOf[i] - 1];
      at[depthOf[i]] = i;
    }
    for (let i = nrNodes - 1; i >= 0; i--) {
      endOf[i] = Math.max(endOf[i], i + 1);
      if (i)
        endOf[parentOf[i]] = Math.max(endOf[parentOf[i]], endOf[i]);
    }
  })();
  var cells = {
    nr: data.cells.node.length,
    node: Int32Array.from(data.cells.node, (n) => n + 1),
    kind: Uint8Array.from(data.cells.kind),
    gpu: Int32Array.from(data.cells.gpu),
    values: data.cells.values.map((v) => ({
      ns: Float64Array.from(v.ns),
      nr: Float64Array.from(v.nr),
      bytes: Float64Array.from(v.bytes)
    }))
  };
  var frames = data.frames;
  var nameOf = (i) => i ? frames.name[frameOf[i]] : "all";
  var fileOf = (i) => i ? data.files[frames.file[frameOf[i]]] : "";
  var kindOf = (i) => i ? frames.kind[frameOf[i]] : NONE;
  var whereName = (i) => kinds[kindOf(i)] === "kernel" ? "launched as" : "file";
  var present = new Array(kinds.length).fill(false);
  for (let c = 0; c < cells.nr; c++)
    present[cells.kind[c]] = true;
  var isDevice = kinds.map((kind) => ["kernel", "memcpy", "memset", "pending"].includes(kind));
  function forChildren(node, visit) {
    for (let i = node + 1; i < endOf[node]; i = endOf[i])
      visit(i);
  }

  // src/model.js
  var state = {
    kinds: present.slice(),
    gpu: "all",
    unit: data.unit,
    width: "larger",
    order: "name",
    flame: true,
    zoom: 0,
    selected: NONE,
    tab: "graph",
    term: "",
    sortBy: "self",
    kernel: "",
    /* whose lines are shown; "": that of the most samples */
    linesBy: "samples"
  };
  var self = sides.map(() => new Float64Array(nrNodes));
  var total = sides.map(() => new Float64Array(nrNodes));
  var count = sides.map(() => new Float64Array(nrNodes));
  var width = diff ? new Float64Array(nrNodes) : total[0];
  var shownBefore = new Int32Array(nrNodes + 1);
  var measure = () => state.unit === "count" ? "nr" : state.unit === "bytes" ? "bytes" : "ns";
  function unitIsOf(kind) {
    return measure() === "ns" || isDevice[kind] || !kinds.some((_, k) => isDevice[k] && present[k] && state.kinds[k]);
  }
  function cellCounts(c) {
    return state.kinds[cells.kind[c]] && unitIsOf(cells.kind[c]) && (state.gpu === "all" || cells.gpu[c] === NONE || cells.gpu[c] === +state.gpu);
  }
  function sumUp(totals) {
    for (let i = nrNodes - 1; i > 0; i--)
      totals[parentOf[i]] += totals[i];
  }
  function compute() {
    for (let s = 0; s < sides.length; s++) {
      const values = cells.values[s][measure()];
      self[s].fill(0);
      count[s].fill(0);
      for (let c = 0; c < cells.nr; c++) {
        if (!cellCounts(c))
          continue;
        self[s][cells.node[c]] += values[c] * sides[s].scale;
        if (isDevice[cells.kind[c]])
          count[s][cells.node[c]] += cells.values[s].nr[c];
      }
      total[s].set(self[s]);
      sumUp(total[s]);
      sumUp(count[s]);
    }
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

  // src/dom.js
  var el = (id) => document.getElementById(id);
  function make(tag, props, ...children) {
    const e = document.createElement(tag);
    for (const [name, value] of Object.entries(props || {})) {
      if (name.startsWith("on"))
        e.addEventListener(name.slice(2), value);
      else if (name === "class")
        e.className = value;
      else if (name === "style")
        e.style.cssText = value;
      else
        e.setAttribute(name, value);
    }
    e.append(...children);
    return e;
  }

  // src/words.js
  var TIMES = { ns: 1, "\xB5s": 1e3, ms: 1e6, s: 1e9 };
  var integer = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
  var fraction = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });
  var thousandths = new Intl.NumberFormat("en", { minimumFractionDigits: 3, maximumFractionDigits: 3 });
  function formatTime(ns, unit) {
    if (!TIMES[unit])
      unit = Math.abs(ns) < 1e3 ? "ns" : Math.abs(ns) < 1e6 ? "\xB5s" : Math.abs(ns) < 1e9 ? "ms" : "s";
    return (unit === "ns" ? fraction : thousandths).format(ns / TIMES[unit]) + " " + unit;
  }
  function formatBytes(bytes) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let i = 0;
    for (; Math.abs(bytes) >= 1024 && i < units.length - 1; i++)
      bytes /= 1024;
    return fraction.format(bytes) + " " + units[i];
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
  function percent(part, whole) {
    return whole ? (100 * part / whole).toFixed(2) + "%" : "\u2013";
  }
  var KIND_WORDS = {
    kernel: "kernels",
    memcpy: "copies",
    memset: "sets",
    pending: "pending",
    cpu: "on CPU",
    off_cpu: "off CPU",
    gpu_wait: "waits for the GPU"
  };
  function kindWords(kind) {
    return KIND_WORDS[kinds[kind]] || kinds[kind];
  }

  // src/search.js
  var matches = null;
  var pattern = null;
  function search(term) {
    const input = el("search");
    let regex;
    state.term = term;
    input.setAttribute("aria-invalid", "false");
    matches = null;
    pattern = null;
    if (!term)
      return;
    const flags = /[A-Z]/.test(term) ? "" : "i";
    try {
      regex = new RegExp(term, flags);
    } catch {
      input.setAttribute("aria-invalid", "true");
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
    el("matched").textContent = `${percent(sum2, width[0])} matched, ` + plural(nr, "frame");
  }

  // src/colours.js
  var dark = matchMedia("(prefers-color-scheme: dark)");
  var MATCH = "#e65cf0";
  var KIND_COLOURS = {
    kernel: [212, 16, 68, 66],
    memcpy: [174, 12, 48, 58],
    memset: [262, 12, 48, 72],
    pending: [338, 8, 62, 74],
    cpu: [26, 28, 88, 64],
    off_cpu: [215, 10, 10, 68],
    gpu_wait: [215, 10, 14, 76]
  };
  function hash(text) {
    let h = 2166136261;
    for (let i = 0; i < text.length && i < 64; i++)
      h = Math.imul(h ^ text.charCodeAt(i), 16777619);
    return (h >>> 0) / 4294967296;
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
    if (kind !== NONE)
      colour2 = kindColour(kind, vector);
    else if (name.endsWith("_[k]"))
      colour2 = hsl(350 + vector * 14, 62, 70);
    else if (/\.py:/.test(name))
      colour2 = hsl(50 + vector * 14, 78, 62);
    else if (/^\[.*\]$/.test(name))
      colour2 = hsl(30, 12, 76);
    else
      colour2 = hsl(8 + vector * 38, 86, 66);
    frameColours.set(frame, colour2);
    return colour2;
  }
  function deltaColour(i) {
    const larger = Math.max(total[0][i], total[1][i]);
    const change2 = larger ? (total[1][i] - total[0][i]) / larger : 0;
    const lightness = 94 - 38 * Math.sqrt(Math.abs(change2));
    return hsl(change2 > 0 ? 4 : 214, change2 ? 82 : 0, lightness);
  }
  function colour(i) {
    if (i && matches && matches[frameOf[i]])
      return MATCH;
    const own = !i ? hsl(30, 12, 82) : diff ? deltaColour(i) : frameColour(frameOf[i]);
    return matches ? own.replace("hsl(", "hsla(").replace(")", ",.45)") : own;
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
  sides.forEach((side, s) => {
    const v = side.stalls;
    v.samples.forEach((samples, i) => {
      const name = v.kernels[v.kernel[i]], place = v.places[v.place[i]];
      let k = kernels.get(name);
      if (!k)
        kernels.set(name, k = { sums: sides.map(newPlace), places: /* @__PURE__ */ new Map() });
      if (!k.places.has(place))
        k.places.set(place, sides.map(newPlace));
      for (const to of [k.sums[s], k.places.get(place)[s]])
        addSamples(to, v.reasons[v.reason[i]], samples, v.not_issued[i]);
    });
  });
  var samplesOf = (list) => list.reduce((sum2, p) => sum2 + p.samples, 0);
  var names = [...kernels.keys()].sort((a, b) => samplesOf(kernels.get(b).sums) - samplesOf(kernels.get(a).sums) || (a < b ? -1 : 1));
  var haveLines = names.length > 0;
  function kernelOf(i) {
    if (!haveLines || i < 1 || kinds[kindOf(i)] !== "kernel")
      return "";
    const name = nameOf(i).replace(/^\[GPU\d*_Kernel\]/, "");
    return names.find((n) => {
      const shown = n.replaceAll(";", ":");
      return name === shown || name.startsWith(shown + "<<<");
    }) || "";
  }
  function placeCell(place) {
    const frames2 = place.split(";").reverse();
    return make(
      "td",
      { class: "name", title: frames2.join("\n") },
      frames2[0],
      ...frames2.slice(1).map((f) => make("div", { class: "outer" }, "in " + f))
    );
  }
  function bar(place) {
    const box = make("div", { class: "reasons" });
    for (const [reason, nr] of [...place.reasons].sort((a, b) => b[1] - a[1]))
      if (nr)
        box.append(make("span", {
          style: `width:${100 * nr / place.samples}%;background:${reasonColour(reason)}`,
          title: `${reason}: ${integer.format(nr)}, ${percent(nr, place.samples)}`
        }));
    return box;
  }
  function largest(place) {
    let name = "", most = 0;
    for (const [reason, nr] of place.reasons)
      if (nr > most)
        [name, most] = [reason, nr];
    return name && `${name} ${percent(most, place.samples)}`;
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
    const kernel = make("select", { id: "lines-kernel", "aria-label": "Kernel", onchange: () => {
      state.kernel = kernel.value;
      drawLines();
    } }, ...names.map((n) => make("option", { value: n }, n)));
    const order = make("select", { id: "lines-by", onchange: () => {
      state.linesBy = order.value;
      drawLines();
    } }, ...[["samples", "by samples"], ["place", "by line"]].map(([v, text]) => make("option", { value: v }, text)));
    kernel.value = state.kernel;
    order.value = state.linesBy;
    return make(
      "div",
      { class: "choice" },
      make("label", null, "Kernel ", kernel),
      make("label", null, "Order ", order)
    );
  }
  function cellsOf(place, sum2) {
    return [
      make("td", null, integer.format(place.samples)),
      make("td", null, percent(place.samples, sum2.samples)),
      make("td", null, percent(place.notIssued, place.samples)),
      make("td", { class: "bar-cell" }, bar(place), make("div", { class: "outer" }, largest(place)))
    ];
  }
  function drawLines() {
    if (!kernels.has(state.kernel))
      state.kernel = names[0];
    const k = kernels.get(state.kernel), head = make("tr"), body = make("tbody");
    const rows = [...k.places].filter(([place]) => !pattern || pattern.test(place));
    rows.sort(([a, pa], [b, pb]) => state.linesBy === "samples" ? samplesOf(pb) - samplesOf(pa) || byPlace(a, b) : byPlace(a, b));
    sides.forEach((_, s) => {
      const side = diff ? " " + "AB"[s] : "";
      for (const text of ["Samples", "%", "No issue %", "Reasons"])
        head.append(make("th", { scope: "col", class: text === "Reasons" ? "name" : "" }, text + side));
    });
    head.append(make("th", { scope: "col", class: "name" }, "Line"));
    for (const [place, list] of rows.slice(0, LINES_ROWS))
      body.append(make("tr", null, ...list.flatMap((p, s) => cellsOf(p, k.sums[s])), placeCell(place)));
    el("lines").replaceChildren(
      chooser(),
      ...k.sums.map(legend),
      make("table", null, make("thead", null, head), body),
      make("p", null, `${integer.format(rows.length)} lines, ${k.sums.map((s) => integer.format(s.samples)).join(" and ")} samples, of all call paths` + (rows.length > LINES_ROWS ? `; the first ${LINES_ROWS} are shown` : "") + ".")
    );
  }

  // src/tooltip.js
  function sharesOf(i, s) {
    return `${percent(total[s][i], total[s][0])} of all` + (i ? `, ${percent(total[s][i], total[s][parentOf[i]])} of parent` : "");
  }
  function showTip(event, i) {
    const tip = el("tip"), list = make("dl");
    const add = (label, value, cls) => list.append(make("dt", null, label), make("dd", { class: cls || "" }, value));
    if (diff) {
      const delta2 = total[1][i] - total[0][i];
      for (const s of [0, 1])
        add("AB"[s], `${format(total[s][i])} (${sharesOf(i, s)})`);
      add(
        "B \u2212 A",
        `${formatDelta(delta2)} (${percent(delta2, total[0][i])} of A)`,
        delta2 > 0 ? "up" : delta2 < 0 ? "down" : ""
      );
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
    tip.replaceChildren(make("strong", null, nameOf(i)), list);
    tip.hidden = false;
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
  function tooltip() {
  }
  tooltip.show = (event, d) => showTip(event, d.data.i);
  tooltip.hide = hideTip;

  // src/detail.js
  var cellOrder = Int32Array.from({ length: cells.nr }, (_, c) => c).sort((a, b) => cells.node[a] - cells.node[b]);
  function firstCell(node) {
    let lo = 0, hi = cells.nr;
    while (lo < hi) {
      const mid = lo + hi >> 1;
      if (cells.node[cellOrder[mid]] < node)
        lo = mid + 1;
      else
        hi = mid;
    }
    return lo;
  }
  function* cellsBelow(i) {
    for (let n = firstCell(i); n < cells.nr && cells.node[cellOrder[n]] < endOf[i]; n++)
      yield cellOrder[n];
  }
  function kindRows(i) {
    const rows = kinds.map(() => sides.map(() => ({ ns: 0, self: 0, nr: 0, bytes: 0 })));
    for (const c of cellsBelow(i))
      cells.values.forEach((v, s) => {
        const row = rows[cells.kind[c]][s];
        row.ns += v.ns[c];
        row.nr += v.nr[c];
        row.bytes += v.bytes[c];
        if (cells.node[c] === i)
          row.self += v.ns[c];
      });
    return rows;
  }
  function kindTable(i) {
    const body = make("tbody");
    kindRows(i).forEach((row, kind) => row.forEach((r, s) => {
      if (!r.nr)
        return;
      body.append(make(
        "tr",
        null,
        make("td", null, kindWords(kind) + (diff ? ` (${"AB"[s]})` : "")),
        make("td", { title: integer.format(r.ns) + " ns" }, formatTime(r.ns, "auto")),
        make("td", { title: integer.format(r.self) + " ns" }, formatTime(r.self, "auto")),
        make("td", null, integer.format(r.nr)),
        make("td", null, r.bytes ? formatBytes(r.bytes) : "")
      ));
    }));
    return make(
      "table",
      null,
      make("thead", null, make("tr", null, ...["", "total", "self", "count", "bytes"].map((text) => make("th", text === "count" ? { scope: "col", title: "device records; launches where they are pending; samples" } : { scope: "col" }, text)))),
      body
    );
  }
  function describe(i) {
    if (!i)
      return "";
    if (kindOf(i) !== NONE)
      return kindWords(kindOf(i));
    if (depthOf[i] > data.roots)
      return "function";
    return data.roots > 1 || /^\[(?:pid|tid|host|GPU|stream) /.test(nameOf(i)) ? "root" : "threads of this name";
  }
  function showDetail(select2, showLines2) {
    const panel = el("detail"), i = state.selected, list = make("dl"), path = [];
    const add = (label, value) => list.append(make("dt", null, label), make("dd", null, value));
    if (i === NONE) {
      panel.hidden = true;
      return;
    }
    if (i)
      add("what", describe(i));
    if (fileOf(i))
      add(whereName(i), fileOf(i));
    sides.forEach((side, s) => {
      const prefix = diff ? "AB"[s] + " " : "";
      add(prefix + "total", `${format(total[s][i])}, ${sharesOf(i, s)}`);
      add(prefix + "self", format(self[s][i]));
    });
    for (let n = i; n !== NONE; n = parentOf[n])
      path.push(n);
    panel.replaceChildren(
      make("button", {
        type: "button",
        class: "close",
        "aria-label": "Close",
        onclick: () => select2(NONE, false)
      }, "\xD7"),
      make("h2", null, nameOf(i)),
      list,
      ...kernelOf(i) ? [make("p", null, make("button", {
        type: "button",
        id: "show-lines",
        onclick: () => showLines2(i)
      }, "Its lines"))] : [],
      make("h3", null, "Recorded below, whatever is chosen above"),
      kindTable(i),
      make("h3", null, "Call path, innermost first"),
      make("ul", { class: "path" }, ...path.map((n) => make(
        "li",
        null,
        make("button", {
          type: "button",
          title: nameOf(n),
          onclick: () => select2(n, true)
        }, nameOf(n))
      )))
    );
    panel.hidden = false;
  }

  // src/library.js
  var { flamegraph, select: selectElements } = globalThis.d3fg;

  // src/graph.js
  var CELL_HEIGHT = 18;
  var chart = flamegraph().cellHeight(CELL_HEIGHT).minFrameSize(0).selfValue(false).tooltip(tooltip).resetHeightOnZoom(true).transitionDuration(0).getName((d) => nameOf(d.data.i)).setColorMapper((d) => colour(d.data.i)).setLabelHandler((d) => nameOf(d.data.i)).setDetailsHandler(() => {
  });
  var started = false;
  function visibleTree(pixels) {
    const zoom = state.zoom, least = width[zoom] / pixels;
    const top = { i: zoom, v: width[zoom], children: [] };
    const todo = [top];
    let nr = 1, narrow = 0, narrowSum = 0, root = top;
    while (todo.length) {
      const node = todo.pop();
      forChildren(node.i, (i) => {
        if (!width[i])
          return;
        if (width[i] < least) {
          narrow += shownBefore[endOf[i]] - shownBefore[i];
          narrowSum += width[i];
          return;
        }
        const child = { i, v: width[i], children: [] };
        node.children.push(child);
        todo.push(child);
        nr++;
      });
      if (state.order === "value")
        node.children.sort((a, b) => b.v - a.v);
    }
    for (let i = parentOf[zoom]; i !== NONE; i = parentOf[i])
      root = { i, v: width[zoom], fade: true, children: [root] };
    return { root, nr, narrow, narrowSum };
  }
  function note(drawn) {
    const parts = [];
    const nothing = nrNodes - shownBefore[nrNodes];
    let pending = 0;
    if (drawn.narrow)
      parts.push(`${plural(drawn.narrow, "frame")} narrower than a pixel not drawn, at the ends of ${percent(drawn.narrowSum, width[state.zoom])} of the width: zoom in to see them.`);
    for (let c = 0; c < cells.nr; c++)
      if (kinds[cells.kind[c]] === "pending")
        for (const v of cells.values)
          pending += v.nr[c];
    if (pending && measure() !== "nr")
      parts.push(`${plural(pending, "pending launch").replace("hs", "hes")} without time: unit count shows them.`);
    else if (nothing && !drawn.narrow && state.zoom === 0)
      parts.push(`${plural(nothing, "frame")} without any of what is chosen.`);
    el("note").textContent = parts.join(" ");
  }
  function drawGraph() {
    const box = el("chart"), pixels = Math.max(200, box.clientWidth - 16);
    const empty = box.querySelector("#empty");
    hideTip();
    if (!(width[state.zoom] > 0))
      state.zoom = 0;
    el("reset").disabled = state.zoom === 0;
    if (empty)
      empty.remove();
    box.classList.toggle("flame", state.flame);
    if (!(width[0] > 0)) {
      if (started)
        chart.destroy();
      started = false;
      box.append(make("p", { id: "empty" }, "Nothing of what is chosen is in this recording."));
      note({ narrow: 0 });
      return;
    }
    const drawn = visibleTree(pixels);
    chart.width(pixels).inverted(!state.flame);
    if (started)
      chart.update(drawn.root);
    else
      selectElements(box).datum(drawn.root).call(chart);
    started = true;
    markSelected();
    note(drawn);
  }
  function groupOf(i) {
    return selectElements("#chart svg").selectAll("g").filter((d) => d.data.i === i);
  }
  function markSelected() {
    selectElements("#chart svg").selectAll("g").classed("selected", (d) => d.data.i === state.selected);
  }
  function zoomTo(i) {
    state.zoom = i;
    drawGraph();
    scrollToRoot();
  }
  function scrollToRoot() {
    const box = el("chart");
    box.scrollTop = state.flame ? box.scrollHeight : 0;
  }

  // src/top.js
  var TOP_ROWS = 500;
  function frameRows() {
    const rows = frames.name.map((_, frame) => ({
      frame,
      self: sides.map(() => 0),
      total: sides.map(() => 0),
      count: sides.map(() => 0),
      open: 0
    }));
    const open = [];
    const shut = (end) => {
      while (open.length && endOf[open[open.length - 1]] <= end)
        rows[frameOf[open.pop()]].open--;
    };
    for (let i = 1; i < nrNodes; i++) {
      const row = rows[frameOf[i]];
      shut(i);
      sides.forEach((_, s) => {
        row.self[s] += self[s][i];
        if (row.open)
          return;
        row.total[s] += total[s][i];
        row.count[s] += count[s][i];
      });
      row.open++;
      open.push(i);
    }
    return rows.filter((r) => r.total.some((v) => v > 0) && (!matches || matches[r.frame]));
  }
  var sum = (list) => list.reduce((a, b) => a + b, 0);
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
      const side = diff ? " " + "AB"[s] : "";
      columns.push(
        ["Self" + side, "self", (r) => format(r.self[s])],
        ["", null, (r) => percent(r.self[s], total[s][0])],
        ["Total" + side, "total", (r) => format(r.total[s])],
        ["", null, (r) => percent(r.total[s], total[s][0])],
        ["Count" + side, "count", (r) => integer.format(r.count[s])]
      );
    });
    if (diff)
      columns.push(["Total B \u2212 A", "delta", (r) => formatDelta(delta(r))]);
    return columns;
  }
  function drawTop(showFrame2) {
    const rows = frameRows(), key = TOP_KEYS[state.sortBy], columns = topColumns();
    const name = (r) => frames.name[r.frame];
    const byName = (a, b) => name(a) < name(b) ? -1 : name(a) > name(b) ? 1 : 0;
    const head = make("tr"), body = make("tbody");
    const header = (text, sort, cls) => make("th", {
      scope: "col",
      class: cls,
      ...sort && sort === state.sortBy ? { "aria-sort": sort === "name" ? "ascending" : "descending" } : {}
    }, ...sort ? [make("button", { type: "button", onclick: () => {
      state.sortBy = sort;
      drawTop(showFrame2);
    } }, text)] : ["%"]);
    rows.sort((a, b) => key ? key(b) - key(a) || byName(a, b) : byName(a, b));
    columns.forEach(([text, sort]) => head.append(header(text, sort, "")));
    head.append(header("Name", "name", "name"));
    for (const r of rows.slice(0, TOP_ROWS))
      body.append(make(
        "tr",
        { onclick: () => showFrame2(r.frame), title: name(r).slice(0, 2e3) },
        ...columns.map(([, , cell]) => make("td", null, cell(r))),
        make(
          "td",
          { class: "name" },
          make("span", { class: "swatch", style: `background:${frameColour(r.frame)}` }),
          name(r)
        )
      ));
    el("top").replaceChildren(
      make("table", null, make("thead", null, head), body),
      make("p", null, rows.length > TOP_ROWS ? `${integer.format(rows.length - TOP_ROWS)} more rows; search to narrow them down.` : `${integer.format(rows.length)} rows. Click one to find it in the flame graph.`)
    );
  }

  // src/view.js
  function draw() {
    if (state.tab === "graph")
      drawGraph();
    else if (state.tab === "top")
      drawTop(showFrame);
    else
      drawLines();
    showMatched();
    showDetail(select, showLines);
  }
  function change() {
    compute();
    draw();
  }
  var TABS = ["graph", "top", "lines"];
  function showTab(name) {
    state.tab = name;
    for (const tab of TABS) {
      el(tab).hidden = tab !== name;
      el("tab-" + tab).setAttribute("aria-selected", tab === name);
    }
    draw();
  }
  function select(i, zoom) {
    state.selected = i;
    hideTip();
    if (zoom)
      zoomTo(i);
    else
      markSelected();
    showDetail(select, showLines);
  }
  function showLines(i) {
    state.kernel = kernelOf(i);
    showTab("lines");
  }
  function showFrame(frame) {
    const term = "^" + frames.name[frame].replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "$";
    el("search").value = term;
    search(term);
    state.zoom = 0;
    showTab("graph");
  }
  function flip() {
    state.flame = !state.flame;
    el("flip").textContent = state.flame ? "Icicle" : "Flame";
    draw();
    scrollToRoot();
  }

  // src/controls.js
  function setOptions(id, options, value, change2) {
    const box = el(id);
    box.replaceChildren(...options.map(([v, text]) => make("option", { value: v }, text)));
    box.value = value;
    box.addEventListener("change", () => change2(box.value));
  }
  function setUpKinds() {
    kinds.forEach((kind, k) => {
      if (!present[k])
        return;
      const button = make(
        "button",
        {
          type: "button",
          class: "kind",
          "aria-pressed": "true",
          "data-kind": kind,
          title: "Count or leave out; with Shift, this one only"
        },
        make("span", { class: "swatch" }),
        kindWords(k)
      );
      button.addEventListener("click", (event) => {
        if (event.shiftKey)
          state.kinds = present.map((_, n) => n === k);
        else
          state.kinds[k] = !state.kinds[k];
        for (const b of el("kinds").children)
          b.setAttribute("aria-pressed", state.kinds[kinds.indexOf(b.dataset.kind)]);
        change();
      });
      el("kinds").append(button);
    });
  }
  function paintControls() {
    for (const b of el("kinds").children)
      b.firstChild.style.background = kindColour(kinds.indexOf(b.dataset.kind), 0.5);
    if (diff)
      el("legend").replaceChildren("less in B ", make("span", { class: "scale", style: `background:linear-gradient(90deg,${hsl(214, 82, 56)},${hsl(0, 0, 94)},${hsl(4, 82, 56)})` }), " more in B");
  }
  function setUpControls() {
    const gpus = /* @__PURE__ */ new Map();
    for (const side of sides)
      for (const gpu of side.gpus)
        gpus.set(gpu.number, gpu.name);
    setOptions(
      "gpu",
      [["all", "all"], ...[...gpus].sort((a, b) => a[0] - b[0]).map(([number, name]) => [number, `GPU ${number}${name ? " " + name : ""}`])],
      "all",
      (value) => {
        state.gpu = value;
        change();
      }
    );
    el("gpu-label").hidden = gpus.size < 2;
    el("gpu-label").style.display = gpus.size < 2 ? "none" : "";
    setOptions(
      "unit",
      [
        ["auto", "time"],
        ...Object.keys(TIMES).map((u) => [u, u]),
        ["count", "count"],
        ["bytes", "bytes"]
      ],
      state.unit,
      (value) => {
        state.unit = value;
        change();
      }
    );
    el("width-label").style.display = diff ? "" : "none";
    el("width").addEventListener("change", () => {
      state.width = el("width").value;
      change();
    });
    el("order").addEventListener("change", () => {
      state.order = el("order").value;
      draw();
    });
    el("flip").addEventListener("click", flip);
    el("reset").addEventListener("click", () => select(NONE, true));
    el("search").addEventListener("input", () => {
      search(el("search").value);
      draw();
    });
    el("tab-lines").hidden = !haveLines;
    for (const tab of TABS)
      el("tab-" + tab).addEventListener("click", () => showTab(tab));
    setUpKinds();
    paintControls();
    dark.addEventListener("change", () => {
      frameColours.clear();
      paintControls();
      draw();
    });
  }

  // src/header.js
  function fact(side, label) {
    for (const recording of side.recordings)
      for (const [key, value] of recording)
        if (key === label)
          return value;
    return "";
  }
  function account(side, s) {
    const t = side.totals, clean = !t.unmatched && !t.lost && t.clean;
    const [summary, ...lines] = side.account.concat(side.messages);
    const box = make(
      "details",
      clean ? { class: "account" } : { class: "account loss", open: "" },
      make("summary", null, (diff ? "AB"[s] + ": " : "") + summary + (lines.length ? `; ${plural(lines.length, "note")}` : ""))
    );
    if (lines.length)
      box.append(make("pre", null, lines.map((line) => line.trim()).join("\n")));
    return box;
  }
  function about() {
    return make(
      "details",
      { class: "account" },
      make("summary", null, "Recording"),
      ...sides.flatMap((side, s) => side.recordings.map((recording) => make("dl", null, ...(diff ? [["", "AB"[s]], ...recording] : recording).flatMap(([key, value]) => [make("dt", null, key), make("dd", null, value)]))))
    );
  }
  function gpuFacts(side) {
    const byName = /* @__PURE__ */ new Map();
    for (const gpu of side.gpus)
      byName.set(gpu.name, [...byName.get(gpu.name) || [], gpu.number]);
    return [...byName].map(([name, numbers]) => `GPU ${numbers.join(", ")} ${name}`.trim());
  }
  function setUpHeader() {
    const title = sides.map((side) => fact(side, "command") || fact(side, "recording")).filter((t, s, all) => s === all.indexOf(t)).join("  \u2192  ");
    document.title = `${title.slice(0, 120)} \u2013 xpuload`;
    el("title").textContent = title;
    el("facts").append(...sides.map((side, s) => make(
      "div",
      null,
      (diff ? `${"AB"[s]}: ` : "") + [
        diff ? fact(side, "recording") : "",
        fact(side, "host"),
        fact(side, "start"),
        ...gpuFacts(side),
        side.filter && "only " + side.filter
      ].filter(Boolean).join(" \xB7 ")
    )), data.normalize);
    el("accounts").append(...sides.map(account), about());
  }

  // src/input.js
  function neighbour(key) {
    const i = state.selected, outward = state.flame ? "ArrowDown" : "ArrowUp";
    let best = NONE;
    if (i === NONE)
      return state.zoom;
    if (key === outward)
      return i ? parentOf[i] : i;
    if (key === "ArrowUp" || key === "ArrowDown") {
      forChildren(i, (c) => {
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
  function onKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey)
      return;
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "Escape") {
      if (el("search").value) {
        el("search").value = "";
        search("");
        draw();
      } else if (state.zoom || state.selected !== NONE) {
        select(NONE, true);
      }
      if (typing)
        event.target.blur();
    } else if (!typing && event.key === "/") {
      event.preventDefault();
      el("search").focus();
      el("search").select();
    } else if (!typing && event.key === "i") {
      flip();
    } else if (event.target === el("chart") && /^Arrow/.test(event.key)) {
      event.preventDefault();
      select(neighbour(event.key), false);
      const g = groupOf(state.selected).node();
      if (g)
        g.scrollIntoView({ block: "nearest" });
    } else if (event.target === el("chart") && event.key === "Enter" && state.selected !== NONE) {
      select(state.selected, true);
    }
  }
  function listen() {
    el("chart").addEventListener("click", (event) => {
      const g = event.target.closest("g.frame");
      event.stopPropagation();
      if (g)
        select(g.__data__.data.i, true);
    }, true);
    el("chart").addEventListener("mousemove", moveTip);
    el("chart").addEventListener("scroll", hideTip);
    document.addEventListener("keydown", onKey);
    let width2 = 0;
    new ResizeObserver(() => {
      const now = el("chart").clientWidth;
      if (now === width2 || state.tab !== "graph")
        return;
      width2 = now;
      drawGraph();
    }).observe(el("chart"));
  }

  // src/main.js
  setUpHeader();
  setUpControls();
  listen();
  change();
  scrollToRoot();
  document.documentElement.dataset.ready = "1";
})();
