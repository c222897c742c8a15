/* SPDX-License-Identifier: MIT */
/*
 * ranks.js - ranks that communicate: which ranks made others wait and why, a table of all ranks,
 * their collectives, and the waits over time
 */
import { go } from "../../write/page/src/actions.js";
import { KIND_COLOURS, NAME_COLOURS, kindColour } from "../../write/page/src/colours.js";
import { addList } from "../../write/page/src/controls.js";
import { NONE, cells, isDevice, kinds, present, sideNames } from "../../write/page/src/data.js";
import { el, keepFocus, make } from "../../write/page/src/dom.js";
import { FACTS } from "../../write/page/src/header.js";
import { KEY_WORDS } from "../../write/page/src/help.js";
import { STEPS_OUT, onResize } from "../../write/page/src/input.js";
import { countOnly, state } from "../../write/page/src/model.js";
import { addChoices, number, one, text } from "../../write/page/src/url.js";
import { SCROLL, SUMS, addTab } from "../../write/page/src/view.js";
import {
	KIND_WORDS, formatBytes, formatTime, integer, percent, plural,
} from "../../write/page/src/words.js";
import { collectiveStrip, drawHeat, setUpHeat, showPaths, tellsCollectives } from "./heat.js";
import {
	SORTS, culprits, forWaits, hostOf, isCulprit, lateBy, matcher, nameOfRank, nrRanks,
	rankList, rankOfOwner, ranks, sumOf,
} from "./ranks_data.js";

const MAX_ROWS = 1000, MAX_COLLECTIVES = 200, MAX_OTHERS = 100, MAX_SHOWN_FRAMES = 4;
/*
 * the answer names a second or third straggler only if it caused at least this share of the waits
 */
const MIN_SHARE = .02;
const time = ns => formatTime(ns, "auto");

/* ---- the answer ------------------------------------------------------------------------------ */

const pathWords = frames => (frames.length > MAX_SHOWN_FRAMES ? "\u2026 \u203a " : "") +
	frames.slice(-MAX_SHOWN_FRAMES).join(" \u203a ");

function answerOf(r) {
	const caused = sumOf(rankList.caused_ns), why = lateBy(r), number = rankList.number[r];

	return make("p", { class: "answer" },
		make("button", { type: "button", onclick: () => showPaths(r) }, `Rank ${number}`),
		` on ${hostOf(r) || "an unknown host"} made other ranks wait ` +
		`${time(rankList.caused_ns[r])}, ${percent(rankList.caused_ns[r], caused)} ` +
		"of all waits for stragglers; it came last " +
		`${rankList.last[r] === 1 ? "once" : integer.format(rankList.last[r]) + " times"}.`,
		...(why ? [" Before that: ",
			make("code", { title: why.frames.join("\n") }, pathWords(why.frames)),
			` for ${time(why.ns)}, the median of the other ranks ` +
			`${time(why.median)}.`] : []));
}

function drawAnswer() {
	const all = rankList.caused_ns.filter(Boolean).length, caused = sumOf(rankList.caused_ns);
	const shown = culprits().filter((r, k) => k < 3 &&
		(!k || rankList.caused_ns[r] >= caused * MIN_SHARE));

	el("ranks-answer").replaceChildren(...shown.map(answerOf),
		...(all > shown.length ?
			[make("p", { class: "dim" },
				`${plural(all - shown.length, "more straggler")} below.`)] : []),
		...(all ? [] :
			[make("p", null,
				"No rank made others wait in operations that are paired.")]),
		make("details", null, make("summary", null, ranks.account[0]),
		     make("pre", { tabindex: "0", "aria-label": "Account of operations" },
			ranks.account.slice(1).join("\n"))));
}

/* ---- the table of ranks ---------------------------------------------------------------------- */

/* Makes a bar of device time: own work, transfers, waits. */
function workBar(r, most) {
	const parts = [["kernel", rankList.own_ns[r]], ["memcpy", rankList.transfer_ns[r]],
		["nccl", rankList.wait_ns[r]]];

	return make("span", { class: "work", "aria-hidden": "true" },
		...parts.map(([kind, ns]) => make("span", {
			style: `width:${(100 * ns / most).toFixed(2)}%;` +
				`background:${kindColour(kinds.indexOf(kind), .5)}`,
		})));
}

const most = () => rankList.own_ns.reduce((a, own, r) =>
	Math.max(a, own + rankList.transfer_ns[r] + rankList.wait_ns[r]), 1);

