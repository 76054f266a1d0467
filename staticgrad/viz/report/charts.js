// Elements, numbers as text, and charts as SVG. Axes are logarithmic where values differ much.

function element(space, tag, attributes, children) {
  const made = space ? document.createElementNS(space, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) made.append(child);
  return made;
}
const h = (tag, attributes, ...children) => element(null, tag, attributes, children);
const s = (tag, attributes, ...children) => element("http://www.w3.org/2000/svg", tag, attributes, children);

// numbers

const digits = (x, n = 3) => (x === 0 ? "0" : Math.abs(x) >= 1e4 || Math.abs(x) < 1e-3 ? x.toExponential(Math.min(n - 1, 1)) : String(+x.toPrecision(n)));
function unit(x, units, step = 1000) {
  if (x === null || x === undefined) return "–";
  let i = 0;
  while (i < units.length - 1 && Math.abs(x) >= 0.9995 * step) { x /= step; i++; }
  return `${Math.abs(x) >= 1000 ? Math.round(x) : digits(x)} ${units[i]}`;
}
const timeText = (us) => (us !== null && us !== undefined && us < 0.9995 ? unit(us * 1000, ["ns"]) : unit(us, ["µs", "ms", "s"]));
const bytesText = (b) => unit(b, ["B", "kB", "MB", "GB"]);
const rateText = (x, of) => unit(x, ["", "k", "M", "G", "T"].map((p) => p + of));

// scales

const LOG_FROM = 10; // the ratio of values from which on an axis is logarithmic

function scale(low, high, from, to, log) {
  if (log) {
    const [a, b] = [Math.log10(low), Math.log10(high)];
    const at = (x) => from + ((Math.log10(Math.max(x, low)) - a) / (b - a || 1)) * (to - from);
    const first = Math.ceil(a - 1e-9), last = Math.floor(b + 1e-9), step = Math.max(1, Math.ceil((last - first) / 6));
    at.ticks = [];
    for (let e = first; e <= last; e += step) at.ticks.push(10 ** e);
    if (at.ticks.length < 2) at.ticks = [1, 2, 5].flatMap((m) => [first - 1, first, last].map((e) => m * 10 ** e))
      .filter((x, i, all) => x >= low * 0.999 && x <= high * 1.001 && all.indexOf(x) === i).sort((x, y) => x - y);
    return at;
  }
  const at = (x) => from + ((x - low) / (high - low || 1)) * (to - from);
  const rough = (high - low) / 5 || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((m) => m * power >= rough) * power;
  at.ticks = [];
  for (let x = Math.ceil(low / step - 1e-9) * step; x <= high + step * 1e-9; x += step) at.ticks.push(+x.toPrecision(12));
  return at;
}

