// One run: its state, its curves, its settings, its log.
import {address, badge, breakable, byId, bytes, duration, el, explained, facts, get, kept, longFacts, moment, number, panel, parameter, percent, remember, say} from './common.js';
import {Board} from './board.js';
import {byteTicks, rates} from './curves.js';
import {decided, deciding, failureOf, lasted, metricText, metricTitle, metricsOf, progressOf, progressText} from './run_facts.js';

const SAY_SECONDS = 15, MOST_LINES = 5000, LAST_LINES = 20;
const share = (value, digits = 3) => `${Number(value.toPrecision(digits))} %`;
const perSecond = (value) => `${number(Math.round(value))} /s`;

// What a run's log holds, in the order in which it came.
export class RunData {
  constructor(id) {
    this.id = id;
    this.clear();
  }
  clear() {
    Object.assign(this, {from: 0, points: [], progress: [], usage: [], lines: [], run: null, named: {}, rows: null, summary: null});
  }
  // Reads what is new; true if anything is.
  async read() {
    let part, news = false;
    do {
      part = await get(`/api/runs/${encodeURIComponent(this.id)}?from=${this.from}`);
      if (part.from !== this.from) this.clear(), news = true;
      if (part.run) this.run = part.run, this.named = part.names || {}, this.rows = part.training_rows;
      news = news || part.next !== this.from || !this.summary || part.status !== this.summary.status;
      this.from = part.next;
      this.points.push(...part.points);
      this.progress.push(...part.progress_points);
      this.usage.push(...part.usage);
      this.lines.push(...part.lines);
      this.summary = part;
    } while (part.more);
    this.lines = this.lines.slice(-MOST_LINES);
    return news;
  }
  x(point, axis) {
    return axis === 'time' ? Date.parse(point.time) / 1000 - (this.summary.begun_s || 0) : point.step ?? NaN;
  }
  // Of equal steps the last: a restarted run repeats steps.
  over(points, axis, of) {
    const map = new Map();
    for (const point of points) {
      const x = this.x(point, axis), y = of(point);
      if (Number.isFinite(x) && typeof y === 'number') map.set(x, y);
    }
    return [...map.entries()].sort(([a], [b]) => a - b);
  }
  names() {
    return [...new Set(this.points.flatMap((p) => Object.keys(p.metrics).filter((name) => typeof p.metrics[name] === 'number')))];
  }
  metric(name, axis) {
    return this.over(this.points, axis, (p) => p.metrics[name]);
  }
  rate(name, axis) {
    return this.over(rates(this.progress, name), axis, (p) => p.rate);
  }
  use(axis, of) {
    return this.over(this.usage, axis, of);
  }
}

const gpus = (u, name) => (u.gpus || []).map((g) => g[name]).filter((v) => v >= 0);
const sum = (values) => (values.length ? values.reduce((a, b) => a + b, 0) : undefined);
const mean = (values) => (values.length ? sum(values) / values.length : undefined);

// The charts that a run can have, in their order: [key, title, form, curves of a run's data over an axis].
export function chartsOf(data, names) {
  const first = deciding(data.summary, names);
  const metrics = metricsOf(names), rest = metrics.filter((n) => ![first, 'loss', 'grad_norm', 'learning_rate'].includes(n)).sort();
  const metric = (name) => [name, metricTitle(name), {}, (d, axis) => d.metric(name, axis)];
  return [...[first, 'loss', 'grad_norm', 'learning_rate'].filter((n, i, all) => metrics.includes(n) && all.indexOf(n) === i).map(metric),
    ['throughput', 'Throughput, tokens a second', {format: perSecond}, (d, axis) => d.rate('tokens', axis)],
    ['memory', 'Memory of the process', {format: bytes, tick: bytes, marks: byteTicks}, (d, axis) => d.use(axis, (u) => u.process_memory_bytes)],
    ['gpu_memory', 'Memory of the GPUs', {format: bytes, tick: bytes, marks: byteTicks}, (d, axis) => d.use(axis, (u) => sum(gpus(u, 'memory_used_bytes')))],
    ...rest.map(metric),
    ['gpu', 'GPU utilisation', {format: share, tick: share, most: 100}, (d, axis) => d.use(axis, (u) => (mean(gpus(u, 'busy_share')) ?? NaN) * 100)],
    ['cpu', 'Processor utilisation', {format: share, tick: share, most: 100}, (d, axis) => d.use(axis, (u) => u.machine_cpu_share * 100)]];
}

