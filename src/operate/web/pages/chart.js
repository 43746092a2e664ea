// Curves over steps as SVG: axes, points that the keyboard reaches, and the same numbers as a table.
import {el, number, svg} from './common.js';

const HEIGHT = 280, LEAST_WIDTH = 240, LEFT = 62, RIGHT = 16, TOP = 12, BOTTOM = 34;
const MOST_POINTS = 400;

// Round numbers that cover the range, about `count` of them.
function ticks(low, high, count) {
  const raw = (high - low) / count || Math.abs(high) || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const all = [];
  for (let t = Math.ceil(low / step) * step; t <= high + step * 1e-9; t += step) all.push(Number(t.toPrecision(12)));
  return all;
}

// Every n-th point, the last one always.
function thinned(points) {
  const every = Math.ceil(points.length / MOST_POINTS);
  return points.filter((_, i) => i % every === 0 || i === points.length - 1);
}

export class Chart {
  // series: [{name, points: [[x, y]]}]
  constructor(title, {xName = 'step', format = number} = {}) {
    this.title = title, this.xName = xName, this.format = format;
    this.legend = el('ul', {class: 'legend'});
    this.plot = svg('svg', {role: 'group', 'aria-label': `${title} over ${xName}s`});
    this.plot.addEventListener('keydown', (event) => this.move(event));
    this.readout = el('p', {class: 'readout'}, 'Move with the arrow keys from point to point.');
    this.table = el('div', {class: 'log', tabindex: 0, role: 'region', 'aria-label': `${title} as numbers`});
    this.node = el('section', {class: 'panel chart'}, el('h2', null, title), this.legend, this.plot, this.readout,
      el('details', null, el('summary', null, `${title} as a table`), this.table));
    this.at = [0, 0];
    // Drawn at its real width, so that letters have their size in a narrow window too.
    new ResizeObserver(() => { if (this.series && this.plot.clientWidth !== this.width) this.draw(this.series); }).observe(this.plot);
  }

  draw(series) {
    this.series = series;
    const focused = this.plot.contains(document.activeElement);
    series = series.map((s) => ({...s, points: thinned(s.points.filter(([, y]) => Number.isFinite(y)))}));
    const all = series.flatMap((s) => s.points);
    this.node.hidden = all.length === 0;
    if (all.length === 0) return;
    const WIDTH = this.width = Math.max(LEAST_WIDTH, this.plot.clientWidth);
    this.plot.setAttribute('viewBox', `0 0 ${WIDTH} ${HEIGHT}`);
    let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const [x, y] of all) x0 = Math.min(x0, x), x1 = Math.max(x1, x), y0 = Math.min(y0, y), y1 = Math.max(y1, y);
    if (x0 === x1) x0 -= 1, x1 += 1;
    const room = (y1 - y0) * 0.06 || Math.abs(y1) * 0.1 || 1;
    if (y0 >= 0) y0 = Math.max(0, y0 - room); else y0 -= room;
    y1 += room;
    const px = (x) => LEFT + ((x - x0) / (x1 - x0)) * (WIDTH - LEFT - RIGHT);
    const py = (y) => HEIGHT - BOTTOM - ((y - y0) / (y1 - y0)) * (HEIGHT - TOP - BOTTOM);

    const parts = [];
    for (const y of ticks(y0, y1, 5))
      parts.push(svg('line', {class: 'axis', x1: LEFT, x2: WIDTH - RIGHT, y1: py(y), y2: py(y)}),
        svg('text', {x: LEFT - 8, y: py(y) + 4, 'text-anchor': 'end', 'aria-hidden': true}, this.format(y)));
    for (const x of ticks(x0, x1, WIDTH / 90))
      parts.push(svg('text', {x: px(x), y: HEIGHT - BOTTOM + 18, 'text-anchor': 'middle', 'aria-hidden': true}, number(x)));
    parts.push(svg('text', {x: WIDTH - RIGHT, y: HEIGHT - 2, 'text-anchor': 'end', 'aria-hidden': true}, this.xName));
    this.points = series.map((s, k) => {
      if (s.points.length > 1)
        parts.push(svg('polyline', {class: `line s${k % 4}`, points: s.points.map(([x, y]) => `${px(x)},${py(y)}`).join(' ')}));
      return s.points.map(([x, y], i) => {
        const text = `${s.name} ${this.format(y)} at ${this.xName} ${number(x)}`;
        const show = () => { this.at = [k, i]; this.readout.textContent = text; };
        const point = svg('circle', {class: `point f${k % 4}`, cx: px(x), cy: py(y), r: s.points.length > 80 ? 2.5 : 4, tabindex: -1,
          role: 'img', 'aria-label': text, onfocus: show, onpointerenter: show});
        parts.push(point);
        return point;
      });
    });
    this.plot.replaceChildren(...parts);
    // One stop of the tab key a chart; the arrow keys reach every point.
    this.at[0] = Math.min(this.at[0], this.points.length - 1);
    if (this.points[this.at[0]].length === 0) this.at[0] = this.points.findIndex((p) => p.length > 0);
    this.at[1] = Math.min(this.at[1], this.points[this.at[0]].length - 1);
    const stop = this.points[this.at[0]][this.at[1]];
    stop.setAttribute('tabindex', 0);
    if (focused) stop.focus();

    this.legend.replaceChildren(...series.map((s, k) => el('li', null,
      svg('svg', {viewBox: '0 0 28 10', 'aria-hidden': true}, svg('line', {class: `line s${k % 4}`, x1: 0, x2: 28, y1: 5, y2: 5})), s.name,
      s.points.length ? ` (now ${this.format(s.points.at(-1)[1])})` : '')));
    const xs = [...new Set(all.map(([x]) => x))].sort((a, b) => a - b);
    const maps = series.map((s) => new Map(s.points));
    this.table.replaceChildren(el('table', null,
      el('thead', null, el('tr', null, el('th', {scope: 'col'}, this.xName), series.map((s) => el('th', {scope: 'col', class: 'number'}, s.name)))),
      el('tbody', null, xs.map((x) => el('tr', null, el('th', {scope: 'row'}, number(x)),
        maps.map((m) => el('td', {class: 'number'}, m.has(x) ? this.format(m.get(x)) : '')))))));
  }

  move(event) {
    const [k, i] = this.at;
    const line = this.points[k];
    const other = (step) => {
      for (let n = k + step; n >= 0 && n < this.points.length; n += step)
        if (this.points[n].length) return this.points[n][Math.min(i, this.points[n].length - 1)];
      return null;
    };
    const next = {ArrowRight: () => line[i + 1], ArrowLeft: () => line[i - 1], Home: () => line[0], End: () => line.at(-1),
      ArrowDown: () => other(1), ArrowUp: () => other(-1)}[event.key];
    if (!next) return;
    event.preventDefault();
    const point = next();
    if (!point) return;
    line[i].setAttribute('tabindex', -1);
    point.setAttribute('tabindex', 0);
    point.focus();
  }
}
