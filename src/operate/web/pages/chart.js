// Curves as SVG. The charts of a board share the x axis, the crosshair, the zoom, smoothing and the scale.
import {el, number, svg} from './common.js';
import {compact, distinct, extent, logTicks, nearest, smoothed, thinned, ticks, withRoom} from './curves.js';

const HEIGHT = 230, TALL = 400, LEAST_WIDTH = 220, RIGHT = 14, TOP = 10, BOTTOM = 26, LETTER = 7;
const DOT = 4, COLORS = 10, FEW = 20, MOST_DOTS = 60, MOST_ROWS = 1000;
export const colorOf = (k) => `c${k % COLORS}${k >= COLORS ? ' again' : ''}`;
let clips = 0;

export const swatch = (kind) => svg('svg', {viewBox: '0 0 22 10', class: 'swatch', 'aria-hidden': true},
  svg('line', {class: `line ${kind}`, x1: 0, x2: 22, y1: 5, y2: 5}));
const glyph = (path) => svg('svg', {viewBox: '0 0 16 16', class: 'glyph', 'aria-hidden': true}, svg('path', {d: path}));

export class Chart {
  // key: its name in the address. marks: ticks of the y axis from low, high and count. most: the end of the y axis of shares,
  // unless a value is greater.
  constructor(board, key, title, {format = number, marks = ticks, tick = compact, most = 1} = {}) {
    Object.assign(this, {board, key, title, format, marks, tick, most, curves: [], series: [], lines: [], best: null});
    this.legend = el('ul', {class: 'legend'});
    this.clip = `clip${++clips}`;
    this.drawing = svg('svg', {'aria-hidden': true});
    this.over = svg('g');
    this.plot = el('div', {class: 'plot', tabindex: 0, role: 'slider', 'aria-label': `Crosshair of ${title}`, 'aria-valuenow': 0}, this.drawing);
    this.readout = el('p', {class: 'readout'});
    this.table = el('div', {class: 'log', tabindex: 0, role: 'region', 'aria-label': `${title} as numbers`});
    this.details = el('details', {ontoggle: () => this.fill()}, el('summary', null, `${title} as a table`), this.table);
    this.larger = el('button', {type: 'button', class: 'icon', 'aria-label': `Enlarge ${title}`, title: 'Enlarge', onclick: () => board.enlarge(this)},
      glyph('M9 2h5v5M14 2 9 7M7 14H2V9M2 14l5-5'));
    this.node = el('section', {class: 'panel chart', 'data-chart': key}, el('div', {class: 'chart-head'}, el('h2', null, title), this.larger),
      this.legend, this.plot, this.readout, this.details);
    this.node.hidden = true;
    this.listen();
    // Drawn at its real width, so that letters have their size in a narrow window too.
    new ResizeObserver(() => { if (this.plot.clientWidth !== this.width) this.paint(); }).observe(this.plot);
  }