export class RunPage {
  constructor(id) {
    this.data = new RunData(id), this.said = 0;
    this.board = new Board(() => this.charts());
    this.state = el('div'), this.facts = el('div'), this.failure = el('div'), this.progress = el('div', {class: 'progress'});
    this.log = el('pre', {class: 'log tall', tabindex: 0, role: 'region', 'aria-label': 'Log of the run'});
    this.empty = el('p', {class: 'muted'}, 'No metric has been logged yet.');
    this.settings = el('div'), this.last = el('div');
    this.find = this.search('q', 'Find a setting', () => this.showSettings());
    this.grep = this.search('grep', 'Find in the log', () => this.showLog());
    this.tabs = {charts: el('div', null, this.board.bar, this.empty, this.board.node, this.last), settings: panel('Settings', this.find, this.settings),
      log: panel('Log', this.grep, this.log)};
    this.nav = el('nav', {class: 'tabs', 'aria-label': 'Parts of the run'}, [['charts', 'Charts'], ['settings', 'Settings'], ['log', 'Log']].map(([key, title]) =>
      el('a', {href: '#', 'data-tab': key, onclick: (event) => this.open(event, key), onpointerenter: () => this.link(), onfocus: () => this.link()}, title)));
    this.head = el('div', {class: 'panel'}, el('div', {class: 'top'}, this.state, kept ? null : el('div', {class: 'actions'},
      el('a', {class: 'button quiet small', href: `/runs?pick=${encodeURIComponent(id)}`}, 'Compare'),
      el('a', {class: 'button quiet small', href: `/data?run=${encodeURIComponent(id)}`}, 'Data'),
      el('a', {class: 'button quiet small', href: `/api/runs/${encodeURIComponent(id)}/export`, download: ''}, 'Export as HTML'))), this.facts);
    this.back = kept ? null : el('p', {class: 'back'}, el('a', {href: '/'}, '← All runs'));
    byId('content').replaceChildren(...[this.back, this.head, this.progress, this.failure, this.nav, ...Object.values(this.tabs)].filter(Boolean));
    this.showTab(parameter('tab'));
  }

  search(name, label, act) {
    const input = el('input', {type: 'search', id: `find-${name}`, value: parameter(name), oninput: () => {
      remember({[name]: input.value});
      act();
    }});
    return el('label', {class: 'find', for: `find-${name}`}, label, input);
  }
  open(event, key) {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    remember({tab: key === 'charts' ? '' : key});
    this.showTab(key);
  }
  // A tab that is opened beside this one has the choices of now.
  link() {
    for (const link of this.nav.children) link.href = address({tab: link.dataset.tab === 'charts' ? '' : link.dataset.tab});
  }
  showTab(wanted) {
    const tab = wanted in this.tabs ? wanted : 'charts';
    for (const [key, node] of Object.entries(this.tabs)) node.hidden = key !== tab;
    this.link();
    for (const link of this.nav.children) {
      if (link.dataset.tab === tab) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    }
    if (tab === 'charts') this.board.paint();
    if (tab === 'log') this.log.scrollTop = this.log.scrollHeight;
  }

  async look() {
    if (await this.data.read()) this.show();
    if (this.data.summary.status === 'running') this.showHead(this.data.summary);
    this.showProgress();
    return this.data.summary.status === 'running';
  }

  show() {
    const {summary: run} = this.data;
    document.title = `${run.name || run.id} · hone`;
    document.querySelector('h1').textContent = run.name || run.id;
    // Screen readers hear it now and again, not each second.
    if (run.status !== this.status || Date.now() - this.said > SAY_SECONDS * 1000) {
      this.status = run.status, this.said = Date.now();
      say(kept ? `Saved ${moment(kept.saved_s)} from hone ${kept.version}` : `${run.status}, step ${number(run.step)}`);
    }
    this.showHead(run);
    const error = failureOf(run);
    if (!error) this.failure.replaceChildren();
    else if (!this.failure.firstChild) this.failure.replaceChildren(explained(error, this.lastLines()));
    this.charts();
    this.showSettings();
    this.showLog();
  }

  showHead(run) {
    const machine = (this.data.run && this.data.run.machine) || {}, usage = (run.end && run.end.usage) || {}, best = decided(run);
    const peak = Math.max(usage.process_memory_peak_bytes ?? -1, ...this.data.usage.map((u) => u.process_memory_bytes ?? -1));
    const tags = (run.tags || []).map((tag) => el('span', {class: 'run-tag'}, tag));
    this.state.replaceChildren(badge(run.status), ...tags.flatMap((tag) => [' ', tag]));
    this.facts.replaceChildren(facts([[best.name ? metricTitle(best.name) : '', best.value === undefined ? '' : [number(best.value), best.step ? el('small', null, ` best, step ${number(best.step)}`) : '']],
        ['Step', number(run.step)], ['Duration', duration(lasted(run))], ['Started', moment(run.begun_s)], ['Task', run.task], ['Model', run.model],
        ['Device', run.device], ['Machine', machine.type || machine.cpu], ['Memory, planned', bytes(run.memory_planned_bytes)], ['Memory, peak', bytes(peak)],
        ['Processors', percent(usage.machine_cpu_share)], ['GPU', percent(usage.gpu_busy_share)],
        ['Rows a second', run.end ? number(run.end.examples_per_second) : ''], ['Attempts', run.attempts > 1 ? run.attempts : ''], ['Run', run.id]]
        .filter(([name]) => name)), longFacts([['Folder of the command', (this.data.run && this.data.run.folder) || '']]));
  }

