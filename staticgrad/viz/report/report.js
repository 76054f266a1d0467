// The sections of the page, from the data in it.

const data = JSON.parse(document.getElementById("data").textContent);
const { texts, plan } = data, page = document.getElementById("report");
data.modes.forEach((mode, i) => { mode.index = i; });
const ran = data.modes.filter((mode) => !mode.error);
const cut = plan?.segments.length > 1, whole = cut ? "all segments" : "one step";
const instructions = (plan?.instructions || []).map((row, number) => ({ ...row, number, title: texts[row.name], share: row.us ? Math.min(row.least / row.us, 1) : null }));

function section(title, ...content) {
  const id = title.toLowerCase().replace(/[^a-z]+/g, "-");
  page.append(h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), ...content));
}
function table(label, head, rows, numeric = 1) {
  const kind = (i) => (i < numeric ? null : head[i] === "your line" ? "wrap" : "number"), cell = (x) => (x instanceof Node ? x : String(x));
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, h("table", {},
    h("thead", {}, h("tr", {}, ...head.map((name, i) => h("th", { scope: "col", class: kind(i) }, name)))),
    h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((x, i) => h(i ? "td" : "th", { scope: i ? null : "row", class: kind(i) }, cell(x))))))));
}
const legend = (names) => h("ul", { class: "legend" }, ...names.map(([name, tint]) => h("li", {}, h("span", { style: `background:${tint}` }), name)));
const modeLegend = (modes) => legend(modes.map((mode) => [mode.name, color(mode.index)]));
const plural = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

// figures

page.append(h("header", {}, h("p", { class: "kicker" }, "staticgrad: one function, every mode"), h("h1", {}, data.function),
  h("p", { class: `verdict ${data.verdict.includes("DISAGREE") ? "bad" : "good"}`, role: "status" }, data.verdict),
  h("p", { class: "note" }, data.made)));

const count = (x) => (x === null ? "–" : x.toLocaleString("en"));
const worst = (mode) => mode.differences.reduce((most, d) => (most && most.relative !== null && (d.relative === null || d.relative > most.relative) ? d : most || d), null);
const off = (d) => (!d ? "–" : d.relative === null ? "other" : d.absolute === 0 ? "equal" : digits(d.relative, 2));
section("Modes",
  table("Figures of each mode", ["mode", "step (median)", "5% to 95%", "first step", "ready after", "kernels", "host calls", "cuts", "traces", "memory", "off by"],
    ran.map((m) => [h("span", {}, h("i", { class: "swatch", style: `background:${color(m.index)}` }), m.name + (m.values_only ? " (values only)" : "")), timeText(m.call_us),
      `${timeText(m.quantiles_us[0])} to ${timeText(m.quantiles_us[4])}`, timeText(m.first_ms * 1e3), timeText(m.ready_ms * 1e3), count(m.kernels), count(m.host_calls),
      count(m.cuts), m.recompiles.length || "–", bytesText(m.peak_bytes), off(worst(m))])),
  ...data.modes.filter((m) => m.error).map((m) => h("p", { class: "note" }, h("b", {}, m.name), ` could not be run: ${m.error}`)),
  ...ran.filter((m) => m.second_error).map((m) => h("p", { class: "note" }, `No second gradients in ${m.name}: ${m.second_error}`)),
  ...ran.filter((m) => m.recompiles.length > 1).map((m) => h("details", {}, h("summary", {}, `${m.name}: why it was traced ${m.recompiles.length} times`), h("ol", {}, ...m.recompiles.map((why) => h("li", {}, why))))),
  h("figure", {}, timesChart(ran.filter((m) => m.times_us.length)), h("figcaption", {}, "Each dot is a step; the box spans the quartiles, the line 5% to 95%, the mark is the median.")));

// losses