  // series: [{name, color, points: [[x, y]]}], rising by x; lines: [{name, value}] across the chart; best: [x, y].
  draw(series, {lines = [], best = null} = {}) {
    this.series = series.map((s) => ({...s, points: s.points.filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y))}));
    Object.assign(this, {lines, best});
    this.node.hidden = !this.series.some((s) => s.points.length);
  }

  scale() {
    const {log, smooth} = this.board, [x0, x1] = this.board.range();
    const inside = (points) => points.filter(([x]) => x >= x0 && x <= x1);
    this.curves = this.series.map((s) => {
      const raw = log ? s.points.filter(([, y]) => y > 0) : s.points;
      const line = smooth > 0 && raw.length > FEW ? smoothed(raw, smooth) : raw;
      return {...s, raw, line, seen: inside(raw)};
    });
    const values = [...this.curves.flatMap((c) => c.seen), ...this.lines.map((l) => [x0, l.value])];
    const [y0, y1] = withRoom(extent(values, 1) || [log ? 1 : 0, log ? 10 : 1], log, this.most);
    const big = this.board.big === this.key;
    const width = this.width = Math.max(LEAST_WIDTH, this.plot.clientWidth), height = big ? TALL : HEIGHT;
    const marks = (log ? logTicks : this.marks)(y0, y1, big ? 8 : 5);
    const texts = distinct(marks, this.tick), left = 12 + LETTER * Math.max(3, ...texts.map((text) => text.length));
    const of = log ? Math.log : (v) => v;
    const px = (x) => left + ((x - x0) / (x1 - x0)) * (width - left - RIGHT);
    const py = (y) => height - BOTTOM - ((of(y) - of(y0)) / (of(y1) - of(y0))) * (height - TOP - BOTTOM);
    const back = (p) => x0 + ((p - left) / (width - left - RIGHT)) * (x1 - x0);
    this.shape = {x0, x1, y0, y1, width, height, left, marks, texts, px, py, back};
  }

  paint() {
    if (this.node.hidden || !this.plot.clientWidth) return;  // the observer calls again when it is seen
    this.scale();
    const {x0, x1, width, height, left, marks, texts, px, py} = this.shape, {board} = this;
    this.drawing.setAttribute('viewBox', `0 0 ${width} ${height}`);
    this.drawing.setAttribute('height', height);
    const bottom = height - BOTTOM, parts = [];
    marks.forEach((y, i) => parts.push(svg('line', {class: 'axis', x1: left, x2: width - RIGHT, y1: py(y), y2: py(y)}),
      svg('text', {x: left - 8, y: py(y) + 4, 'text-anchor': 'end'}, texts[i])));
    const longest = Math.max(board.xTick(x1).length, 4);
    for (const x of board.xTicks(x0, x1, (width - left) / (LETTER * longest + 26))) {
      const half = (LETTER * board.xTick(x).length) / 2, at = Math.min(px(x), width - half);
      parts.push(svg('line', {class: 'axis', x1: px(x), x2: px(x), y1: bottom, y2: bottom + 4}),
        svg('text', {x: at, y: bottom + 19, 'text-anchor': 'middle'}, board.xTick(x)));
    }
    const columns = Math.ceil(width - left), path = (points) => thinned(points, columns).map(([x, y]) => `${px(x).toFixed(1)},${py(y).toFixed(1)}`).join(' ');
    const inside = svg('g', {'clip-path': `url(#${this.clip})`});
    for (const line of this.lines) inside.append(svg('line', {class: 'reference', x1: left, x2: width - RIGHT, y1: py(line.value), y2: py(line.value)}));
    for (const c of this.curves) {
      if (c.line !== c.raw) inside.append(svg('polyline', {class: `line faint ${c.color}`, points: path(c.raw)}));
      if (c.line.length > 1) inside.append(svg('polyline', {class: `line ${c.color}`, points: path(c.line)}));
      if (c.seen.length <= MOST_DOTS)
        for (const [x, y] of c.line.filter(([x]) => x >= x0 && x <= x1))
          inside.append(svg('circle', {class: `point ${c.color}`, cx: px(x), cy: py(y), r: c.seen.length > 25 ? 2 : 3}));
    }
    if (this.best && this.best[0] >= x0 && this.best[0] <= x1 && (!board.log || this.best[1] > 0))
      inside.append(svg('circle', {class: 'best-ring', cx: px(this.best[0]), cy: py(this.best[1]), r: 7}));
    this.drawing.replaceChildren(svg('clipPath', {id: this.clip}, svg('rect', {x: left - DOT, y: 0, width: width - left - RIGHT + 2 * DOT, height: bottom + DOT})), ...parts, inside, this.over);
    this.values = this.curves.map(() => el('span', {class: 'value'}));
    this.legend.replaceChildren(...this.curves.map((c, k) => el('li', null, swatch(c.color), c.name === this.title ? null : el('span', {class: 'name'}, c.name), this.values[k])),
      ...this.lines.map((l) => el('li', null, swatch('reference'), el('span', {class: 'name'}, l.name), el('span', {class: 'value'}, this.format(l.value)))));
    this.mark();
    this.fill();
  }

  // The crosshair, and the values beside the names of the curves.
  mark(selection = null) {
    if (this.node.hidden || !this.shape) return;
    const {x0, x1, left, width, height, px, py} = this.shape, {cursor, log} = this.board, parts = [], told = [];
    if (selection) {
      const [a, b] = selection.map((x) => Math.min(Math.max(px(x), left), width - RIGHT)).sort((p, q) => p - q);
      parts.push(svg('rect', {class: 'selection', x: a, y: TOP, width: b - a, height: height - TOP - BOTTOM}));
    }
    const shown = cursor !== null && cursor >= x0 && cursor <= x1;
    if (shown) parts.push(svg('line', {class: 'crosshair', x1: px(cursor), x2: px(cursor), y1: TOP, y2: height - BOTTOM}));
    this.curves.forEach((c, k) => {
      if (!c.raw.length) return this.values[k].replaceChildren(log ? 'nothing above 0' : '');
      const i = cursor === null ? c.raw.length - 1 : nearest(c.raw, cursor), [x, y] = c.line[i];
      const text = this.format(y) + (cursor !== null && x !== cursor ? ` at ${this.board.xText(x)}` : '');
      this.values[k].replaceChildren(text);
      told.push(`${c.name} ${text}`);
      if (shown && x >= x0 && x <= x1) parts.push(svg('circle', {class: `point ${c.color}`, cx: px(x), cy: py(y), r: 4.5}));
    });
    this.over.replaceChildren(...parts);
    const best = this.best ? `best ${this.format(this.best[1])} at ${this.board.xName} ${this.board.xText(this.best[0])}` : '';
    const at = cursor === null ? '' : `${this.board.xName} ${this.board.xText(cursor)}`;
    this.readout.textContent = [at, best].filter(Boolean).join(' · ');
    const now = cursor ?? x1;
    for (const [name, value] of [['valuemin', x0], ['valuemax', x1], ['valuenow', Math.min(Math.max(now, x0), x1)], ['valuetext', `${at || 'last values'}: ${told.join(', ')}`]])
      this.plot.setAttribute(`aria-${name}`, value);
  }

  // The numbers, once the table is open.
  fill() {
    if (!this.details.open) return;
    const maps = this.series.map((s) => new Map(s.points));
    const all = [...new Set(this.series.flatMap((s) => s.points.map(([x]) => x)))].sort((a, b) => a - b);
    const every = Math.ceil(all.length / MOST_ROWS), xs = all.filter((_, i) => i % every === 0 || i === all.length - 1);
    this.table.replaceChildren(el('table', null,
      el('thead', null, el('tr', null, el('th', {scope: 'col'}, this.board.xName), this.series.map((s) => el('th', {scope: 'col', class: 'number'}, s.name)))),
      el('tbody', null, xs.map((x) => el('tr', null, el('th', {scope: 'row'}, this.board.xText(x)),
        maps.map((m) => el('td', {class: 'number'}, m.has(x) ? this.format(m.get(x)) : '')))))));
  }

  snapped(x) {
    const points = this.curves.flatMap((c) => (c.raw.length ? [c.raw[nearest(c.raw, x)]] : []));
    return points.length ? points.reduce((a, b) => (Math.abs(b[0] - x) < Math.abs(a[0] - x) ? b : a))[0] : null;
  }

  // A mouse shows values and drags a zoom; a finger moves the crosshair, two fingers zoom.
  listen() {
    const {plot, board} = this, down = new Map();
    let start = null, pinch = null;
    const xOf = (event) => this.shape.back(event.clientX - plot.getBoundingClientRect().left);
    const spread = () => [...down.values()].sort((a, b) => a - b);
    plot.addEventListener('pointerdown', (event) => {
      if (!this.shape || event.button !== 0) return;
      down.set(event.pointerId, event.clientX);
      plot.setPointerCapture(event.pointerId);
      if (event.pointerType !== 'touch') start = {x: xOf(event), at: event.clientX};
      else if (down.size === 2) pinch = {from: spread(), range: board.range()};
      else board.point(this.snapped(xOf(event)));
    });
    plot.addEventListener('pointermove', (event) => {
      if (!this.shape) return;
      if (down.has(event.pointerId)) down.set(event.pointerId, event.clientX);
      if (pinch && down.size === 2) {
        const [a, b] = pinch.from, [c, d] = spread(), [x0, x1] = pinch.range, factor = (b - a) / Math.max(20, d - c);
        const {left, width} = this.shape, edge = plot.getBoundingClientRect().left + left, wide = width - left - RIGHT;
        const middle = x0 + (((a + b) / 2 - edge) / wide) * (x1 - x0), shift = (((a + b) / 2 - (c + d) / 2) / wide) * (x1 - x0) * factor;
        return board.zoomTo([middle - (middle - x0) * factor + shift, middle + (x1 - middle) * factor + shift]);
      }
      board.point(this.snapped(xOf(event)));
      if (start && Math.abs(event.clientX - start.at) > 4) this.mark([start.x, xOf(event)]);
    });
    const up = (event) => {
      down.delete(event.pointerId);
      if (down.size < 2) pinch = null;
      if (start && event.type === 'pointerup' && Math.abs(event.clientX - start.at) > 4) board.zoomTo([start.x, xOf(event)].sort((a, b) => a - b));
      else if (start) this.mark();
      start = null;
    };
    plot.addEventListener('pointerup', up);
    plot.addEventListener('pointercancel', up);
    plot.addEventListener('pointerleave', (event) => { if (event.pointerType === 'mouse' && !start) board.point(null); });
    plot.addEventListener('dblclick', () => board.zoomTo(null));
    plot.addEventListener('focus', () => { if (plot.matches(':focus-visible') && board.cursor === null) board.point(this.snapped(board.range()[1])); });
    plot.addEventListener('keydown', (event) => this.keyPressed(event));
  }

  keyPressed(event) {
    const {board} = this, [x0, x1] = board.range();
    const xs = [...new Set(this.curves.flatMap((c) => c.seen.map(([x]) => x)))].sort((a, b) => a - b);
    const near = Math.max(0, board.cursor === null ? xs.length - 1 : nearest(xs.map((x) => [x]), board.cursor));
    const go = (i) => xs.length && board.point(xs[Math.min(Math.max(i, 0), xs.length - 1)]);
    const far = event.shiftKey ? 10 : 1;
    const act = {ArrowRight: () => go(near + far), ArrowLeft: () => go(near - far), ArrowUp: () => go(near + 10), ArrowDown: () => go(near - 10),
      PageUp: () => go(near + 10), PageDown: () => go(near - 10), Home: () => go(0), End: () => go(xs.length - 1), '+': () => board.zoomBy(0.5),
      '=': () => board.zoomBy(0.5), '-': () => board.zoomBy(2), 0: () => board.zoomTo(null), Escape: () => board.zoomTo(null)}[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey || !(x1 > x0)) return;
    event.preventDefault();
    act();
  }
}