function whomWords(r) {
	const other = rankList.waited_for[r], all = rankList.wait_ns[r] - rankList.start_wait_ns[r];

	return other !== NONE ?
		`${rankList.number[other]} (${percent(rankList.waited_for_ns[r], all)})` : "";
}

function reasonCell(r) {
	const why = lateBy(r);

	return why ? make("span", { title: why.frames.join("\n") },
		`+${time(why.ns - why.median)} ${pathWords(why.frames.slice(-2))}`) : "";
}

/*
 * Entries are [title, key to sort by, cell, class, explanation]; columns in which all values are 0
 * are left out.
 */
const COLUMNS = [
	["Rank", "number", null, "", ""],
	["Device time", null, r => workBar(r, most()), "bar-cell",
		"own work, transfers, waits in collectives"],
	["Caused", "caused", r => rankList.caused_ns[r] ? time(rankList.caused_ns[r]) : "", "",
		"waits of other ranks for this one"],
	["Last", "last", r => rankList.last[r] || "", "",
		"operations in which others waited for it"],
	["Late by", null, reasonCell, "name late",
		"the work that took longest beyond the median of the other ranks"],
	["Waiting", "wait_ns", r => time(rankList.wait_ns[r]), "",
		"in collectives, for other ranks"],
	["Waited for", null, whomWords, "",
		"the rank that it waited for longest, its part of the waits for stragglers"],
	["Transfer", "transfer_ns", r => time(rankList.transfer_ns[r]), "",
		"in collectives, when all ranks had come"],
	["Unpaired", "unpaired_ns", r => time(rankList.unpaired_ns[r]), "",
		"in operations without a partner"],
	["Own work", "own_ns", r => time(rankList.own_ns[r]), "",
		"sum of all device work that is not NCCL's"],
	["Busy", "busy_ns", r => time(rankList.busy_ns[r]), "", "its devices had work"],
	["Host waits", "host_wait_ns", r => time(rankList.host_wait_ns[r]), "",
		"its threads waited for a device"],
	["Launches", "launches", r => integer.format(rankList.launches[r]), "", ""],
	["Operations", "ops", r => integer.format(rankList.ops[r]) +
		(rankList.paired[r] === rankList.ops[r] ? "" :
		` (${integer.format(rankList.ops[r] - rankList.paired[r])} unpaired)`), "",
			"of NCCL"],
	["Pid", "pid", r => rankList.pid[r], "", ""],
	["Host", "host", hostOf, "name", ""],
	["Name", "name", nameOfRank, "name", ""],
];

const columnsHere = () => COLUMNS.filter(([, key]) =>
	!["unpaired_ns", "host_wait_ns"].includes(key) || rankList[key].some(Boolean));

const byText = of => (a, b) => of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : a - b;

function sorted(rows) {
	const key = state.ranksBy, column = key === "caused" ? rankList.caused_ns : rankList[key];

	return rows.sort(key === "host" ? byText(hostOf) : key === "name" ? byText(nameOfRank) :
		key === "number" || key === "pid" ? (a, b) => column[a] - column[b] || a - b :
			(a, b) => column[b] - column[a] || a - b);
}

/* Return: the exact time, for the tooltip. */
function exact(key, r) {
	const column = key === "caused" ? "caused_ns" : key || "";

	return column.endsWith("_ns") ? { title: `${integer.format(rankList[column][r])} ns` } : {};
}

function rankRow(r, columns) {
	const number = String(rankList.number[r]), open = isCulprit(r);

	return make("tr", open ? { onclick: () => showPaths(r), class: "culprit" } : null,
		make("th", { scope: "row" },
			open ? make("button", { type: "button", class: "plain", "data-rank": number,
			title: "Its call paths, compared with the median of the other ranks" },
			number) : number),
		...columns.slice(1).map(([, key, cell, cls]) =>
			make("td", { class: cls, ...exact(key, r) }, cell(r))));
}

function header([title, key, , cls, words]) {
	const ascending = ["number", "host", "name", "pid"].includes(key);

	return make("th", { scope: "col", class: cls, title: words,
			    ...(key && key === state.ranksBy ?
				{ "aria-sort": ascending ? "ascending" : "descending" } : {}) },
		    ...(key ?
			[make("button", { type: "button", "data-sort": key,
				onclick: () => go({ ranksBy: key }) }, title)] : [title]));
}

