// A graph as a drawing that pans, zooms and folds. A key is the number of a node, or that of a group after all nodes.

const LETTER = 6.7, ROW = 15, PAD = 12, HEAD = 24, WIDEST = 36, SHOWN_AT_FIRST = 40, MOST_DRAWN = 3000;
const clipped = (text, n = WIDEST) => (text.length > n ? text.slice(0, n - 1) + "…" : text);

class Drawing {
  // chosen(key) tells the page what was selected.
  constructor(picture, texts, plan, chosen) {
    Object.assign(this, { picture, texts, plan, chosen });
    this.count = picture.nodes.length;
    const total = this.count + picture.groups.length;
    this.parent = new Array(total);
    this.children = new Map([[-1, []]]);
    picture.nodes.forEach((node, i) => { this.parent[i] = node[3] < 0 ? -1 : this.count + node[3]; });
    picture.groups.forEach((group, g) => { this.parent[this.count + g] = group[1] < 0 ? -1 : this.count + group[1]; });
    for (let i = 0; i < this.count; i++) { // members stand in the order of their first nodes
      for (let key = i; key !== -1; key = this.parent[key]) {
        const own = this.children.get(this.parent[key]);
        if (own === undefined) this.children.set(this.parent[key], [key]);
        else if (this.placed?.has(key)) break;
        else own.push(key);
        (this.placed ||= new Set()).add(key);
      }
    }
    this.size = new Array(total).fill(0); // nodes inside
    for (let i = 0; i < this.count; i++) for (let key = i; key !== -1; key = this.parent[key]) this.size[key]++;
    this.depth = this.parent.map((_, key) => { let d = 0; for (let p = this.parent[key]; p !== -1; p = this.parent[p]) d++; return d; });
    this.open = new Set();
    this.unfoldSome();
    this.selected = this.children.get(-1)[0] ?? -1;
    this.svg = s("svg", { class: "graph", role: "group", "aria-roledescription": "graph", tabindex: -1,
      "aria-label": `${picture.name}: ${this.count} nodes. Arrow keys go from box to box, Enter folds and unfolds, plus and minus zoom.` });
    this.listen();
  }

  isGroup(key) { return key >= this.count; }
  group(key) { return this.picture.groups[key - this.count]; }
  title(key) { return this.isGroup(key) ? this.texts[this.group(key)[0]] : this.texts[this.picture.nodes[key][0]]; }
  kind(key) { return this.texts[this.isGroup(key) ? this.group(key)[2] : this.picture.nodes[key][2]]; }
  instruction(key) { return this.isGroup(key) && this.plan ? this.plan.instructions[this.group(key)[3]] : undefined; }

  // folding

  unfoldSome() {
    let shown = this.children.get(-1).length;
    const queue = this.children.get(-1).filter((key) => this.isGroup(key));
    const whole = this.count <= SHOWN_AT_FIRST;
    while (queue.length) {
      const key = queue.shift(), own = this.children.get(key) || [];
      if (!whole && (shown + own.length - 1 > SHOWN_AT_FIRST || this.kind(key) === "kernel")) continue;
      shown += own.length - 1;
      this.open.add(key);
      queue.push(...own.filter((child) => this.isGroup(child)));
    }
  }

  fold(all) {
    this.open = new Set();
    if (!all) {
      let shown = 0; // outer groups first, as many as can be drawn
      const queue = [...this.children.get(-1)];
      for (let key = queue.shift(); key !== undefined && shown < MOST_DRAWN; key = queue.shift()) {
        shown++;
        if (this.isGroup(key)) { this.open.add(key); queue.push(...this.children.get(key)); }
      }
    }
    this.selected = this.shown(this.selected);
    this.update();
    this.fit();
  }

  toggle(key) {
    if (!this.isGroup(key)) return;
    const before = this.place.get(key), was = { x: before.x - before.w / 2, y: before.y };
    if (this.open.has(key)) this.open.delete(key); else this.open.add(key);
    this.selected = key;
    this.update();
    const after = this.place.get(key); // the corner stays where it was
    this.view.x += after.x - after.w / 2 - was.x;
    this.view.y += after.y - was.y;
    this.look();
    this.focus();
  }

