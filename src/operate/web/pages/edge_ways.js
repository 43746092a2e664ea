// Where the steps of a pipeline's graph are, and the ways of its edges. All edges from one step are one net: its ways may share lines. Lines of
// different nets only cross, so each edge can be followed.

const WIDEST = 240, NARROWEST = 150, LEAST = 36, DOWN = 20, BETWEEN = 28, EDGE = 4;
const TRACK = 8, NEAR = 10;  // between lines; between lines and steps
export const ARROW = 8;
const PORT = 12, INSIDE = 8, APART = 4;  // between ports of a step; from its corners; between ports of a space

// Columns by the longest way from a step that needs nothing.
export function columnsOf(steps) {
  const at = new Map();
  const depth = (step, seen) => {
    if (at.has(step.name)) return at.get(step.name);
    if (seen.has(step.name)) return 0;
    seen.add(step.name);
    const d = Math.max(-1, ...(step.needs || []).map((n) => steps.find((s) => s.name === n)).filter(Boolean).map((s) => depth(s, seen))) + 1;
    at.set(step.name, d);
    return d;
  };
  const columns = [];
  for (const step of steps) (columns[depth(step, new Set())] ||= []).push(step);
  return columns.filter(Boolean);
}

// Numbers for intervals, so that those that touch have different ones. `users`: [{key, low, high}].
function lanesOf(users) {
  const taken = [], lanes = new Map();
  for (const {key, low, high} of users) {
    let i = 0;
    while ((taken[i] || []).some((o) => o.low <= high && low <= o.high)) ++i;
    (taken[i] ||= []).push({low, high});
    lanes.set(key, i);
  }
  return {lanes, count: taken.length};
}

// Widens the interval of a key to these places.
function widen(intervals, key, ...places) {
  const old = intervals.get(key) || {key, low: Infinity, high: -Infinity};
  intervals.set(key, {key, low: Math.min(old.low, ...places), high: Math.max(old.high, ...places)});
}
const made = (map, key, value) => map.get(key) || map.set(key, value).get(key);

// The graph in `each` columns a band. Spaces are numbered by the column at their left, from -1; channels by the band below them.
function gridOf(steps, columns, each) {
  const cells = new Map();
  columns.forEach((column, i) => column.forEach((step) => cells.set(step.name, {band: Math.floor(i / each), column: i % each, row: cells.size})));
  const edges = steps.flatMap((step) => [...new Set(step.needs || [])].filter((n) => cells.has(n) && cells.get(n).row < cells.get(step.name).row).map((n) => ({from: n, to: step.name})));
  const spaces = new Map(), channels = new Map(), side = new Map();
  for (const e of edges) {
    const a = cells.get(e.from), b = cells.get(e.to);
    if (each === 1) {
      e.direct = b.row === a.row + 1;
      if (!e.direct) widen(side, e.from, a.row, b.row);
      continue;
    }
    const enter = b.column - 1, channel = a.band === b.band ? a.band + 1 : b.band;
    e.direct = enter === a.column;  // one space is at both
    widen(made(spaces, a.column, new Map()), e.from, a.band, e.direct ? b.band : channel - 0.5);
    if (e.direct) continue;
    e.channel = channel;
    widen(made(channels, channel, new Map()), e.from, a.column, enter);
    widen(made(spaces, enter, new Map()), e.from, channel - 0.5, b.band);
  }
  return {each, cells, edges, spaces, channels, side};
}

// Nets that leave a column come before those that pass by.
const byOrigin = (grid, space) => ([a], [b]) => {
  const x = grid.cells.get(a), y = grid.cells.get(b);
  return (x.column !== space) - (y.column !== space) || y.row - x.row;
};
const bySize = (a, b) => a.high - a.low - (b.high - b.low);

function withLanes(grid) {
  grid.tracks = new Map([...grid.spaces].map(([space, nets]) => [space, lanesOf([...nets].sort(byOrigin(grid, space)).map(([, net]) => net))]));
  grid.lanes = new Map([...grid.channels].map(([channel, nets]) => [channel, lanesOf([...nets.values()].sort(bySize))]));
  grid.beside = lanesOf([...grid.side.values()].sort(bySize));
  const count = (space) => (grid.tracks.get(space) || {count: 0}).count;
  grid.gaps = Array.from({length: grid.each + 1}, (_, i) => {
    const n = count(i - 1), wanted = NEAR + (n - 1) * TRACK + NEAR + ARROW;
    if (grid.each === 1) return i === 0 ? EDGE : grid.beside.count ? NEAR + ARROW + grid.beside.count * TRACK : EDGE;
    return i > 0 && i < grid.each ? Math.max(LEAST, wanted) : n ? wanted : EDGE;
  });
  return grid;
}

// The columns of a graph in a width: as many in a band as fit, and bands of about the same length. `wide`: of each step.
export function planOf(steps, columns, width) {
  for (let fits = Math.max(1, columns.length);; --fits) {
    const bands = Math.ceil(columns.length / fits) || 1, each = Math.ceil(columns.length / bands) || 1;
    const grid = withLanes(gridOf(steps, columns, each));
    const wide = Math.floor((width - grid.gaps.reduce((sum, gap) => sum + gap, 0)) / each);
    if (wide >= NARROWEST || fits === 1) return {...grid, columns, bands, width, wide: Math.min(WIDEST, wide)};
  }
}

