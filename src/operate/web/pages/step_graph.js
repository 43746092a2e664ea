// The graph of a pipeline: steps from left to right, in as many bands as the width needs.
import {duration, el, kindOf, svg} from './common.js';

const WIDEST = 240, NARROWEST = 150, ACROSS = 36, DOWN = 20, BETWEEN = 40, EDGE = 4, TURN = 8;

export const lasted = (x) => (x.begun_s > 0 ? duration((x.ended_s > x.begun_s || x.status !== 'running' ? Math.max(x.ended_s, x.begun_s) : Date.now() / 1000) - x.begun_s) : '');

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

// A way of straight lines with round corners.
function way(points) {
  let d = `M${points[0]}`;
  for (let i = 1; i < points.length - 1; ++i) {
    const [a, b, c] = [points[i - 1], points[i], points[i + 1]];
    const near = (from) => {
      const length = Math.hypot(from[0] - b[0], from[1] - b[1]) || 1, r = Math.min(TURN, length / 2);
      return [b[0] + (from[0] - b[0]) * (r / length), b[1] + (from[1] - b[1]) * (r / length)];
    };
    d += ` L${near(a)} Q${b} ${near(c)}`;
  }
  return `${d} L${points.at(-1)}`;
}

export class StepGraph {
  // choose(name) is called with the step that is clicked; headline(step) is the line with its result.
  constructor(choose, headline) {
    this.choose = choose, this.headline = headline;
    this.edges = svg('svg', {class: 'edges', 'aria-hidden': true});
    this.node = el('div', {class: 'graph', role: 'group', 'aria-label': 'Steps and what they wait for'});
    new ResizeObserver(() => { if (this.steps && this.node.clientWidth !== this.width) this.place(); }).observe(this.node);
  }

  draw(steps, chosen) {
    const focused = this.node.contains(document.activeElement) ? document.activeElement.dataset.step : null;
    this.steps = steps;
    this.columns = columnsOf(steps);
    this.nodes = new Map(steps.map((step) => [step.name, this.button(step, step.name === chosen)]));
    this.node.replaceChildren(this.edges, ...this.columns.flat().map((step) => this.nodes.get(step.name)));
    this.place();
    if (focused) this.nodes.get(focused)?.focus();
  }

  button(step, isChosen) {
    const state = step.reused_from ? 'reused' : step.status, result = this.headline(step);
    return el('button', {type: 'button', class: `node ${kindOf(step.status)}`, 'data-step': step.name, 'aria-pressed': isChosen ? 'true' : 'false',
      'aria-label': `${step.name}: ${state}${result ? `, ${result}` : ''}${(step.needs || []).length ? `, after ${step.needs.join(', ')}` : ''}`,
      onclick: () => this.choose(step.name)},
      el('span', {class: 'name'}, step.name),
      el('span', {class: 'state'}, [state, step.reused_from ? '' : lasted(step), step.attempts > 1 ? `${step.attempts} attempts` : ''].filter(Boolean).join(' · ')),
      result ? el('span', {class: 'headline'}, result) : null);
  }

  // Sizes follow the texts, so they are measured.
  place() {
    const width = this.width = this.node.clientWidth;
    const inside = width - 2 * EDGE;
    const fits = Math.max(1, Math.min(this.columns.length, Math.floor((inside + ACROSS) / (NARROWEST + ACROSS))));
    // As many bands as the widest columns need, of about the same length.
    const bands = Math.ceil(this.columns.length / fits), each = Math.ceil(this.columns.length / bands);
    const wide = Math.min(WIDEST, Math.floor((inside - (each - 1) * ACROSS) / each));
    for (const node of this.nodes.values()) node.style.width = `${wide}px`;
    const spot = this.spots = new Map();
    let top = EDGE;
    for (let band = 0; band < bands; ++band) {
      const columns = this.columns.slice(band * each, (band + 1) * each);
      const heights = columns.map((column) => column.reduce((sum, s) => sum + this.nodes.get(s.name).offsetHeight + DOWN, -DOWN));
      const tallest = Math.max(...heights);
      columns.forEach((column, i) => {
        let y = top + (tallest - heights[i]) / 2;
        for (const step of column) {
          const node = this.nodes.get(step.name), h = node.offsetHeight;
          spot.set(step.name, {x: EDGE + i * (wide + ACROSS), y, w: wide, h, band, top});
          node.style.left = `${EDGE + i * (wide + ACROSS)}px`;
          node.style.top = `${y}px`;
          y += h + DOWN;
        }
      });
      top += tallest + BETWEEN;
    }
    const height = top - BETWEEN + EDGE;
    this.node.style.height = `${height}px`;
    this.edges.setAttribute('viewBox', `0 0 ${width} ${height}`);
    this.edges.style.width = `${width}px`;
    this.edges.style.height = `${height}px`;
    this.edges.replaceChildren(...this.steps.flatMap((step) => (step.needs || []).filter((n) => spot.has(n)).flatMap((n) => this.edge(spot.get(n), spot.get(step.name), each))));
  }

  // In one band a curve; to a later band through the spaces between columns and bands.
  edge(a, b, each) {
    if (a.band === b.band) {
      const [x0, y0, x1, y1] = [a.x + a.w, a.y + a.h / 2, b.x - 7, b.y + b.h / 2];
      const bend = Math.max(14, (x1 - x0) / 2);
      return [svg('path', {class: 'edge', d: `M${x0},${y0} C${x0 + bend},${y0} ${x1 - bend},${y1} ${x1},${y1}`}),
        svg('path', {class: 'arrow', d: `M${x1 - 1},${y1 - 5} l8,5 l-8,5 z`})];
    }
    const side = Math.min(this.width - 2, a.x + a.w + ACROSS / 2), from = [a.x + a.w, a.y + a.h / 2];
    // One column: neighbours are joined directly, others by the space at the right.
    if (each === 1 && !this.areNeighbours(a, b)) {
      const x1 = b.x + b.w + 8, y1 = b.y + b.h / 2;
      return [svg('path', {class: 'edge', d: way([from, [side, from[1]], [side, y1], [x1, y1]])}), svg('path', {class: 'arrow', d: `M${x1},${y1 - 5} l-8,5 l8,5 z`})];
    }
    const x1 = b.x + b.w / 2, y1 = b.y - 8, gap = b.top - BETWEEN / 2;
    const points = each === 1 ? [[x1, a.y + a.h], [x1, y1]] : [from, [side, from[1]], [side, gap], [x1, gap], [x1, y1]];
    return [svg('path', {class: 'edge', d: way(points)}), svg('path', {class: 'arrow', d: `M${x1 - 5},${y1} l5,8 l5,-8 z`})];
  }
  areNeighbours(a, b) {
    return ![...this.spots.values()].some((s) => s.y > a.y && s.y < b.y);
  }
}