const losing = ran.filter((m) => m.losses.filter((x) => x !== null).length > 1);
const moving = losing.some((m) => new Set(m.losses).size > 1);
if (moving) {
  const first = losing[0], log = losing.every((m) => m.losses.every((x) => x > 0)) && wide(losing.flatMap((m) => m.losses));
  const window = Math.ceil(first.losses.length / 120); // of a long training, the largest difference in each few steps
  const apart = losing.slice(1).map((m) => {
    const each = m.losses.map((x, i) => (x === null || i >= first.losses.length ? 0 : Math.abs(x - first.losses[i]) / (Math.abs(first.losses[i]) || 1)));
    return { name: m.name, index: m.index, step: window, values: each.map((_, i) => Math.max(...each.slice(i, i + window), 1e-9)).filter((_, i) => i % window === 0) };
  });
  section("Losses", modeLegend(losing), h("div", { class: "two" },
    h("figure", {}, curves(losing.map((m) => ({ name: m.name, index: m.index, values: m.losses })), "Loss curves of all modes", "loss", log), h("figcaption", {}, "The curves lie over each other; later ones are thinner.")),
    apart.length ? h("figure", {}, curves(apart, `Difference of the losses from ${first.name}`, `off ${first.name}, relative`, true),
      h("figcaption", {}, `${window > 1 ? `The largest of each ${window} steps` : "Each step"}, relative to the loss in ${first.name}; equal losses are drawn at 1e-9.`)) : null));
}

// graphs

const panel = h("aside", { class: "panel", "aria-live": "polite", "aria-label": "Selected box" }, h("p", {}, "Select a box to see its source, its time and your lines."));
const views = data.pictures.map((picture, i) => new Drawing(picture, texts, i === data.pictures.length - 1 ? plan : null, (key) => describe(i, key)));
const line = (text) => h("code", {}, text);