  // The box that stands for a node: itself, or the outermost group around it that is folded.
  shown(key) {
    let found = key;
    for (let p = this.parent[key]; p !== -1; p = this.parent[p]) if (!this.open.has(p)) found = p;
    return found;
  }

  // drawing

  update() {
    const levels = new Map(), drawn = new Map();
    this.near = { up: new Map(), down: new Map() };
    for (const [from, to, kind] of this.picture.edges) {
      const a = this.shown(from), b = this.shown(to);
      if (a === b) continue;
      const id = `${a},${b}`, known = drawn.get(id);
      if (known) { known.n++; known.kind = Math.min(known.kind, kind); continue; }
      let u = a, v = b; // the neighbors in the same group around which the edge runs
      while (this.depth[u] > this.depth[v]) u = this.parent[u];
      while (this.depth[v] > this.depth[u]) v = this.parent[v];
      while (this.parent[u] !== this.parent[v]) { u = this.parent[u]; v = this.parent[v]; }
      drawn.set(id, { a, b, u, v, n: 1, kind });
      if (!levels.has(this.parent[u])) levels.set(this.parent[u], new Map());
      levels.get(this.parent[u]).set(`${u},${v}`, [u, v]);
      (this.near.down.get(a) || this.near.down.set(a, []).get(a)).push(b);
      (this.near.up.get(b) || this.near.up.set(b, []).get(b)).push(a);
    }
    this.place = new Map();
    this.routes = new Map();
    this.whole = this.arrange(-1, levels);
    this.shift(-1, 0, 0);
    const lines = [...drawn.values()].map((edge) => this.edge(edge));
    const boxes = [...this.place.keys()].sort((a, b) => this.depth[a] - this.depth[b]).map((key) => this.box(key)); // outer groups below
    this.svg.replaceChildren(s("g", {}, ...boxes.filter(([open]) => open).map(([, made]) => made), ...lines,
      ...boxes.filter(([open]) => !open).map(([, made]) => made)));
    this.mark();
  }

  // The size of what is inside a group; places are relative to it.
  arrange(group, levels) {
    const keys = this.children.get(group) || [], at = new Map(keys.map((key, i) => [key, i]));
    const items = keys.map((key) => {
      if (this.isGroup(key) && this.open.has(key)) {
        const inner = this.arrange(key, levels), head = clipped(this.heading(key), 60).length * LETTER + 40;
        return { w: Math.max(inner.w + 2 * PAD, head), h: inner.h + HEAD + PAD, inner: inner.w };
      }
      const lines = this.lines(key);
      return { w: Math.max(...lines.map((line) => line.length)) * LETTER + (this.isGroup(key) ? 40 : 18), h: lines.length * ROW + 10, lines };
    });
    const links = [...(levels.get(group)?.values() || [])].map(([u, v]) => [at.get(u), at.get(v)]);
    const found = layered(items, links);
    keys.forEach((key, i) => this.place.set(key, items[i]));
    for (const [id, path] of found.routes) {
      const [a, b] = id.split(",").map(Number);
      if (path.length) this.routes.set(`${keys[a]},${keys[b]}`, { group, path });
    }
    return found;
  }

  shift(group, x, y) {
    for (const key of this.children.get(group) || []) {
      const box = this.place.get(key);
      box.x += x;
      box.y += y;
      if (this.isGroup(key) && this.open.has(key)) this.shift(key, box.x - box.inner / 2, box.y + HEAD);
    }
    (this.origin ||= new Map()).set(group, [x, y]);
  }

  lines(key) {
    const node = this.picture.nodes[key];
    if (node) return [node[0], node[1], ...(node[6] ? [node[6]] : [])].map((text, i) => (i === 2 ? "= " : "") + clipped(this.texts[text]));
    return [clipped(this.heading(key)), clipped(this.summary(key))];
  }
  heading(key) {
    const row = this.instruction(key);
    if (row) return `${this.group(key)[3]} ${this.title(key)}`;
    return /[a-z]/i.test(this.title(key)) ? this.title(key) : `module ${this.title(key)}`;
  }
  summary(key) {
    const row = this.instruction(key), many = `${this.size[key]} node${this.size[key] === 1 ? "" : "s"}`;
    return row && row.us !== null ? `${many}, ${timeText(row.us)}` : many;
  }

