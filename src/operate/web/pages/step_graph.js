// The graph of a pipeline: steps from left to right, in as many bands as the width needs.
import {duration, el, kindOf, svg} from './common.js';
import {ARROW, columnsOf, placesOf, planOf, waysOf} from './edge_ways.js';

const TURN = 5;
const HEADS = {right: `l0,-4 l${ARROW},4 l-${ARROW},4 z`, left: `l0,-4 l-${ARROW},4 l${ARROW},4 z`, down: `l-4,0 l4,${ARROW} l4,-${ARROW} z`};

export const lasted = (x) => (x.begun_s > 0 ? duration((x.ended_s > x.begun_s || x.status !== 'running' ? Math.max(x.ended_s, x.begun_s) : Date.now() / 1000) - x.begun_s) : '');

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
    this.steps = steps, this.chosen = chosen;
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
    const width = this.width = this.node.clientWidth, plan = planOf(this.steps, this.columns, width);
    for (const node of this.nodes.values()) node.style.width = `${plan.wide}px`;
    const places = placesOf(plan, new Map([...this.nodes].map(([name, node]) => [name, node.offsetHeight])));
    for (const [name, spot] of places.spots) {
      const {style} = this.nodes.get(name);
      style.left = `${spot.x}px`, style.top = `${spot.y}px`;
    }
    this.node.style.height = `${places.height}px`;
    this.edges.setAttribute('viewBox', `0 0 ${width} ${places.height}`);
    this.edges.style.width = `${width}px`;
    this.edges.style.height = `${places.height}px`;
    // Lines of the chosen step are above the others.
    const isOwn = (w) => w.from === this.chosen || w.to === this.chosen;
    this.edges.replaceChildren(...waysOf(plan, places).sort((a, b) => isOwn(a) - isOwn(b)).map((w) => svg('g', {class: isOwn(w) ? 'own' : null, 'data-edge': `${w.from} ${w.to}`},
      svg('path', {class: 'edge', d: way(w.points)}), svg('path', {class: 'arrow', d: `M${w.points.at(-1)} ${HEADS[w.into]}`}))));
  }
}