function facts(pairs) {
  return h("dl", {}, ...pairs.filter(([, value]) => value !== null && value !== undefined && value !== "").flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}
const bar = (share) => h("span", { class: "bar", role: "img", "aria-label": `${Math.round(share * 100)}%` }, h("span", { style: `width:${Math.min(share * 100, 100).toFixed(1)}%` }));

function instructionFacts(row, lines = true) {
  return [facts([
    ["instruction", `${row.number}: ${row.kind}`], ["time", row.us === null ? "not timed" : timeText(row.us)],
    ["segment", cut ? texts[plan.segments[row.segment].title] : ""],
    [cut ? "of all segments" : "of the step", row.us === null ? "" : `${((100 * row.us) / instructions.reduce((sum, one) => sum + (one.us || 0), 0)).toFixed(1)}%`],
    ["roofline", row.share === null ? "" : h("span", {}, bar(row.share), ` ${Math.round(row.share * 100)}% of the limit (${timeText(row.least)})`)],
    ["operations", row.flops ? `${row.flops.toLocaleString("en")}${row.us ? `, ${rateText((row.flops / row.us) * 1e6, "flop/s")}` : ""}` : ""],
    ["bytes", `${bytesText(row.bytes)}${row.us ? `, ${bytesText((row.bytes / row.us) * 1e6)}/s` : ""}`], ["chunks", row.chunks > 1 ? row.chunks : ""],
    ["critical path", row.critical ? `on it; ${row.critical > 1 ? "no" : "a"} shorter chain leads around it` : ""]]),
  ...(lines && row.lines.length ? [h("h4", {}, "Your lines"), h("ul", { class: "lines" }, ...row.lines.map((at) => h("li", {}, line(texts[at]))))] : []),
  row.source >= 0 ? h("h4", {}, `Source of kernel ${row.source}`) : null,
  row.source >= 0 ? h("pre", { class: "source", tabindex: 0, "aria-label": "Generated source" }, plan.sources[row.source]) : null];
}

function describe(i, key) {
  const view = views[i], group = view.isGroup(key);
  const head = h("h3", {}, group ? view.heading(key) : texts[view.picture.nodes[key][0]]);
  const button = group ? h("button", { type: "button", onclick: () => { view.toggle(key); describe(i, key); } }, view.open.has(key) ? "Fold" : `Unfold ${plural(view.size[key], "node")}`) : null;
  const parts = [head, button];
  const row = view.instruction(key);
  if (row) parts.push(...instructionFacts(instructions[view.group(key)[3]]));
  else if (group) parts.push(...groupFacts(view, key));
  else {
    const [, type, , , where, attrs, results] = view.picture.nodes[key], around = view.plan ? kernelOf(view, key) : -1;
    const names = (list) => (list || []).slice(0, 8).map((other) => view.title(other)).join(", ");
    parts.push(facts([["type", line(texts[type])], ["attributes", texts[attrs]], ["result", texts[results]],
      ["reads", names(view.near.up.get(key))], ["read by", names(view.near.down.get(key))]]));
    if (where) parts.push(h("h4", {}, "Your line"), h("ul", { class: "lines" }, h("li", {}, line(texts[where]))));
    if (around >= 0) parts.push(h("h3", {}, `In ${instructions[around].title}`), ...instructionFacts(instructions[around], !where));
  }
  panel.replaceChildren(...parts.flat().filter(Boolean));
  panel.scrollTop = 0;
}
function kernelOf(view, key) {
  for (let p = view.parent[key]; p !== -1; p = view.parent[p]) if (view.group(p)[3] >= 0) return view.group(p)[3];
  return -1;
}
function groupFacts(view, key) {
  const ops = new Map(), lines = new Map(), inside = [];
  view.picture.nodes.forEach((node, i) => {
    for (let p = view.parent[i]; p !== -1; p = view.parent[p]) if (p === key) {
      const op = texts[node[0]].split(" ")[1].split("(")[0];
      ops.set(op, (ops.get(op) || 0) + 1);
      if (node[4]) lines.set(node[4], (lines.get(node[4]) || 0) + 1);
      inside.push(i);
    }
  });
  const rows = view.plan ? [...new Set(inside.map((i) => kernelOf(view, i)))].filter((row) => row >= 0).map((row) => instructions[row]) : [];
  const most = [...lines].sort((a, b) => b[1] - a[1]).slice(0, 12);
  return [facts([["nodes", inside.length], ["instructions", rows.length || ""], ["time", rows.length ? timeText(rows.reduce((sum, row) => sum + (row.us || 0), 0)) : ""],
    ["operations", [...ops].sort((a, b) => b[1] - a[1]).slice(0, 10).map(([op, n]) => `${n} ${op}`).join(", ")]]),
  most.length ? h("h4", {}, "Your lines") : null, h("ul", { class: "lines" }, ...most.map(([at]) => h("li", {}, line(texts[at]))))];
}

let current = -1;
if (views.length) {
  const stage = h("div", { class: "stage", role: "tabpanel" });
  const tabs = data.pictures.map((picture, i) => h("button", { type: "button", role: "tab", id: `tab-${i}`, onclick: () => open(i) }, `${picture.name} (${plural(picture.nodes.length, "node")})`));
  const tablist = h("div", { class: "tabs", role: "tablist", "aria-label": "Graphs", onkeydown: (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) { open((current + step + views.length) % views.length); tabs[current].focus(); event.preventDefault(); }
  } }, ...tabs);
  const tool = (name, text, work) => h("button", { type: "button", "aria-label": name, title: name, onclick: () => work(views[current]) }, text);
  var open = (i) => {
    const fresh = !views[i].view;
    current = i;
    tabs.forEach((tab, n) => { tab.setAttribute("aria-selected", n === i); tab.setAttribute("tabindex", n === i ? 0 : -1); });
    stage.setAttribute("aria-labelledby", `tab-${i}`);
    stage.replaceChildren(views[i].svg);
    if (fresh) { views[i].update(); views[i].fit(0.55); }
    views[i].look();
    describe(i, views[i].selected);
  };
  section("Graphs", tablist, h("div", { class: "graphs" }, h("div", { class: "board" },
    h("div", { class: "tools", role: "toolbar", "aria-label": "View" }, tool("Zoom in", "+", (v) => v.zoom(1.3)), tool("Zoom out", "−", (v) => v.zoom(1 / 1.3)), tool("Show all", "Fit", (v) => v.fit()),
      tool("Fold all", "Fold all", (v) => v.fold(true)), tool("Unfold all", "Unfold all", (v) => v.fold(false))), stage), panel),
  legend([["input", "var(--input)"], ["variable", "var(--state)"], ["constant", "var(--constant)"], ["operation", "var(--op)"], ["gradient, update", "var(--backward)"], ["effect", "var(--effect)"], ["kernel", "var(--kernel)"]]),
  h("p", { class: "hint" }, "Drag to move; the wheel zooms once the drawing has the focus. Double-click, or Enter, folds and unfolds; arrow keys go along the edges."));
  open(views.length - 1);
  const slowest = instructions.filter((row) => row.source >= 0).sort((a, b) => b.us - a.us)[0], first = views[current];
  const key = slowest ? first.picture.groups.findIndex((group) => group[3] === slowest.number) : -1;
  if (key >= 0) { first.selected = first.shown(first.count + key); first.mark(); describe(current, first.count + key); }
  else if (slowest) panel.replaceChildren(h("h3", {}, slowest.title), ...instructionFacts(slowest).filter(Boolean));
  addEventListener("resize", () => views[current].look());
}