// A frame with axes. options: label, x and y as {low, high, log, title, text}; draw(x, y) returns marks.
function chart({ label, x, y, width = 640, height = 260, left = 64, draw }) {
  const right = width - 14, top = 12, bottom = height - 40;
  const atX = scale(x.low, x.high, left, right, x.log), atY = y ? scale(y.low, y.high, bottom, top, y.log) : null;
  const parts = [];
  for (const tick of atX.ticks) {
    parts.push(s("line", { class: "grid", x1: atX(tick), x2: atX(tick), y1: top, y2: bottom }));
    parts.push(s("text", { class: "tick", x: atX(tick), y: bottom + 15, "text-anchor": "middle" }, (x.text || digits)(tick)));
  }
  for (const tick of atY ? atY.ticks : []) {
    parts.push(s("line", { class: "grid", x1: left, x2: right, y1: atY(tick), y2: atY(tick) }));
    parts.push(s("text", { class: "tick", x: left - 6, y: atY(tick) + 4, "text-anchor": "end" }, (y.text || digits)(tick)));
  }
  parts.push(s("text", { class: "axis", x: (left + right) / 2, y: height - 6, "text-anchor": "middle" }, x.title + (x.log ? " (logarithmic)" : "")));
  if (y && y.title) parts.push(s("text", { class: "axis", x: 12, y: (top + bottom) / 2, "text-anchor": "middle",
    transform: `rotate(-90 12 ${(top + bottom) / 2})` }, y.title + (y.log ? " (log)" : "")));
  return s("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    ...parts, ...draw(atX, atY, { left, right, top, bottom }).flat());
}

function bounds(values, log) {
  const known = values.filter((v) => v !== null && (!log || v > 0));
  let low = Math.min(...known), high = Math.max(...known);
  if (log) return high / low < 1.2 ? [low / 1.5, high * 1.5] : [low / 1.15, high * 1.15];
  const pad = (high - low) * 0.05 || Math.abs(high) * 0.05 || 1;
  return [low - pad, high + pad];
}
const wide = (values) => { const known = values.filter((v) => v > 0); return known.length > 0 && Math.max(...known) / Math.min(...known) > LOG_FROM; };
const color = (i) => `var(--series-${i % 8})`;

// Curves over steps: series as {name, values, index, step}, with a value each `step` steps.
function curves(series, label, title, log) {
  const all = series.flatMap((one) => one.values), [low, high] = bounds(all, log);
  const last = Math.max(...series.map((one) => one.values.length * (one.step || 1)));
  const many = Math.max(...series.map((one) => one.values.length)) > 200;
  return chart({
    label, x: { low: 1, high: Math.max(last, 2), title: "step" }, y: { low, high, log, title },
    draw: (x, y) => series.map((one, i) => {
      const points = one.values.map((v, n) => (v === null || (log && v <= 0) ? null : `${x(n * (one.step || 1) + 1).toFixed(1)},${y(v).toFixed(1)}`));
      return s("polyline", { points: points.filter(Boolean).join(" "), fill: "none", stroke: color(one.index),
        "stroke-width": (many ? 1 : 1.5) + (many ? 1.1 : 2.2) * (series.length - 1 - i), "stroke-linejoin": "round" }, s("title", {}, one.name));
    }),
  });
}

// The distribution of the times of a step: all times as dots, 5% to 95% as a line, quartiles as a box.
function timesChart(modes) {
  const all = modes.flatMap((m) => m.times_us), [low, high] = bounds(all, true); // a slow first step doesn't press the others together
  const row = 34, height = 52 + row * modes.length;
  return chart({
    width: 860,
    label: "Time of a step in each mode: " + modes.map((m) => `${m.name} ${timeText(m.call_us)}`).join(", "),
    x: { low, high, log: true, title: "time of a step", text: timeText }, height, left: 110,
    draw: (x, _, box) => modes.map((m, i) => {
      const y = box.top + row * (i + 0.5), [a, b, c, d, e] = m.quantiles_us.map(x), tint = color(m.index);
      return [
        s("text", { class: "name", x: box.left - 10, y: y + 4, "text-anchor": "end" }, m.name),
        ...m.times_us.slice(0, 300).map((t, n) => s("circle", { cx: x(t), cy: y + ((n * 7) % 15) - 7, r: 1.6, fill: tint, opacity: 0.35 })),
        s("line", { x1: a, x2: e, y1: y, y2: y, stroke: tint, "stroke-width": 2 }),
        s("rect", { x: b, y: y - 7, width: Math.max(d - b, 1.5), height: 14, fill: tint, opacity: 0.55 }),
        s("line", { x1: c, x2: c, y1: y - 10, y2: y + 10, stroke: "var(--text)", "stroke-width": 2 }),
        s("text", { class: "value", x: Math.min(Math.max(d, c) + 8, box.right - 52), y: y - 9 }, timeText(m.call_us)),
      ];
    }),
  });
}

const KIND_COLORS = { kernel: 0, fold: 0, gemm: 1, routine: 2, copy: 3, clear: 3, check: 4, host: 5 };
const kindColor = (kind) => color(KIND_COLORS[kind] ?? 6);

// Each instruction under the roof of the machine; a click selects it.
function rooflineChart(instructions, limits, select) {
  const known = instructions.filter((row) => row.us > 0 && row.flops > 0 && row.bytes > 0);
  if (!known.length) return null;
  const band = limits.bandwidth.map((pair) => pair[1]), best = Math.max(...band), slow = band[band.length - 1];
  const [xl, xh] = bounds([...known.map((r) => r.flops / r.bytes), 0.05, limits.flops / slow], true);
  const [yl, yh] = bounds([...known.map((r) => (r.flops / r.us) * 1e6), limits.flops * 2], true);
  return chart({
    label: "Roofline: operations per second of each instruction against operations per byte",
    x: { low: xl, high: xh, log: true, title: "operations per byte" }, y: { low: yl, high: yh, log: true, title: "operations/s", text: (v) => rateText(v, "") },
    height: 320,
    draw: (x, y, box) => [
      ...[["fastest cache", best], ["memory", slow]].map(([name, rate]) => {
        const ridge = limits.flops / rate, start = Math.max(xl, yl / rate), points = `${x(start)},${y(start * rate)} ${x(Math.min(ridge, xh))},${y(Math.min(limits.flops, xh * rate))} ${box.right},${y(limits.flops)}`;
        return [s("polyline", { points, class: "roof" }), s("text", { class: "tick", x: x(start) + 6, y: Math.max(y(start * rate) - 8, box.top + 10) }, `${name}, ${bytesText(rate)}/s`)];
      }),
      s("text", { class: "tick", x: box.right - 4, y: y(limits.flops) - 6, "text-anchor": "end" }, `products, ${rateText(limits.flops, "flop/s")}`),
      ...known.map((row) => s("circle", { class: "dot", cx: x(row.flops / row.bytes), cy: y((row.flops / row.us) * 1e6), r: 5, fill: kindColor(row.kind),
        onclick: () => select(row.number) }, s("title", {}, `${row.number}: ${row.title}, ${timeText(row.us)}, ${Math.round(row.share * 100)}% of the limit`))),
    ],
  });
}

// The instructions of a step one after the other, as long as they take.
function timelineChart(instructions, select, whole) {
  const known = instructions.filter((row) => row.us !== null), total = known.reduce((sum, row) => sum + row.us, 0);
  if (!total) return null;
  let begin = 0;
  return chart({
    label: `Timeline of ${whole}: ${known.length} instructions in ${timeText(total)}`, width: 860, height: 96, left: 14,
    x: { low: 0, high: total, title: `time of the instructions of ${whole}`, text: timeText },
    draw: (x, _, box) => known.map((row) => {
      const from = x(begin), to = x((begin += row.us));
      return s("rect", { class: "block", x: from, y: box.top, width: Math.max(to - from - 0.4, 0.3), height: box.bottom - box.top, fill: kindColor(row.kind),
        onclick: () => select(row.number) }, s("title", {}, `${row.number}: ${row.kind} ${row.title}, ${timeText(row.us)}`));
    }),
  });
}

// The arena of a segment: each buffer as high as its bytes, and as long as the instructions between its first and last use.
function memoryChart(plan, texts) {
  if (!plan.memory.length) return null;
  const last = Math.max(plan.count, 1);
  return chart({
    label: `Memory over the schedule: an arena of ${bytesText(plan.arena)}, of which ${bytesText(plan.bound)} are live at once`,
    x: { low: 0, high: last, title: "instruction" }, y: { low: 0, high: plan.arena, title: "place in the arena", text: bytesText }, height: 280, left: 78,
    draw: (x, y, box) => [
      ...plan.memory.map(([size, offset, first, end, kind], i) => {
        const top = y(offset + size), to = Math.min(end + 1, last);
        return s("rect", { class: "block", x: x(first), y: top, width: Math.max(x(to) - x(first) - 0.5, 0.5), height: Math.max(y(offset) - top - 0.3, 0.3), fill: color(i),
          opacity: 0.75 }, s("title", {}, `${texts[kind]}: ${bytesText(size)}, instructions ${first} to ${end}`));
      }),
      s("line", { class: "roof", x1: box.left, x2: box.right, y1: y(plan.bound), y2: y(plan.bound) }, s("title", {}, `most bytes live at once: ${bytesText(plan.bound)}`)),
    ],
  });
}
