import {badge, byId, duration, el, facts, follow, get, kindOf, moment, panel, parameter, say, svg, table, values} from './common.js';

const content = byId('content');
const SECONDS = 2, WIDE = 170, HIGH = 56, ACROSS = 60, DOWN = 24;
const lasted = (x) => (x.begun_s > 0 ? duration((x.ended_s > 0 ? x.ended_s : Date.now() / 1000) - x.begun_s) : '');

async function showList() {
  const {folder, pipelines} = await get('/api/pipelines');
  say(pipelines.length ? `${pipelines.length} run${pipelines.length > 1 ? 's' : ''} of pipelines below ${folder}` : '');
  const text = JSON.stringify(pipelines);
  if (text === showList.shown) return true;
  showList.shown = text;
  content.replaceChildren(pipelines.length ? el('div', {class: 'panel'}, table('Runs of pipelines, the newest first',
    [['Run'], ['Status'], ['Pipeline'], ['Begun', 'nowrap'], ['Time', 'number'], ['Message', 'text']],
    pipelines.map((p) => [el('a', {href: `/pipelines?id=${encodeURIComponent(p.id)}`}, p.id), badge(p.status), p.pipeline, moment(p.begun_s),
      p.status === 'running' || p.ended_s > 0 ? lasted(p) : '', p.message])))
    : el('div', {class: 'panel empty'}, `No pipelines below ${folder} yet.`, el('br'), el('code', null, 'hone pipeline run --config FILE.json')));
  return true;
}

// Columns by the longest way from a step that needs nothing.
function columnsOf(steps) {
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
  return columns;
}

function graph(steps, chosen, choose) {
  const columns = columnsOf(steps), place = new Map();
  const height = Math.max(...columns.map((c) => c.length)) * (HIGH + DOWN) - DOWN;
  const width = columns.length * (WIDE + ACROSS) - ACROSS;
  columns.forEach((column, i) => column.forEach((step, k) => {
    const top = (height - (column.length * (HIGH + DOWN) - DOWN)) / 2;
    place.set(step.name, {x: i * (WIDE + ACROSS), y: top + k * (HIGH + DOWN)});
  }));
  const edges = steps.flatMap((step) => (step.needs || []).filter((n) => place.has(n)).map((need) => {
    const a = place.get(need), b = place.get(step.name);
    const [x0, y0, x1, y1] = [a.x + WIDE, a.y + HIGH / 2, b.x - 7, b.y + HIGH / 2];
    const bend = Math.max(30, (x1 - x0) / 2);
    return [svg('path', {class: 'edge', d: `M${x0},${y0} C${x0 + bend},${y0} ${x1 - bend},${y1} ${x1},${y1}`}),
      svg('path', {class: 'arrow', d: `M${x1 - 1},${y1 - 5} l8,5 l-8,5 z`})];
  }));
  const nodes = steps.map((step) => {
    const {x, y} = place.get(step.name);
    const pick = () => choose(step.name);
    return svg('g', {class: `node ${kindOf(step.status)}`, tabindex: 0, role: 'button', 'data-step': step.name, 'aria-pressed': step.name === chosen ? 'true' : 'false',
      'aria-label': `${step.name}: ${step.status}${step.needs && step.needs.length ? `, after ${step.needs.join(', ')}` : ''}`, onclick: pick,
      onkeydown: (e) => { if (e.key === 'Enter' || e.key === ' ') e.preventDefault(), pick(); }},
      svg('rect', {x, y, width: WIDE, height: HIGH, rx: 10}), svg('text', {class: 'name', x: x + 14, y: y + 24}, step.name.length > 19 ? `${step.name.slice(0, 18)}…` : step.name),
      svg('text', {x: x + 14, y: y + 43}, `${step.reused_from ? 'reused' : step.status}${lasted(step) ? ` · ${lasted(step)}` : ''}`));
  });
  return svg('svg', {viewBox: `-4 -4 ${width + 8} ${height + 8}`, width: width + 8, height: height + 8, role: 'group', 'aria-label': 'Steps and what they wait for'}, edges, nodes);
}

class PipelinePage {
  constructor(id) {
    this.id = id, this.chosen = '';
    this.head = el('div'), this.graph = el('div', {class: 'graph'}), this.steps = el('div'), this.detail = el('div', {'aria-live': 'polite'});
    content.replaceChildren(el('p', null, el('a', {href: '/pipelines'}, '← All pipelines')), this.head, panel('Steps', this.graph), this.detail, this.steps);
  }
  async look() {
    const run = await get(`/api/pipelines/${encodeURIComponent(this.id)}`);
    const done = run.steps.filter((s) => s.status === 'done').length;
    document.title = `${run.id} · hone`;
    document.querySelector('h1').textContent = run.id;
    say(`${run.status}, ${done} of ${run.steps.length} steps done`);
    const text = JSON.stringify(run);
    if (text !== this.shown || run.status === 'running') {
      this.shown = text;
      this.run = run;
      this.show();
    }
    return run.status === 'running';
  }
  show() {
    const run = this.run;
    this.head.replaceChildren(el('div', {class: 'panel'}, facts([['Status', badge(run.status)], ['Pipeline', run.pipeline], ['Begun', moment(run.begun_s)],
      ['Time', run.status === 'running' || run.ended_s > 0 ? lasted(run) : ''], ['Folder', run.root], ['Message', run.message]])));
    const focus = this.graph.contains(document.activeElement) ? document.activeElement.getAttribute('data-step') : null;
    this.graph.replaceChildren(graph(run.steps, this.chosen, (name) => { this.chosen = name; this.show(); this.showStep(); }));
    if (focus) [...this.graph.querySelectorAll('.node')].find((n) => n.getAttribute('data-step') === focus)?.focus();
    this.steps.replaceChildren(el('div', {class: 'panel'}, table('Steps as a table',
      [['Step'], ['State'], ['After'], ['Time', 'number'], ['Attempts', 'number'], ['Condition', 'mono nowrap'], ['Message', 'text']],
      run.steps.map((s) => [s.name, badge(s.status), (s.needs || []).join(', '), lasted(s), s.attempts || '', s.when || '',
        s.reused_from ? `reused from ${s.reused_from}` : s.message]))));
  }
  async showStep() {
    const step = this.run.steps.find((s) => s.name === this.chosen);
    if (!step) return;
    const log = await get(`/api/pipelines/${encodeURIComponent(this.id)}/${encodeURIComponent(step.name)}`).catch(() => ({lines: []}));
    const lines = log.lines.join('\n').trim();
    this.detail.replaceChildren(panel(`Step ${step.name}`,
      step.command ? el('pre', {class: 'log', tabindex: 0, role: 'region', 'aria-label': 'Command'}, step.command.join(' ')) : null,
      step.result && typeof step.result === 'object' ? [el('h3', null, 'Result'), values(step.result)] : null,
      lines ? [el('h3', null, 'Log'), el('pre', {class: 'log', tabindex: 0, role: 'region', 'aria-label': 'Log of the step'}, lines)] : null));
  }
}

const id = parameter('id');
if (id) {
  const page = new PipelinePage(id);
  follow(() => page.look(), SECONDS);
} else {
  follow(showList, SECONDS);
}