  box(key) {
    const { x, y, w, h: height, lines } = this.place.get(key), group = this.isGroup(key), open = group && this.open.has(key);
    const kind = this.kind(key) === "segment" ? "" : `${this.kind(key)} `; // whose title says so
    const name = group ? `${kind}${this.heading(key)}, ${this.summary(key)}, ${open ? "unfolded" : "folded"}` : this.lines(key).join(", ");
    const made = s("g", { class: `box ${group ? "group" : ""} ${open ? "open" : ""} ${this.kind(key)}`, "data-key": key, role: "button", tabindex: -1,
      "aria-label": name, "aria-expanded": group ? String(open) : null, transform: `translate(${(x - w / 2).toFixed(1)} ${y.toFixed(1)})` },
    s("rect", { width: w.toFixed(1), height: height.toFixed(1), rx: 5 }));
    const texts = open ? [clipped(this.heading(key), 60)] : lines;
    texts.forEach((line, i) => made.append(s("text", { x: 9, y: 15 + i * ROW + (open ? 1 : 2), class: i ? "more" : "first" }, line)));
    if (group) made.append(s("text", { class: "fold", x: w - 18, y: 18, "data-fold": key }, open ? "−" : "+"));
    return [open, made];
  }

  edge({ a, b, u, v, n, kind }) {
    const from = this.place.get(a), to = this.place.get(b), route = this.routes.get(`${u},${v}`);
    const points = [[from.x, from.y + from.h]];
    if (route) {
      const [ox, oy] = this.origin.get(route.group);
      for (const box of route.path) points.push([box.x + ox, box.y + oy], [box.x + ox, box.bottom + oy]);
    }
    points.push([to.x, to.y]);
    let d = `M${points[0].map((p) => p.toFixed(1))}`;
    for (let i = 1; i < points.length; i++) {
      const [[x0, y0], [x1, y1]] = [points[i - 1], points[i]], middle = (y0 + y1) / 2;
      d += x0 === x1 ? `L${x1.toFixed(1)},${y1.toFixed(1)}` : `C${x0.toFixed(1)},${middle.toFixed(1)} ${x1.toFixed(1)},${middle.toFixed(1)} ${x1.toFixed(1)},${y1.toFixed(1)}`;
    }
    return s("path", { d, class: `edge ${["value", "shape", "control"][kind]} ${this.depth[u] === 0 && this.isGroup(u) && this.isGroup(v) ? "far" : ""}`, "data-a": a, "data-b": b, "stroke-width": Math.min(1 + Math.log2(n) / 2, 4) },
      s("title", {}, `${this.title(a)} to ${this.title(b)}${n > 1 ? `, ${n} values` : ""}`));
  }

  // looking

  size2() { const box = this.svg.getBoundingClientRect(); return [box.width || 800, box.height || 560]; }
  fit(least = 0) {
    const [w, height] = this.size2(), scale = Math.max(Math.min(w / (this.whole.w + 40), height / (this.whole.h + 40), 1.3), least);
    this.view = { x: this.whole.w / 2 - w / scale / 2, y: this.whole.h * scale > height ? -20 : this.whole.h / 2 - height / scale / 2, scale };
    this.look();
  }
  look() {
    const [w, height] = this.size2(), { x, y, scale } = this.view;
    this.svg.setAttribute("viewBox", [x, y, w / scale, height / scale].map((v) => v.toFixed(2)).join(" "));
  }
  zoom(factor, px, py) {
    const [w, height] = this.size2(), view = this.view;
    const [cx, cy] = [px ?? w / 2, py ?? height / 2], scale = Math.min(Math.max(view.scale * factor, 0.02), 6);
    view.x += cx / view.scale - cx / scale;
    view.y += cy / view.scale - cy / scale;
    view.scale = scale;
    this.look();
  }
  show(key) { // pan so far that a box can be seen
    const box = this.place.get(key), [w, height] = this.size2(), view = this.view, [vw, vh] = [w / view.scale, height / view.scale];
    if (!box) return;
    if (box.x - box.w / 2 < view.x || box.x + box.w / 2 > view.x + vw) view.x = box.x - vw / 2;
    if (box.y < view.y || box.y + Math.min(box.h, 60) > view.y + vh) view.y = box.y - vh / 3;
    this.look();
  }