function drawRankTable(rows) {
	const columns = columnsHere(), shown = sorted(rows.slice()).slice(0, MAX_ROWS),
		table = make("tbody");

	for (const r of shown)
		table.append(rankRow(r, columns));
	el("ranks-table").replaceChildren(make("table", null,
		make("caption", { class: "hidden" }, "Ranks"),
		make("thead", null, make("tr", null, ...columns.map(header))), table));
	el("ranks-count").textContent = rows.length === nrRanks && shown.length === nrRanks ?
		plural(nrRanks, "rank") +
		`, numbered ${ranks.numbered}` :
		`${integer.format(shown.length)} of ${plural(nrRanks, "rank")}`;
}

/* ---- collectives ----------------------------------------------------------------------------- */

/* Return: for each collective, its waits in each bin; null if the page leaves out these waits. */
function waitsOfCollectives() {
	const w = ranks.over, by = new Map();

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
	const c = ranks.collectives, chosen = state.collective === i,
		values = waits && waits.get(i);
	const name = c.operation[i].replace(/^NCCL:/, ""), filters = values && tellsCollectives();

	return make("tr", { class: chosen ? "selected" : "" },
		make("td", { class: "name" },
			filters ?
			make("button", { type: "button", class: "plain", "data-collective": i,
			"aria-pressed": String(chosen), title: "Only its waits above",
			onclick: () => go({ collective: chosen ? NONE : i }) }, name) : name),
		make("td", { class: "name" }, c.communicator[i]),
		make("td", { class: "bar-cell" }, values ? collectiveStrip(values) : ""),
		make("td", null, time(c.wait_ns[i])), make("td", null, time(c.longest_wait_ns[i])),
		make("td", null, time(c.transfer_ns[i])),
		make("td", null, integer.format(c.count[i])),
		make("td", null, integer.format(c.ranks[i])),
		make("td", null, c.bytes[i] ? formatBytes(c.bytes[i]) : ""));
}

function drawCollectives() {
	const c = ranks.collectives, nr = Math.min(MAX_COLLECTIVES, c.count.length),
		waits = waitsOfCollectives();
	const titles = ["Operation", "Communicator", "Waits over time", "Waiting", "Longest wait",
		"Transfer", "Count", "Ranks", "Bytes"];

	el("ranks-collectives").hidden = !nr;
	el("ranks-collectives").replaceChildren(make("h2", null, "Collectives"),
		make("div", { class: "wide" }, make("table", null,
		make("caption", { class: "hidden" }, "Collectives"),
		make("thead", null, make("tr", null,
			...titles.map((title, k) =>
				make("th", { scope: "col",
					class: k < 2 ? "name" : k === 2 ? "bar-cell" : "" },
						title)))),
		make("tbody", null, ...Array.from({ length: nr },
			(_, i) => collectiveRow(i, waits))))),
		make("p", { class: "dim" },
			(c.count.length > nr ?
				`and ${plural(c.count.length - nr, "more")}. ` : "") +
			"Count and bytes are of one rank; of sends and receives, all sends. " +
			"Times are of all ranks."));
}

/* ---- other tables ---------------------------------------------------------------------------- */

function section(title, titles, rows, more) {
	return make("section", null, make("h2", null, title),
		make("div", { class: "wide" }, make("table", null,
		make("caption", { class: "hidden" }, title),
		make("thead", null, make("tr", null,
			...titles.map(t => make("th",
				{ scope: "col", class: t.startsWith("<") ? "name" : "" },
			t.replace("<", ""))))),
		make("tbody", null, ...rows.map(row => make("tr", null, ...row.map((cell, k) =>
			make("td", { class: titles[k].startsWith("<") ? "name" : "" }, cell))))))),
		...(more ? [make("p", { class: "dim" }, more)] : []));
}

function drawRest() {
	const real = n => n.toFixed(3), parts = [];

	if (ranks.others.length)
		parts.push(section("Other kernels that communicate",
			["Rank", "Count", "Time", "<Library", "<Kernel"],
			ranks.others.slice(0, MAX_OTHERS).map(([r, nr, ns, library, kernel]) =>
				[rankList.number[r], integer.format(nr), time(ns), library,
					kernel]),
			"Nothing tells which of them belong together." +
			(ranks.others.length + ranks.others_left_out > MAX_OTHERS ? " And " +
				plural(ranks.others.length + ranks.others_left_out - MAX_OTHERS,
					"more") + "." : "")));
	if (ranks.clocks.length > 1)
		parts.push(section("Clocks",
			["<Host", "<Aligned by", "Collectives", "Ahead, \u00b5s", "Error, \u00b5s",
				"Drift, ppm"],
			ranks.clocks.slice(0, MAX_OTHERS)
				.map(([host, by, nr, ...numbers]) =>
					[host, by, integer.format(nr), ...numbers.map(real)]),
			"Half of the collectives that a clock is aligned by end no further apart " +
			"than its error."));
	el("ranks-rest").replaceChildren(...parts);
}

