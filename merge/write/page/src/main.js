/* SPDX-License-Identifier: MIT */
/*
 * main.js - the interactive flame graph of `xpumerge -f html`
 *
 * The page has the merged call paths: merge/write/html.h describes them. The user chooses on the
 * page which work to count (kinds, device, unit, a stretch of time) and how to group it, so the
 * page makes the tree (tree.js) and all sums (model.js). Frames that are at least a pixel wide at
 * the current zoom are drawn (graph.js says which, flame.js draws them); work.js has the table next
 * to them. actions.js handles each choice, url.js keeps it in the address, and view.js shows it.
 *
 * scripts/join-page.sh joins these modules into one script, which xpumerge embeds. In it, modules
 * of features (merge/NAME/page/) come after the modules that they import, and before this one: they
 * add tabs, choices, kinds and words to the tables of these modules.
 *
 * Names come from other people's programs: they enter the document as text, never as markup.
 */
import { setUpHeader } from "./header.js";
import { listen } from "./input.js";
import { setUpStrip } from "./strip.js";
import { start } from "./view.js";

setUpHeader();
setUpStrip();
start();
listen();
document.documentElement.dataset.ready = "1";