// The places of the steps. heights: of each step by its name, at the width of the plan.
export function placesOf(plan, heights) {
  const {gaps, each, wide} = plan, spots = new Map(), channelTop = new Map();
  const lefts = Array.from({length: each}, (_, i) => gaps.slice(0, i + 1).reduce((sum, gap) => sum + gap, 0) + i * wide);
  const room = (band) => (plan.lanes.get(band) ? plan.lanes.get(band).count * TRACK + NEAR + ARROW : 0);
  let top = EDGE;
  for (let band = 0; band < plan.bands; ++band) {
    if (band > 0) channelTop.set(band, top), top += Math.max(BETWEEN, room(band));
    const columns = plan.columns.slice(band * each, (band + 1) * each);
    const tall = columns.map((column) => column.reduce((sum, s) => sum + heights.get(s.name) + (each === 1 ? BETWEEN : DOWN), each === 1 ? -BETWEEN : -DOWN));
    const tallest = Math.max(...tall);
    columns.forEach((column, i) => {
      let y = top + (tallest - tall[i]) / 2;
      for (const step of column) {
        const h = heights.get(step.name);
        spots.set(step.name, {x: lefts[i], y, w: wide, h});
        y += h + (each === 1 ? BETWEEN : DOWN);
      }
    });
    top += tallest;
  }
  channelTop.set(plan.bands, top);
  return {spots, lefts, channelTop, height: top + Math.max(EDGE, room(plan.bands))};
}

// A free height at the side of a step, near the wished one. taken: [{net, y}] of one space.
function portAt(spot, wish, net, taken, apart) {
  const low = spot.y + INSIDE, high = spot.y + spot.h - INSIDE;
  const isFree = (y) => y >= low && y <= high && taken.every((t) => t.net === net && !t.spot || Math.abs(t.y - y) >= (t.spot === spot ? apart : APART));
  for (let d = 0; d <= spot.h; ++d) for (const y of [wish + d, wish - d]) if (isFree(y)) return y;
  return apart > APART ? portAt(spot, wish, net, taken, apart - 1) : Math.min(high, Math.max(low, wish));
}

// [{from, to, points, into: 'right' | 'down' | 'left'}]: ways that end before the arrow; `into`: the direction of the arrow.
export function waysOf(plan, places) {
  return plan.each === 1 ? waysDown(plan, places) : waysAcross(plan, places);
}

// One step below the other: neighbours are joined directly, others by a lane at the right.
function waysDown(plan, {spots}) {
  const taken = new Map([...spots.keys()].map((name) => [name, []])), out = new Map();
  const port = (name, net, share) => {
    const spot = spots.get(name), ports = taken.get(name), y = portAt(spot, spot.y + spot.h * share, net, ports, PORT);
    ports.push({net, y, spot});
    return y;
  };
  for (const name of plan.side.keys()) out.set(name, port(name, name, 0.75));
  return plan.edges.map(({from, to, direct}) => {
    const a = spots.get(from), b = spots.get(to), middle = a.x + a.w / 2, right = a.x + a.w;
    if (direct) return {from, to, into: 'down', points: [[middle, a.y + a.h], [middle, b.y - ARROW]]};
    const x = right + NEAR + ARROW + plan.beside.lanes.get(from) * TRACK, y = port(to, from, 0.35);
    return {from, to, into: 'left', points: [[right, out.get(from)], [x, out.get(from)], [x, y], [right + ARROW, y]]};
  });
}

// Columns beside each other: through the spaces between columns and the channels between bands.
function waysAcross(plan, {spots, lefts, channelTop}) {
  const {cells} = plan, taken = new Map(), out = new Map(), into = new Map();
  const placeOf = (space, band) => made(taken, `${space} ${band}`, []);
  const x = (space, net) => (space < 0 ? 0 : lefts[space] + plan.wide) + NEAR + plan.tracks.get(space).lanes.get(net) * TRACK;
  for (const {from} of plan.edges) {
    if (out.has(from)) continue;
    const spot = spots.get(from), {band, column} = cells.get(from), y = spot.y + spot.h / 2;
    out.set(from, y);
    placeOf(column, band).push({net: from, y});
  }
  // From above to below, as the lines come: over the channel above, straight, over the channel below.
  const rank = ({from, to, channel}) => (channel === undefined ? 0 : channel > cells.get(to).band ? 1 : -1) * 1e6 + out.get(from);
  for (const [to, spot] of spots) {
    const {band, column} = cells.get(to), mine = plan.edges.filter((e) => e.to === to).sort((a, b) => rank(a) - rank(b));
    // One line comes straight if it can; the others are above and below it.
    const at = mine.findIndex((e) => e.direct && out.get(e.from) > spot.y + INSIDE && out.get(e.from) < spot.y + spot.h - INSIDE);
    const base = at < 0 ? (mine.length - 1) / 2 : at, level = at < 0 ? spot.y + spot.h / 2 : out.get(mine[at].from);
    const ports = placeOf(column - 1, band), order = mine.map((_, i) => i).sort((i, j) => Math.abs(i - base) - Math.abs(j - base));
    for (const i of order) {
      const net = mine[i].from, y = portAt(spot, level + (i - base) * PORT, net, ports, PORT);
      ports.push({net, y, spot});
      into.set(`${net} ${to}`, y);
    }
  }
  return plan.edges.map(({from, to, direct, channel}) => {
    const a = spots.get(from), b = spots.get(to), space = cells.get(from).column, enter = cells.get(to).column - 1;
    const y0 = out.get(from), y1 = into.get(`${from} ${to}`), x0 = x(space, from), end = [b.x - ARROW, y1];
    if (direct) return {from, to, into: 'right', points: y0 === y1 ? [[a.x + a.w, y0], end] : [[a.x + a.w, y0], [x0, y0], [x0, y1], end]};
    const lane = channelTop.get(channel) + NEAR + plan.lanes.get(channel).lanes.get(from) * TRACK, x1 = x(enter, from);
    return {from, to, into: 'right', points: [[a.x + a.w, y0], [x0, y0], [x0, lane], [x1, lane], [x1, y1], end]};
  });
}