// An instruction anywhere on the page: its kernel in the drawing, its source in the panel.
function select(number) {
  const i = views.length - 1, key = views[i].picture.groups.findIndex((group) => group[3] === number);
  open(i);
  if (key >= 0) views[i].select(views[i].count + key);
  else panel.replaceChildren(h("h3", {}, instructions[number].title), ...instructionFacts(instructions[number]).filter(Boolean));
  document.getElementById("graphs").scrollIntoView({ block: "start" });
}

// instructions

if (plan) {
  const kinds = [...new Set(instructions.map((row) => row.kind))].map((kind) => [kind, kindColor(kind)]);
  const timed = instructions.filter((row) => row.us !== null), roof = rooflineChart(instructions, data.limits, select), times = timelineChart(instructions, select, whole);
  const withMemory = plan.segments.filter((one) => one.memory.length), memory = h("div", {});
  const showMemory = (one) => memory.replaceChildren(memoryChart(one, texts), h("figcaption", {}, `Memory over the schedule: each buffer from its first to its last use. The arena has ${bytesText(one.arena)}; ${bytesText(one.bound)} (line) are live at once. The figure of the mode counts the results as well.`));
  const which = withMemory.length > 1 ? h("label", {}, "Memory of ", h("select", { id: "memory-of", onchange: (event) => showMemory(withMemory[event.target.value]) }, ...withMemory.map((one, i) => h("option", { value: i }, texts[one.title])))) : null;
  const largest = withMemory.reduce((most, one) => (most && most.arena >= one.arena ? most : one), null);
  if (largest) showMemory(largest);
  if (which) which.querySelector("select").value = withMemory.indexOf(largest);
  const slowest = [...timed].sort((a, b) => b.us - a.us), shown = slowest.slice(0, 15);
  const cells = (row) => [h("button", { type: "button", class: "link", onclick: () => select(row.number) }, `${row.number} ${row.title}`), row.kind, timeText(row.us), row.share === null ? "–" : h("span", {}, bar(row.share), ` ${Math.round(row.share * 100)}%`),
    bytesText(row.bytes), row.flops.toLocaleString("en"), row.lines.length ? line(texts[row.lines[0]]) : ""];
  const total = timed.reduce((sum, row) => sum + row.us, 0), stepped = data.modes.find((mode) => mode.name === plan.mode)?.call_us;
  const sums = stepped && timed.length ? `One by one the instructions take ${timeText(total)}, a step takes ${timeText(stepped)}: a step also has the call from Python and the exchange with the other threads, and its operands come from further away; where it is faster, threads work on its instructions together.` : "";
  const head = ["instruction", "kind", "time", "of the limit", "bytes", "operations", "your line"];
  section("Kernels", h("p", {}, `${cut ? `The ${plural(plan.segments.length, "segment")} of ${plan.mode}, a plan each` : `The plan of ${plan.mode}`}: ${plural(instructions.length, "instruction")}, ${plural(plan.sources.length, "generated kernel")}. A click shows a kernel with its source.`),
    h("p", {}, ...plan.segments.map((one, i) => `Critical path${cut ? ` of segment ${i}` : ""}: a chain of ${plural(instructions.filter((row) => row.segment === i && row.critical).length, "instruction")} that takes ${Math.round(100 * one.critical)}% of the time of all. `)),
    legend(kinds), times ? h("figure", {}, times, sums ? h("figcaption", {}, sums) : null) : null,
    h("div", { class: "two" }, roof ? h("figure", {}, roof, h("figcaption", {}, "A time is that of an instruction by itself, on operands in the cache.")) : null,
      withMemory.length ? h("figure", {}, which, memory) : null),
    h("h3", {}, "The slowest"), table("Slowest instructions", head, shown.map(cells), 2),
    slowest.length > 15 ? h("details", {}, h("summary", {}, `${slowest.length - 15} faster ones`), table("Faster instructions", head, slowest.slice(15, 1000).map(cells), 2)) : null);
}

// differences