/* ---- all of it ------------------------------------------------------------------------------- */

function drawRanks() {
	const fits = matcher(state.ranksTerm),
		rows = Array.from({ length: nrRanks }, (_, r) => r).filter(fits);

	for (const b of el("heat-modes").children) {
		b.setAttribute("aria-checked", b.dataset.heat === state.heat);
		b.tabIndex = b.dataset.heat === state.heat ? 0 : -1;
	}
	if (el("ranks-filter").value !== state.ranksTerm)
		el("ranks-filter").value = state.ranksTerm;
	keepFocus(el("ranks"), () => {
		drawAnswer();
		drawRankTable(rows);
		drawCollectives();
		drawRest();
	});
	drawHeat(rows);
}

function setUpFilter() {
	el("ranks-filter").addEventListener("input",
		() => go({ ranksTerm: el("ranks-filter").value }, true));
	for (const b of el("heat-modes").children)
		b.addEventListener("click", () => go({ heat: b.dataset.heat }));
	el("heat-modes").addEventListener("keydown", event => {
		if (event.key !== "ArrowLeft" && event.key !== "ArrowRight")
			return;
		event.preventDefault();
		go({ heat: state.heat === "waits" ? "caused" : "waits" });
		el("heat-modes").querySelector('[aria-checked="true"]').focus();
	});
}

/* ---- what this adds to the page -------------------------------------------------------------- */

function addRankChoices() {
	addChoices({
		tab: "ranks",
		/* At first the page shows what stragglers did themselves, without NCCL. */
		off: present.some((p, k) => p && kinds[k] !== "nccl") ? "nccl" : "",
		rank: "all",		/* the straggler whose call paths are shown */
		ranksBy: "caused",	/* the column by which the table of ranks is sorted */
		ranksTerm: "",
		heat: "waits",		/* shown over time: waits of ranks, or waits for ranks */
		collective: NONE,	/* the collective whose waits are shown; NONE: all */
	}, {
		rank: ["rank",
			one(() => ["all", ...culprits().map(r => String(rankList.number[r]))])],
		ranksBy: ["ranks", one(() => SORTS)],
		ranksTerm: ["only", text(2000)],
		heat: ["over", one(() => ["waits", "caused"])],
		collective: ["collective", number(0, ranks.collectives.count.length - 1)],
	});
	SUMS.push("rank");
	SCROLL.push("rank");
	countOnly(c => state.rank === "all" || rankOfOwner[cells.owner[c]] === state.rank);
}

/* Lists the stragglers that have call paths, the worst first. */
function addRankList() {
	addList("rank", "Rank", [["all", "all stragglers"],
		...culprits().map(r => [rankList.number[r],
			`${rankList.number[r]}, waits of ${time(rankList.caused_ns[r])}`])],
	rank => go({ rank, zoom: 0, group: "", selected: NONE }));
}

/* Steps out of the call paths, and then shows all rows and all collectives. */
function stepOutOfRanks() {
	if (state.tab !== "ranks")
		go({ tab: "ranks" });
	else if (state.ranksTerm || state.collective !== NONE)
		go({ ranksTerm: "", collective: NONE });
}

NAME_COLOURS.set("[NCCL_Wait]", [292, 46, 76]);
if (ranks) {
	Object.assign(KIND_COLOURS, { nccl: [292, 6, 46, 76], host: [46, 6, 62, 70] });
	Object.assign(KIND_WORDS, { nccl: "NCCL", host: "before launches" });
	isDevice[kinds.indexOf("nccl")] = true;
	sideNames.splice(0, 2, "median", "rank");
	FACTS.push(`${plural(nrRanks, "rank")} on ${plural(ranks.hosts.length, "host")}`);
	KEY_WORDS.splice(2, 0, ["4", "ranks; there the arrow keys go over the waits, and Enter " +
		"shows the call paths of the rank that was waited for"]);
	addRankChoices();
	addTab("ranks", "Ranks", drawRanks);
	addRankList();
	STEPS_OUT.push(stepOutOfRanks);
	onResize("ranks", "ranks", drawRanks);
	setUpHeat();
	setUpFilter();
}
