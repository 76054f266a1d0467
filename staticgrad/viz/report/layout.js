// The places of boxes: layers from operands down to readers, fewer crossings by barycenters, then columns by least squares.
// items: {w, h}; links: [from, to] as numbers of items. Sets x (center) and y (top) of each item, and returns
// {w, h, routes}: routes.get("from,to") are the points at which a long link passes layers. Linear in items and links.

const GAP_X = 18, GAP_Y = 26, MOST_PASSING = 20000;

function layered(items, links) {
  const rank = ranks(items.length, links);
  const boxes = items.map((item, i) => ({ item, w: item.w, h: item.h, rank: rank[i], above: [], below: [] }));
  const routes = new Map(), passing = new Map();
  let spans = 0;
  for (const [a, b] of links) spans += Math.max(rank[b] - rank[a] - 1, 0);
  for (const [a, b] of links) {
    if (rank[b] <= rank[a]) continue;
    let before = boxes[a];
    const path = [];
    for (let r = rank[a] + 1; r < rank[b] && spans < MOST_PASSING; r++) {
      const key = a * 65536 + r; // links of one source run as one until they part
      let box = passing.get(key);
      if (!box) {
        box = { w: 6, h: 0, rank: r, above: [], below: [] };
        passing.set(key, box);
        boxes.push(box);
        join(before, box);
      }
      path.push((before = box));
    }
    join(before, boxes[b]);
    routes.set(`${a},${b}`, path);
  }
  const layers = [];
  for (const box of boxes) (layers[box.rank] ||= []).push(box);
  order(layers);
  const height = rows(layers), width = columns(layers);
  for (const box of boxes) if (box.item) { box.item.x = box.x; box.item.y = box.y; }
  return { w: width, h: height, routes };
}

function join(upper, lower) { upper.below.push(lower); lower.above.push(upper); }

// The longest path from a source; where links form a circle, the earliest item goes first. Sources stand just above a reader.
function ranks(n, links) {
  const rank = new Array(n).fill(0), waiting = new Array(n).fill(0), readers = Array.from({ length: n }, () => []);
  for (const [a, b] of links) { waiting[b]++; readers[a].push(b); }
  const sources = waiting.map((count) => count === 0), done = new Array(n).fill(false);
  const ready = [];
  for (let i = n - 1; i >= 0; i--) if (!waiting[i]) ready.push(i);
  for (let next = 0, left = n; left > 0; ) {
    const i = ready.length ? ready.pop() : next++;
    if (done[i]) continue;
    done[i] = true;
    left--;
    for (const b of readers[i]) {
      if (done[b]) continue;
      rank[b] = Math.max(rank[b], rank[i] + 1);
      if (--waiting[b] === 0) ready.push(b);
    }
  }
  for (let i = 0; i < n; i++) if (sources[i] && readers[i].length) rank[i] = Math.max(0, Math.min(...readers[i].map((b) => rank[b])) - 1);
  const used = [...new Set(rank)].sort((x, y) => x - y), dense = new Map(used.map((r, i) => [r, i]));
  return rank.map((r) => dense.get(r));
}

function order(layers) {
  layers.forEach((layer) => layer.forEach((box, i) => { box.at = i; }));
  for (let sweep = 0; sweep < 10; sweep++) {
    const down = sweep % 2 === 0, rows = down ? layers.slice(1) : layers.slice(0, -1).reverse();
    for (const layer of rows) {
      for (const box of layer) {
        const near = down ? box.above : box.below;
        box.goal = near.length ? near.reduce((sum, other) => sum + other.at, 0) / near.length : box.at;
      }
      layer.sort((a, b) => a.goal - b.goal);
      layer.forEach((box, i) => { box.at = i; });
    }
  }
}

function rows(layers) {
  let y = 0;
  for (const layer of layers) {
    const height = Math.max(...layer.map((box) => box.h)), links = layer.reduce((sum, box) => sum + box.below.length, 0);
    for (const box of layer) { box.y = box.item ? y + (height - box.h) / 2 : y; box.bottom = y + height; }
    y += height + GAP_Y + Math.min(links, 30);
  }
  return layers.length ? Math.max(...layers[layers.length - 1].map((box) => box.bottom)) : 0;
}

// Each box as near to the mean of its neighbors as its layer allows: least squares by pooling adjacent violators.
function columns(layers) {
  for (const layer of layers) pack(layer, layer.map(() => 0));
  for (let sweep = 0; sweep < 14; sweep++) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      pack(layer, layer.map((box) => mean(down ? box.above : box.below) ?? mean(down ? box.below : box.above) ?? box.x));
    }
  }
  const all = layers.flat(), left = Math.min(...all.map((box) => box.x - box.w / 2));
  for (const box of all) box.x -= left;
  return all.length ? Math.max(...all.map((box) => box.x + box.w / 2)) : 0;
}

const mean = (boxes) => (boxes.length ? boxes.reduce((sum, box) => sum + box.x, 0) / boxes.length : null);

function pack(layer, wanted) {
  const pools = [];
  let start = 0;
  const starts = layer.map((box, i) => (start += i ? (layer[i - 1].w + box.w) / 2 + GAP_X : 0));
  wanted.forEach((goal, i) => {
    let [value, count] = [goal - starts[i], 1];
    while (pools.length && pools[pools.length - 1][0] > value) {
      const [before, members] = pools.pop();
      value = (before * members + value * count) / (members + count);
      count += members;
    }
    pools.push([value, count]);
  });
  let i = 0;
  for (const [value, count] of pools) for (let k = 0; k < count; k++, i++) layer[i].x = value + starts[i];
}
