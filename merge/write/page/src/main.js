/* SPDX-License-Identifier: MIT */
/*
 * main.js - the interactive flame graph of `xpumerge -f html`
 *
 * The page has the merged tree: merge/write/html.h describes it. The user chooses on the page what to
 * count (kinds of work, device, unit), so the page makes all sums. d3-flame-graph only gets the frames
 * that are at least a pixel wide at the current zoom.
 *
 * `make page` bundles these modules into ../page.js, which xpumerge embeds.
 *
 * Names come from other people's programs: they enter the document as text, never as markup.
 */
import { setUpControls } from "./controls.js";
import { scrollToRoot } from "./graph.js";
import { setUpHeader } from "./header.js";
import { listen } from "./input.js";
import { change } from "./view.js";

setUpHeader();
setUpControls();
listen();
change();
scrollToRoot();
document.documentElement.dataset.ready = "1";