  showProgress() {
    const {summary: run, progress} = this.data, p = run.status === 'running' ? progressOf(run, progress) : null;
    this.progress.hidden = !p;
    if (!p) return;
    if (!this.meter) {
      this.meter = el('progress', {max: 1, 'aria-label': 'Progress of the run'}), this.told = el('p');
      this.progress.replaceChildren(this.meter, this.told);
    }
    this.meter.value = p.share;
    this.told.textContent = progressText(run, progress);
  }

  lastLines() {
    const lines = this.data.lines.slice(-LAST_LINES);
    return lines.length ? [el('h3', null, 'Last lines of the log'), el('pre', {class: 'log', tabindex: 0, role: 'region', 'aria-label': 'Last lines of the log'}, lines.map(lineText).join('\n'))] : '';
  }

  charts() {
    if (!this.data.summary) return;
    const {data, board} = this, run = data.summary, all = chartsOf(data, data.names());
    let shown = false;
    for (const [key, title, form, of] of all) {
      const chart = board.chart(key, title, form), points = of(data, board.axis), best = run.best;
      const series = [{name: key === 'loss' ? 'training' : title, color: 'c0', points}];
      if (key === 'loss') {
        const evaluated = data.metric('eval_loss', board.axis);
        if (evaluated.length) series.push({name: 'evaluation', color: 'c1', points: evaluated});
      }
      const at = best && best.name === key ? data.points.find((p) => p.step === best.step && p.metrics[key] === best.value) : null;
      chart.draw(series, {best: at ? [data.x(at, board.axis), best.value] : null,
        lines: key === 'memory' && run.device === 'cpu' && run.memory_planned_bytes > 0 ? [{name: 'planned for tensors', value: run.memory_planned_bytes}] : []});
      shown = shown || !chart.node.hidden;
    }
    board.order(all.map(([key]) => key));
    board.bar.hidden = !shown, this.empty.hidden = shown;
    if (!this.tabs.charts.hidden) board.paint();
    const last = Object.entries({...run.metrics, ...(run.end && run.end.results)});
    this.last.replaceChildren(last.length ? panel(run.end ? 'Final values' : 'Last values', facts(last.map(([name, value]) => [name, metricText(name, value)]), 'wide')) : '');
  }

  showSettings() {
    if (!this.data.run) return;
    const word = this.find.querySelector('input').value.trim().toLowerCase();
    const rows = Object.entries(this.data.run.settings || {}).map(([name, value]) => [name, [settingText(value), name in this.data.named ? `(${settingText(this.data.named[name])})` : ''].filter(Boolean).join(' ')])
      .filter(([name, text]) => `${name} ${text}`.toLowerCase().includes(word));
    const text = JSON.stringify(rows);
    if (text === this.settings.dataset.shown) return;
    this.settings.dataset.shown = text;
    this.settings.replaceChildren(el('p', {class: 'mono'}, this.data.run.command || ''), rows.length ? el('table', {class: 'settings'},
      el('thead', null, el('tr', null, el('th', {scope: 'col'}, 'Setting'), el('th', {scope: 'col'}, 'Value'))),
      el('tbody', null, rows.map(([name, value]) => el('tr', null, el('th', {scope: 'row'}, name), el('td', {class: 'wide'}, breakable(value)))))) : el('p', {class: 'muted'}, 'No setting has this text.'));
  }

  showLog() {
    const word = this.grep.querySelector('input').value.trim().toLowerCase();
    const lines = this.data.lines.filter((l) => !word || lineText(l).toLowerCase().includes(word));
    const text = lines.map(lineText).join('\n');
    if (text === this.logged) return;
    this.logged = text;
    const atEnd = this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < 40;
    this.log.replaceChildren(...lines.map((l) => el('span', {class: l.severity === 'INFO' ? null : l.severity.toLowerCase()}, `${lineText(l)}\n`)));
    if (atEnd) this.log.scrollTop = this.log.scrollHeight;
  }
}

const lineText = (l) => `${l.time.slice(11, 19)} ${l.severity === 'INFO' ? '' : `${l.severity}: `}${l.text}`;
// A setting as it is typed; lists with commas.
export function settingText(value) {
  if (value === null || value === undefined || value === '') return '';
  if (Array.isArray(value)) return value.map(settingText).join(', ');
  if (typeof value === 'number') return String(Number(value.toPrecision(12)));
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
