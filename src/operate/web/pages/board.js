// The charts of a page and what they share: the x axis, the crosshair, the zoom, smoothing and the scale. Each
// choice is in the address.
import {duration, el, parameter, remember} from './common.js';
import {Chart} from './chart.js';
import {compact, extent, ticks, timeTicks} from './curves.js';

const KEEP_MS = 150, NARROWEST = 1e-4;  // the shortest zoom, as a share of all

export class Board {
  // redraw: called when the x axis changes, to give the charts points over it.
  constructor(redraw) {
    this.redraw = redraw, this.charts = new Map(), this.cursor = null;
    this.smooth = Math.min(0.99, Math.max(0, Number(parameter('smooth')) || 0));
    this.log = parameter('log') === '1';
    this.axis = parameter('x') === 'time' ? 'time' : 'step';
    this.big = parameter('big');
    const zoom = parameter('zoom').split(':').map(Number);
    this.zoom = zoom.length === 2 && zoom.every(Number.isFinite) && zoom[0] < zoom[1] ? zoom : null;
    this.node = el('div', {class: 'charts'});
    this.bar = this.tools();
    this.showTools();
  }

  get xName() { return this.axis === 'time' ? 'time' : 'step'; }
  xText(x) { return this.axis === 'time' ? duration(x) : x.toLocaleString('en'); }
  xTick(x) { return this.axis === 'time' ? duration(x).replace(/ 0 (s|min)$/, '') : compact(x); }
  xTicks(low, high, count) {
    if (this.axis === 'time') return timeTicks(low, high, count);
    return [...new Set(ticks(low, high, count).map(Math.round))].filter((t) => t >= low);
  }

  // The chart of this key, made at its place among the others when it is first asked for.
  chart(key, title, form) {
    if (!this.charts.has(key)) {
      const chart = new Chart(this, key, title, form);
      this.charts.set(key, chart);
      this.node.append(chart.node);
    }
    return this.charts.get(key);
  }
  // Charts in this order; others are hidden.
  order(keys) {
    for (const [key, chart] of this.charts) if (!keys.includes(key)) chart.node.hidden = true;
    const nodes = keys.map((key) => this.charts.get(key).node);
    if (nodes.some((node, i) => this.node.children[i] !== node)) this.node.prepend(...nodes);
  }

  full() {
    const ends = [...this.charts.values()].filter((c) => !c.node.hidden)
      .flatMap((c) => c.series.flatMap((s) => (s.points.length ? [s.points[0], s.points.at(-1)] : [])));
    const [low, high] = extent(ends, 0) || [0, 1];
    return low === high ? [low - 1, high + 1] : [low, high];
  }
  range() {
    return this.zoom || this.full();
  }
  paint() {
    for (const chart of this.charts.values()) chart.node.classList.toggle('big', chart.key === this.big), chart.paint();
    this.showTools();
  }
  point(x) {
    if (x === this.cursor) return;
    this.cursor = x;
    for (const chart of this.charts.values()) chart.mark();
  }
  zoomTo(range) {
    const [low, high] = this.full();
    if (range) range = [Math.max(low, range[0]), Math.min(high, range[1])];
    if (range && range[1] - range[0] < (high - low) * NARROWEST) return;
    this.zoom = range && (range[0] > low || range[1] < high) ? range : null;
    this.keep({zoom: this.zoom && this.zoom.map((x) => Number(x.toPrecision(7))).join(':')});
    this.paint();
  }
  // Browsers refuse an address that changes with each movement of a finger.
  keep(changes) {
    this.kept = {...this.kept, ...changes};
    this.timer ||= setTimeout(() => {
      remember(this.kept);
      this.timer = 0, this.kept = {};
    }, KEEP_MS);
  }
  zoomBy(factor) {
    const [low, high] = this.range(), middle = this.cursor === null ? (low + high) / 2 : this.cursor;
    this.zoomTo([middle - (middle - low) * factor, middle + (high - middle) * factor]);
  }
  enlarge(chart) {
    this.big = this.big === chart.key ? '' : chart.key;
    remember({big: this.big});
    this.paint();
    chart.node.scrollIntoView({block: 'nearest'});
  }

  tools() {
    const button = (text, label, act) => el('button', {type: 'button', class: 'quiet small', 'aria-label': label, onclick: act}, text);
    this.slider = el('input', {id: 'smooth', type: 'range', min: 0, max: 0.99, step: 0.01, value: this.smooth, oninput: () => {
      this.smooth = Number(this.slider.value);
      this.keep({smooth: this.smooth || ''});
      // A slider moves faster than long curves are drawn.
      this.frame ||= requestAnimationFrame(() => {
        this.frame = 0;
        this.paint();
      });
    }});
    this.amount = el('output', {for: 'smooth'});
    this.scaling = button('Log scale', null, () => {
      this.log = !this.log;
      remember({log: this.log});
      this.paint();
    });
    this.axes = el('select', {id: 'axis', onchange: () => {
      this.axis = this.axes.value, this.zoom = this.cursor = null;
      this.keep({x: this.axis === 'time' && 'time', zoom: ''});
      this.redraw();
    }}, el('option', {value: 'step'}, 'Step'), el('option', {value: 'time'}, 'Time'));
    this.axes.value = this.axis;
    this.reset = button('Reset zoom', null, () => this.zoomTo(null));
    return el('div', {class: 'tools', role: 'group', 'aria-label': 'Charts'},
      el('label', {for: 'smooth'}, 'Smoothing', this.slider, this.amount), this.scaling, el('label', {for: 'axis'}, 'X axis', this.axes),
      el('span', {class: 'group'}, button('−', 'Zoom out', () => this.zoomBy(2)), button('+', 'Zoom in', () => this.zoomBy(0.5)), this.reset),
      el('span', {class: 'hint'}, 'Drag over a chart to zoom, double-click to reset. Keys: ← → for values, + − 0 for zoom.'));
  }
  showTools() {
    this.amount.textContent = this.smooth.toFixed(2);
    this.scaling.setAttribute('aria-pressed', this.log);
    this.reset.disabled = !this.zoom;
    for (const chart of this.charts.values()) {
      const big = chart.key === this.big;
      chart.larger.setAttribute('aria-pressed', big);
    }
  }
}