  // selecting

  select(key) {
    for (let p = this.parent[key]; p !== -1; p = this.parent[p]) this.open.add(p);
    if (!this.place.has(key)) this.update();
    this.selected = key;
    this.mark();
    this.show(key);
    this.chosen(key);
  }
  mark() {
    for (const box of this.svg.querySelectorAll(".box")) {
      const own = Number(box.dataset.key) === this.selected;
      box.classList.toggle("selected", own);
      box.setAttribute("tabindex", own ? 0 : -1);
    }
    for (const edge of this.svg.querySelectorAll(".edge")) {
      edge.classList.toggle("near", Number(edge.dataset.a) === this.selected || Number(edge.dataset.b) === this.selected);
    }
  }
  focus() { this.svg.querySelector(".box.selected")?.focus({ preventScroll: true }); }

  next(arrow) {
    const up = this.near.up.get(this.selected), down = this.near.down.get(this.selected);
    if (arrow === "ArrowUp") return up?.[0] ?? (this.parent[this.selected] !== -1 ? this.parent[this.selected] : undefined);
    if (arrow === "ArrowDown") return (this.open.has(this.selected) ? this.children.get(this.selected)[0] : undefined) ?? down?.[0];
    const own = this.place.get(this.selected), step = arrow === "ArrowLeft" ? -1 : 1;
    const row = this.children.get(this.parent[this.selected]).filter((key) => this.place.has(key));
    const beside = row.filter((key) => (this.place.get(key).x - own.x) * step > 1)
      .sort((a, b) => this.far(a, own) - this.far(b, own));
    return beside[0];
  }
  far(key, own) { const box = this.place.get(key); return Math.abs(box.x - own.x) + 4 * Math.abs(box.y - own.y); }

  listen() {
    let drag = null;
    const keyOf = (event) => { const box = event.target.closest?.(".box"); return box ? Number(box.dataset.key) : -1; };
    this.svg.addEventListener("click", (event) => {
      if (drag?.moved) return;
      const key = keyOf(event);
      if (event.target.dataset.fold) this.toggle(key);
      if (key >= 0) { this.select(key); this.focus(); }
    });
    this.svg.addEventListener("dblclick", (event) => { const key = keyOf(event); if (key >= 0 && !event.target.dataset.fold) this.toggle(key); });
    this.svg.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, y: event.clientY, moved: false }; });
    this.svg.addEventListener("pointermove", (event) => {
      if (!drag || !event.buttons) return;
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      if (!drag.moved && Math.hypot(dx, dy) < 4) return;
      this.view.x -= dx / this.view.scale;
      this.view.y -= dy / this.view.scale;
      drag = { x: event.clientX, y: event.clientY, moved: true };
      this.look();
    });
    this.svg.addEventListener("wheel", (event) => { // the page scrolls, unless the drawing has the focus
      if (!event.ctrlKey && !event.metaKey && !this.svg.contains(document.activeElement)) return;
      event.preventDefault();
      const box = this.svg.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    this.svg.addEventListener("keydown", (event) => {
      if (event.key.startsWith("Arrow")) {
        const key = this.next(event.key);
        if (key !== undefined) { this.select(key); this.focus(); }
      } else if (event.key === "Enter" || event.key === " ") {
        if (this.isGroup(this.selected)) { this.toggle(this.selected); this.chosen(this.selected); } else this.chosen(this.selected);
      } else if (event.key === "+" || event.key === "=") this.zoom(1.25);
      else if (event.key === "-") this.zoom(0.8);
      else if (event.key === "0") this.fit();
      else return;
      event.preventDefault();
    });
  }
}