const names = [...new Set(ran.flatMap((m) => m.differences.map((d) => d.what)))], others = ran.filter((m) => m.differences.length);
if (names.length) {
  const known = new Map(others.map((m) => [m.name, new Map(m.differences.map((d) => [d.what, d]))]));
  const most = (name) => Math.max(...others.map((m) => { const d = known.get(m.name).get(name); return d ? d.relative ?? Infinity : 0; }));
  const rows = names.map((name) => [name, ...others.flatMap((m) => { const d = known.get(m.name).get(name);
    return d ? [d.absolute === null ? "∞" : digits(d.absolute, 2), d.ulps === null ? "∞" : digits(d.ulps, 2)] : ["–", "–"]; })]);
  const head = ["result", ...others.flatMap((m) => [`${m.name}: absolute`, "ULP"])], sorted = rows.map((row, i) => [most(names[i]), row]).sort((a, b) => b[0] - a[0]).map((pair) => pair[1]);
  section("Differences", h("p", {}, `The largest difference of each result and gradient from ${data.modes[0].name}, absolute and in units of the last place of its elements. The largest first.`),
    table("Differences", head, sorted.slice(0, 12)),
    sorted.length > 12 ? h("details", {}, h("summary", {}, `${sorted.length - 12} smaller ones`), table("Smaller differences", head, sorted.slice(12, 1000))) : null);
}

// the log

if (plan) {
  const log = plan.log, list = h("tbody", {}), box = h("input", { type: "search", id: "filter", placeholder: "an op, a reason, a line", oninput: () => fill() });
  const only = h("select", { id: "which", onchange: () => fill() }, ...["all", "fused", "not fused"].map((name) => h("option", {}, name)));
  const counted = h("p", { class: "note", "aria-live": "polite" });
  const fill = () => {
    const word = box.value.toLowerCase(), found = log.decisions.filter(([fused, a, b, why, at, , , remedy]) => (only.value === "all" || (only.value === "fused") === Boolean(fused)) &&
      (!word || `${texts[a]} ${texts[b]} ${texts[why]} ${texts[at]} ${texts[remedy]}`.toLowerCase().includes(word)));
    list.replaceChildren(...found.slice(0, 300).map(([fused, a, b, why, at, n, size, remedy]) => h("tr", {}, h("td", { class: fused ? "yes" : "no" }, fused ? "fused" : "not fused"), h("td", {}, line(`${texts[a]} → ${texts[b]}`)),
      h("td", { class: "number" }, size ? `${bytesText(size)} ${fused ? "saved" : "paid"}` : "–"), h("td", { class: "wrap" }, texts[why] + (n > 1 ? ` (${n} times)` : "")),
      h("td", { class: "wrap" }, fused ? "" : texts[remedy]), h("td", { class: "wrap" }, at ? line(texts[at]) : ""))));
    counted.textContent = `${plural(found.length, "decision")}${found.length > 300 ? ", of which the first 300 are listed" : ""}.`;
  };
  fill();
  section("Compile log",
    h("h3", {}, "Passes"), table("Graph after each pass", [...(cut ? ["segment"] : []), "after", "nodes", "operations"], plan.segments.flatMap((one) => one.stages.map((row) => [...(cut ? [texts[one.title]] : []), ...row])), cut ? 2 : 1),
    log.rewrites.length ? h("details", { open: log.rewrites.length < 15 }, h("summary", {}, `Rewrite rules: ${plural(log.rewrites.reduce((sum, row) => sum + row[2], 0), "rewrite")}`), table("Rewrite rules", ["rule", "at", "times"], log.rewrites.map(([rule, op, n]) => [texts[rule], line(texts[op]), n]), 2)) : null,
    h("h3", {}, "Fusion decisions"), h("div", { class: "filter" }, h("label", { for: "filter" }, "Filter "), box, h("label", { for: "which" }, " show "), only), counted,
    h("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": "Fusion decisions" }, h("table", {}, h("thead", {}, h("tr", {}, ...["", "edge", "traffic", "reason", "what you could change", "your line"].map((name) => h("th", { scope: "col" }, name)))), list)),
    log.notes.length ? h("details", {}, h("summary", {}, `${plural(log.notes.length, "note")} on variables, values written over others, and the choice of routines`), h("ul", {}, ...log.notes.map(([note, n]) => h("li", {}, texts[note] + (n > 1 ? ` (${n} times)` : ""))))) : null);
}
page.prepend(h("nav", { "aria-label": "Sections" }, ...[...page.querySelectorAll("section")].map((one) => h("a", { href: `#${one.id}` }, one.querySelector("h2").textContent))));
document.documentElement.dataset.ready = "true";
