"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const result = data.result;
  const PAGE = 60;
  const SVG = "http://www.w3.org/2000/svg";

  const at = (id) => document.getElementById(id);
  // Every node is made here and filled with text alone: a name from a capture can never become markup.
  function node(tag, classes, ...children) {
    const made = document.createElement(tag);
    if (classes) made.className = classes;
    made.append(...children.filter((child) => child !== null && child !== undefined).map((child) => (child instanceof Node ? child : String(child))));
    return made;
  }
  function drawn(tag, attributes, text) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  const minus = (text) => text.replace("-", "\u2212");
  function time(us, signed) {
    if (us === null || us === undefined) return "\u2013";
    const size = Math.abs(us);
    const [scale, unit] = size >= 1e6 ? [1e6, "s"] : size >= 1e3 ? [1e3, "ms"] : size >= 1 || size === 0 ? [1, "µs"] : [1e-3, "ns"];
    const value = us / scale;
    const digits = Math.abs(value) >= 100 ? 1 : Math.abs(value) >= 10 ? 2 : 3;
    const text = value.toLocaleString("en", { minimumFractionDigits: size === 0 ? 0 : digits, maximumFractionDigits: digits });
    return minus((signed && us > 0 ? "+" : "") + text) + "\u00a0" + unit;
  }
  const exact = (us) => (us === null || us === undefined ? "" : `${minus(us.toLocaleString("en", { maximumFractionDigits: 6 }))} µs`);
  const percent = (share, digits = 2) => (share === null || share === undefined ? "\u2013" : minus(`${share > 0 ? "+" : ""}${(share * 100).toFixed(digits)}\u00a0%`));
  const count = (value) => (value === null || value === undefined ? "\u2013" : minus(value.toLocaleString("en", { maximumFractionDigits: 3 })));
  const way = (delta) => (delta < 0 ? "faster" : delta > 0 ? "slower" : "same");

  function header() {
    const name = (text, other) => text || other;
    document.title = `${name(result.candidate, "candidate")} against ${name(result.baseline, "baseline")}`;
    at("title").append(name(result.baseline, "baseline"), node("span", "to", "to"), name(result.candidate, "candidate"));
    const said = result.comparable ? "comparable" : result.level === "none" ? "not comparable" : "programs differ";
    at("badge").append(node("span", `badge ${result.comparable ? "yes" : "no"}`, said));
    const source = { device: `device time, ${result.clock} clock`, "schedule-model": "estimated by the schedule model, not measured" }[result.time_source] || "";
    const cores = result.core === result.candidate_core ? `core ${result.core}` : `cores ${result.core} and ${result.candidate_core}`;
    const device = result.time_source === "device" && result.delta_us !== null;
    at("where").textContent = [source, device ? cores : "", result.per_run ? "figures per run" : ""].filter(Boolean).join(" · ");
    at("summary").textContent = result.summary;
    if (result.parity.length) {
      const box = at("parity");
      box.hidden = false;
      if (!result.comparable) box.className = "refused";
      box.append(node("h2", "", result.comparable ? "To know before the numbers" : "Why the numbers cannot be compared"), node("ul", "", ...result.parity.map((note) => node("li", "", note))));
    }
    at("footer").textContent = "Times on one core. A delta is candidate minus baseline: negative is faster. Rows plus idle sum to the difference of the whole. The whole table lies in diff.csv and diff.json beside this page.";
  }

  function totals() {
    const tiles = [];
    const tile = (label, value, note, tone, title) => {
      const shown = node("div", `value num ${tone || ""}`, value);
      if (title) shown.title = title;
      tiles.push(node("div", "tile", node("div", "label", label), shown, node("div", "note", note || "\u00a0")));
    };
    if (result.delta_us !== null) {
      const share = result.baseline_us ? result.delta_us / result.baseline_us : null;
      const device = result.time_source === "device";
      tile(device ? "Ops" : "Estimated time", time(result.delta_us, true), percent(share), result.comparable ? way(result.delta_us) : "", exact(result.delta_us));
      if (device) {
        tile("With idle time", time(result.module_delta_us, true), "all programs", result.comparable ? way(result.module_delta_us) : "", exact(result.module_delta_us));
        tile("Idle time", time(result.idle_delta_us, true), "no op running", "", exact(result.idle_delta_us));
      }
      tile("Baseline", time(result.baseline_us), device ? "sum over ops" : "", "", exact(result.baseline_us));
      tile("Candidate", time(result.candidate_us), device ? "sum over ops" : "", "", exact(result.candidate_us));
    }
    if (result.matched_share) tile("Matched", `${(result.matched_share[0] * 100).toFixed(1)} / ${(result.matched_share[1] * 100).toFixed(1)}\u00a0%`, "of op time, per side");
    at("totals").append(...tiles);
    if (!tiles.length) at("totals").hidden = true;
  }

  function waterfall() {
    if (!data.rows.length || result.delta_us === null) return;
    const idle = result.idle_delta_us || 0;
    const parts = data.rows.map((row, position) => ({ name: row.name, delta: row.delta_us, position }));
    if (idle) parts.push({ name: "idle time", delta: idle, position: null });
    parts.sort((one, two) => Math.abs(two.delta) - Math.abs(one.delta));
    const whole = (result.delta_us || 0) + idle;
    const shown = parts.slice(0, 12).filter((part) => part.delta);
    const rest = whole - shown.reduce((sum, part) => sum + part.delta, 0);
    if (!shown.length) return;
    if (parts.length > shown.length) shown.push({ name: `${data.rows_total + (idle ? 1 : 0) - shown.length} others`, delta: rest, position: null });
    let low = 0, high = 0, reached = 0;
    for (const part of shown) {
      part.from = reached;
      reached += part.delta;
      low = Math.min(low, reached);
      high = Math.max(high, reached);
    }
    const span = high - low || 1;
    const place = (value) => ((value - low) / span) * 100;
    const line = (part, total) => {
      const bar = node("span", "bar");
      const zero = node("span", "zero");
      zero.style.left = `${place(0)}%`;
      bar.style.left = `${place(Math.min(part.from, part.from + part.delta))}%`;
      bar.style.width = `${(Math.abs(part.delta) / span) * 100}%`;
      const linked = part.position !== null && !total;
      const made = node(linked ? "button" : "div", `fall ${way(part.delta)}${total ? " total" : ""}`, node("span", "name", part.name), node("span", "track", zero, bar), node("span", `num ${way(part.delta)}`, time(part.delta, true)));
      made.title = `${part.name}: ${exact(part.delta)}`;
      if (linked) made.addEventListener("click", () => reveal(part.position));
      const item = node("div", "", made);
      item.setAttribute("role", "listitem");
      return item;
    };
    at("waterfall").append(...shown.map((part) => line(part, false)), line({ name: "whole difference", delta: whole, from: 0, position: null }, true));
    at("waterfall-hint").textContent = "Each bar starts where the one above ended. The thin line is the baseline; left of it is faster.";
    at("waterfall-section").hidden = false;
    if (result.explanation.length) {
      at("explanation").append(...result.explanation.map((text) => node("li", "", text)));
      at("explanation-section").hidden = false;
    }
  }

  const state = { text: "", verdict: "", pallas: false, order: "delta", limit: PAGE, open: new Set() };
  const ORDERS = {
    delta: ["largest difference", (row) => -Math.abs(row.delta_us)],
    slower: ["slowest change first", (row) => -row.delta_us],
    faster: ["fastest change first", (row) => row.delta_us],
    baseline: ["largest baseline", (row) => -row.baseline_us],
    change: ["largest change per call", (row) => -Math.abs(row.mean_change || 0)],
  };

  function matches(row) {
    if (state.verdict && row.verdict !== state.verdict) return false;
    if (state.pallas && !row.is_pallas) return false;
    if (!state.text) return true;
    const text = [row.name, row.candidate_name, row.category, row.scope, row.source, row.module].join("\n").toLowerCase();
    return state.text.split(/\s+/).every((word) => text.includes(word));
  }

  function list() {
    const order = ORDERS[state.order][1];
    const chosen = data.rows.map((row, position) => ({ row, position })).filter(({ row }) => matches(row));
    chosen.sort((one, two) => order(one.row) - order(two.row) || one.position - two.position);
    const box = at("rows");
    box.replaceChildren();
    const headings = node("div", "headings", ...["", "op", "difference", "per call", "baseline", "verdict"].map((text) => node("span", "", text)));
    headings.setAttribute("aria-hidden", "true");
    if (chosen.length) box.append(headings);
    else box.append(node("div", "empty", "No row matches."));
    for (const { row, position } of chosen.slice(0, state.limit)) box.append(line(row, position));
    const sum = chosen.reduce((total, { row }) => total + row.delta_us, 0);
    const kept = data.rows_total > data.rows.length ? ` (the page holds the first ${count(data.rows.length)}; the rest is in diff.csv)` : "";
    at("count").textContent = `${count(chosen.length)} of ${count(data.rows_total)} rows, together ${time(sum, true)}${kept}`;
    const more = at("more");
    more.hidden = chosen.length <= state.limit;
    more.textContent = `Show ${count(Math.min(PAGE, chosen.length - state.limit))} more`;
  }

  function line(row, position) {
    const cell = (caption, text, classes, title) => {
      const made = node("span", `num ${classes || ""}`, node("span", "cap", `${caption} `), text);
      if (title) made.title = title;
      return made;
    };
    const tags = [row.is_pallas ? "Pallas" : null, row.bimodal ? "bimodal" : null, row.trusted === false ? "flops not believed" : null, row.tier === 4 ? "matched by a rename rule" : null].filter(Boolean);
    const name = node("div", "name", row.candidate_name ? `${row.name} \u2192 ${row.candidate_name}` : row.name);
    const sub = node("div", "sub", [row.category === row.name ? "" : row.category, row.scope].filter(Boolean).join(" · "), ...tags.map((tag) => node("span", "tag", tag)));
    const tone = row.verdict === "faster" || row.verdict === "removed" ? "faster" : row.verdict === "slower" || row.verdict === "added" ? "slower" : "";
    const button = node("button", "",
      node("span", "fold", "\u203a"), node("span", "who", name, sub),
      cell("", time(row.delta_us, true), tone, exact(row.delta_us)),
      cell("per call", percent(row.mean_change), "lesser"),
      cell("baseline", time(row.baseline_us), "lesser", exact(row.baseline_us)),
      node("span", "verdict-cell num", node("span", `verdict ${tone}`, row.verdict)));
    const made = node("div", "row", button);
    made.setAttribute("role", "listitem");
    made.id = `row-${position}`;
    const show = (open) => {
      made.classList.toggle("open", open);
      button.setAttribute("aria-expanded", String(open));
      made.querySelector(".detail")?.remove();
      if (open) made.append(detail(row));
      state.open[open ? "add" : "delete"](position);
    };
    button.addEventListener("click", () => show(!state.open.has(position)));
    show(state.open.has(position));
    return made;
  }

  function reveal(position) {
    Object.assign(state, { text: "", verdict: "", pallas: false, order: "delta" });
    at("filter").value = "";
    at("pallas").checked = false;
    at("order").value = "delta";
    state.limit = Math.max(state.limit, position + 1);
    state.open.add(position);
    chips();
    list();
    const row = at(`row-${position}`);
    row.scrollIntoView({ block: "center" });
    row.querySelector("button").focus({ preventScroll: true });
  }

  function detail(row) {
    const facts = node("dl");
    const fact = (term, text, code) => {
      if (text === null || text === undefined || text === "") return;
      facts.append(node("dt", "", term), node("dd", code ? "code" : "", text));
    };
    const both = (one, two, shown) => (one === null || one === undefined) && (two === null || two === undefined) ? "" : `${shown(one)} \u2192 ${shown(two)}`;
    const range = (interval) => (interval ? `${time(interval[0])} to ${time(interval[1])}` : "\u2013");
    fact("Calls", both(row.baseline_calls, row.candidate_calls, count));
    fact("Total", both(row.baseline_us, row.candidate_us, time));
    fact("From calls", time(row.calls_effect_us, true));
    fact("From time per call", time(row.per_call_effect_us, true));
    fact("Median", both(row.baseline_median_us, row.candidate_median_us, time) + (row.median_change !== undefined ? ` (${percent(row.median_change)})` : ""));
    if (row.baseline_interval_us || row.candidate_interval_us) fact("95 % of the median", both(row.baseline_interval_us, row.candidate_interval_us, range));
    fact("Fastest call", both(row.baseline_min_us, row.candidate_min_us, time));
    fact("Mean", row.mean_change === undefined ? "" : percent(row.mean_change));
    fact("p, corrected", row.p === undefined ? "" : row.p < 1e-4 ? row.p.toExponential(1) : row.p.toFixed(4));
    fact("Noise floor", row.floor === undefined ? "" : `${(row.floor * 100).toFixed(2)} % (cores, or halves of a capture)`);
    fact("Two speeds", row.bimodal);
    fact("What changed", (row.changed || []).join("; "));
    fact("Matched by", { 1: "scope, category and name", 2: "name, category and shapes", 3: "source line and category", 4: "a rename rule: low confidence" }[row.tier]);
    fact("Scope", row.scope, true);
    fact("Source", row.source, true);
    fact("Program", row.module, true);
    return node("div", "detail", facts, strip(row));
  }

  function strip(row) {
    const box = node("div", "plot");
    if (!row.strip || !(row.strip[0].calls + row.strip[1].calls)) {
      box.append(node("p", "hint", "No calls to draw."));
      return box;
    }
    const width = 560, height = 190, left = 58, right = 8, top = 10, bottom = 26;
    const values = [...row.strip[0].us, ...row.strip[1].us];
    let low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
    const pad = (high - low || high || 1) * 0.08;
    low = Math.max(0, low - pad);
    high += pad;
    const calls = Math.max(row.strip[0].calls, row.strip[1].calls, 2);
    const x = (index) => left + (index / (calls - 1)) * (width - left - right);
    const y = (us) => top + (1 - (us - low) / (high - low)) * (height - top - bottom);
    const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Time of each call of ${row.name}` });
    for (const share of [0, 0.5, 1]) {
      const us = low + (high - low) * share;
      svg.append(drawn("line", { class: "axis", x1: left, x2: width - right, y1: y(us), y2: y(us) }));
      svg.append(drawn("text", { x: left - 6, y: y(us) + 4, "text-anchor": "end" }, time(us)));
    }
    svg.append(drawn("text", { x: left, y: height - 8 }, "call 0"), drawn("text", { x: width - right, y: height - 8, "text-anchor": "end" }, `call ${count(calls - 1)}`));
    const medians = [row.baseline_median_us, row.candidate_median_us];
    row.strip.forEach((side, which) => {
      const kind = which ? "two" : "one";
      side.us.forEach((us, index) => svg.append(drawn("circle", { class: kind, cx: x(index * side.step).toFixed(1), cy: y(us).toFixed(1), r: side.us.length > 120 ? 1.7 : 2.4 })));
      if (medians[which] !== undefined && side.calls) svg.append(drawn("line", { class: `median ${kind}`, x1: left, x2: width - right, y1: y(medians[which]), y2: y(medians[which]), "stroke-dasharray": which ? "" : "4 3" }));
    });
    const thinned = Math.max(row.strip[0].step, row.strip[1].step);
    box.append(svg, node("div", "legend", node("span", "one", node("i"), "baseline"), node("span", "two", node("i"), "candidate"), node("span", "", `device order, line at the median${thinned > 1 ? `, every ${count(thinned)}th call drawn` : ""}`)));
    return box;
  }

  function chips() {
    const tally = new Map();
    for (const row of data.rows) tally.set(row.verdict, (tally.get(row.verdict) || 0) + 1);
    const chip = (verdict, text) => {
      const made = node("button", "chip", text);
      made.setAttribute("aria-pressed", String(state.verdict === verdict));
      made.addEventListener("click", () => { state.verdict = verdict; state.limit = PAGE; chips(); list(); });
      return made;
    };
    at("verdicts").replaceChildren(chip("", "all"), ...[...tally].map(([verdict, number]) => chip(verdict, `${verdict} ${number}`)));
  }

  function rows() {
    if (!data.rows.length) return;
    at("rows-section").hidden = false;
    if (result.level === "categories") at("rows-title").textContent = "Categories, since the programs differ";
    for (const [key, [text]] of Object.entries(ORDERS)) at("order").append(Object.assign(node("option", "", text), { value: key }));
    at("filter").addEventListener("input", (event) => { state.text = event.target.value.trim().toLowerCase(); state.limit = PAGE; list(); });
    at("pallas").addEventListener("change", (event) => { state.pallas = event.target.checked; state.limit = PAGE; list(); });
    at("order").addEventListener("change", (event) => { state.order = event.target.value; list(); });
    at("more").addEventListener("click", () => { state.limit += PAGE; list(); });
    chips();
    list();
  }

  function table(columns, lines) {
    const head = node("tr", "", ...columns.map(([text, classes]) => node("th", classes, text)));
    return node("div", "table", node("table", "", node("thead", "", head), node("tbody", "", ...lines.map((cells) => node("tr", "", ...cells.map((cell, index) => {
      const made = node("td", columns[index][1], ...(Array.isArray(cell) ? cell : [cell]));
      return made;
    }))))));
  }
  const toned = (delta, text) => node("span", way(delta), text);

  function summaries() {
    if (result.categories.length) {
      at("categories").append(table([["category", "name"], ["baseline", "num"], ["candidate", "num"], ["difference", "num"]], result.categories.map((one) => [one.category, time(one.baseline_us), time(one.candidate_us), toned(one.delta_us, time(one.delta_us, true))])));
      at("categories-section").hidden = false;
    }
    if (result.modules.length) {
      at("modules").append(table([["program", "name"], ["runs", "num"], ["ops", "num"], ["idle", "num"], ["difference", "num"]], result.modules.map((one) => [one.name, `${count(one.baseline_runs)} \u2192 ${count(one.candidate_runs)}`, time(one.ops_delta_us, true), time(one.idle_delta_us, true), toned(one.delta_us, time(one.delta_us, true))])));
      at("modules-section").hidden = false;
    }
  }

  const PARTS = { program: "Whole program", unit: "Units", op: "Ops", region: "Regions", line: "Source lines", operand: "Operands" };
  function schedule() {
    const parts = data.schedule || [];
    if (!parts.length) return;
    at("schedule-section").hidden = false;
    const shown = (measure, value) => (value === undefined || value === null ? "\u2013" : measure.endsWith("_us") ? time(value) : measure.endsWith("share") ? `${(value * 100).toFixed(1)}\u00a0%` : count(value));
    const moved = (row) => (row.measure.endsWith("_us") ? time(row.delta, true) : row.measure.endsWith("share") ? minus(`${row.delta > 0 ? "+" : ""}${(row.delta * 100).toFixed(1)}\u00a0points`) : (row.delta > 0 ? "+" : "") + count(row.delta));
    const draw = () => {
      const words = at("schedule-filter").value.trim().toLowerCase().split(/\s+/).filter(Boolean);
      const changed = at("changed").checked;
      at("schedule").replaceChildren();
      for (const [part, title] of Object.entries(PARTS)) {
        const lines = parts.filter((row) => row.part === part && (!changed || row.delta) && words.every((word) => [row.name, row.measure, row.source_line].join("\n").toLowerCase().includes(word)));
        if (!lines.length) continue;
        at("schedule").append(node("h3", "", `${title} (${count(lines.length)})`), table([["part", "name"], ["measure", "name"], ["baseline", "num"], ["candidate", "num"], ["difference", "num"]], lines.slice(0, 300).map((row) => [
          [row.name, ...(row.source_line ? [node("div", "code", row.source_line)] : [])], row.measure.replace(/_(us|share)$/, "").replaceAll("_", " "), shown(row.measure, row.baseline), shown(row.measure, row.candidate), [toned(row.measure === "bundles" || row.measure.endsWith("_us") ? row.delta : 0, moved(row)), ...(row.change !== undefined ? [node("div", "code", percent(row.change, 1))] : [])]])));
      }
      if (!at("schedule").childNodes.length) at("schedule").append(node("div", "empty", changed ? "Nothing differs." : "No part matches."));
    };
    at("schedule-filter").addEventListener("input", draw);
    at("changed").addEventListener("change", draw);
    draw();
  }

  header();
  totals();
  waterfall();
  rows();
  schedule();
  summaries();
  document.documentElement.dataset.ready = "yes";
})();
