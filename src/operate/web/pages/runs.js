import {Chart} from './chart.js';
import {badge, byId, bytes, duration, el, facts, follow, get, moment, number, panel, parameter, percent, say, svg, table, values} from './common.js';

const content = byId('content');
const LIST_SECONDS = 3, RUN_SECONDS = 1, SAY_SECONDS = 15;
const DERIVED = /runtime|per_second|per_step|^epoch$|total_flos|_seconds$/;

const evaluation = (metrics) => {
  const key = Object.keys(metrics || {}).find((k) => k.startsWith('eval_') && !DERIVED.test(k));
  return key ? `${key.slice(5)} ${number(metrics[key])}` : '';
};
const lasted = (run) => {
  const until = run.end ? Date.parse(run.last_time) / 1000 : run.status === 'running' ? Date.now() / 1000 : Date.parse(run.last_time) / 1000;
  return duration(run.end && typeof run.end.seconds === 'number' ? run.end.seconds : Math.max(0, until - run.begun_s));
};

async function showList() {
  const {folder, runs} = await get('/api/runs');
  const running = runs.filter((r) => r.status === 'running').length;
  say(runs.length ? `${runs.length} run${runs.length > 1 ? 's' : ''} below ${folder}${running ? `, ${running} running` : ''}` : '');
  if (!runs.length) {
    content.replaceChildren(el('div', {class: 'panel empty'}, `No runs below ${folder} yet. A run that starts there appears here.`,
      el('br'), el('code', null, 'hone train --output_dir out …')));
    return true;
  }
  const text = JSON.stringify(runs);
  if (text === showList.shown) return true;
  showList.shown = text;
  const focus = document.activeElement && content.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
  content.replaceChildren(el('div', {class: 'panel'}, table('Runs, the newest first',
    [['Run'], ['Status'], ['Task'], ['Model', 'text'], ['Step', 'number'], ['Loss', 'number'], ['Evaluation', 'nowrap'], ['Memory', 'number'],
      ['Time', 'number'], ['Begun', 'nowrap']],
    runs.map((r) => [el('a', {href: `/runs?id=${encodeURIComponent(r.id)}`}, r.name || r.id), badge(r.status), r.task, r.model, number(r.step),
      number(r.metrics && (r.metrics.loss ?? r.metrics.train_loss)), evaluation(r.metrics),
      bytes(r.end && r.end.usage ? r.end.usage.process_memory_peak_bytes : undefined), lasted(r), moment(r.begun_s)]))));
  if (focus) content.querySelector(`a[href="${CSS.escape(focus)}"]`)?.focus();
  return true;
}

// Planned against used memory, as two bars with their numbers.
function memory(run, used) {
  const planned = run.memory_planned_bytes;
  if (!(planned >= 0) && !(used >= 0)) return null;
  const most = Math.max(planned, used, 1);
  const row = (kind, name, value) => value >= 0 ? [el('p', null, `${name}: ${bytes(value)}`),
    svg('svg', {viewBox: '0 0 100 18', preserveAspectRatio: 'none', 'aria-hidden': true}, svg('rect', {class: 'bar', width: 100, height: 18}),
      svg('rect', {class: `bar ${kind}`, x: 0.2, y: 1, width: Math.max(0.5, (value / most) * 99.6), height: 16}))] : null;
  return panel('Memory', el('div', {class: 'bars'}, row('planned', 'Planned by hone for tensors', planned), row('used', 'Used by the process, at most', used)),
    el('p', {class: 'muted'}, used >= 0 ? 'The process also holds the program, the tokenizer and rows of data, so small models use more than their plan.'
      : 'What the process uses is known after 30 seconds.'));
}

class RunPage {
  constructor(id) {
    this.id = id, this.from = 0, this.metrics = new Map(), this.usage = [], this.lines = [];
    this.loss = new Chart('Loss');
    this.rate = new Chart('Learning rate');
    this.scores = new Chart('Evaluation');
    this.use = new Chart('Utilisation', {xName: 'second', format: (v) => `${number(v)} %`});
    this.head = el('div'), this.memory = el('div'), this.log = el('pre', {class: 'log', tabindex: 0, role: 'region', 'aria-label': 'Log of the run'});
    this.numbers = el('div'), this.settings = el('div');
    content.replaceChildren(el('p', null, el('a', {href: '/'}, '← All runs')), this.head,
      el('div', {class: 'grid'}, this.loss.node, this.rate.node, this.scores.node, this.use.node, this.memory), this.numbers,
      panel('Log', this.log), this.settings);
    for (const chart of [this.loss, this.rate, this.scores, this.use]) chart.node.hidden = true;
  }

  async look() {
    let part;
    do {
      part = await get(`/api/runs/${encodeURIComponent(this.id)}?from=${this.from}`);
      if (part.from !== this.from) this.metrics.clear(), this.usage = [], this.lines = [];
      if (part.run) this.run = part.run;
      this.from = part.next;
      for (const p of part.points) this.metrics.set(p.step ?? 0, {...this.metrics.get(p.step ?? 0), ...p.metrics});
      this.usage.push(...part.usage);
      this.lines.push(...part.lines);
    } while (part.more);
    this.show(part);
    return part.status === 'running';
  }

  series(names) {
    const steps = [...this.metrics.entries()].sort(([a], [b]) => a - b);
    return names.map((name) => ({name, points: steps.filter(([, m]) => typeof m[name] === 'number').map(([step, m]) => [step, m[name]])}));
  }

  show(run) {
    document.title = `${run.name || run.id} · hone`;
    document.querySelector('h1').textContent = run.name || run.id;
    const loss = run.metrics ? run.metrics.loss ?? run.metrics.train_loss : undefined;
    // Screen readers hear it now and again, not each second.
    if (run.status !== this.status || Date.now() - this.said > SAY_SECONDS * 1000) {
      this.status = run.status, this.said = Date.now();
      say(`${run.status}, step ${number(run.step)}${loss === undefined || loss === null ? '' : `, loss ${number(loss)}`}`);
    }
    const machine = (this.run && this.run.machine) || {};
    this.head.replaceChildren(el('div', {class: 'panel'}, facts([['Status', badge(run.status)], ['Task', run.task], ['Model', run.model], ['Device', run.device],
      ['Machine', machine.type || machine.host], ['Begun', moment(run.begun_s)], ['Time', lasted(run)], ['Step', number(run.step)],
      ['Attempts', run.attempts > 1 ? run.attempts : ''], ['Reason', run.end ? run.end.reason || '' : '']])));
    const names = [...new Set([...this.metrics.values()].flatMap((m) => Object.keys(m)))];
    this.loss.draw(this.series(names.filter((n) => n === 'loss' || n === 'eval_loss')));
    this.rate.draw(this.series(names.filter((n) => n === 'learning_rate')));
    this.scores.draw(this.series(names.filter((n) => n.startsWith('eval_') && n !== 'eval_loss' && !DERIVED.test(n)).slice(0, 4)));
    const begun = run.begun_s || 0;
    const over = (name, of) => ({name, points: this.usage.map((u) => [Math.round(Date.parse(u.time) / 1000 - begun), of(u)])});
    const gpus = (u) => (u.gpus || []).map((g) => g.busy_share).filter((b) => b >= 0);
    this.use.draw([over('processors of the machine', (u) => u.machine_cpu_share * 100),
      over('GPUs', (u) => gpus(u).reduce((a, b) => a + b, 0) / gpus(u).length * 100)].filter((s) => s.points.some(([, y]) => Number.isFinite(y))));
    const usage = (run.end && run.end.usage) || {};
    const used = Math.max(usage.process_memory_peak_bytes ?? -1, ...this.usage.map((u) => u.process_memory_bytes));
    const bars = memory(run, used);
    this.memory.replaceChildren(...(bars ? [bars] : []));
    this.memory.hidden = !bars;
    const last = run.metrics ? Object.entries(run.metrics) : [];
    this.numbers.replaceChildren(last.length || run.end ? panel('Last values', facts([...last.map(([k, v]) => [k, number(v)]),
      ['processors, mean', percent(usage.machine_cpu_share)], ['GPU, mean', percent(usage.gpu_busy_share)]])) : '');
    const atEnd = this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < 40;
    this.lines = this.lines.slice(-500);
    const text = this.lines.map((l) => `${l.time.slice(11, 19)} ${l.severity === 'INFO' ? '' : `${l.severity}: `}${l.text}`).join('\n');
    if (text !== this.log.textContent) this.log.textContent = text;
    if (atEnd) this.log.scrollTop = this.log.scrollHeight;
    if (this.run && !this.settings.firstChild)
      this.settings.append(panel('Settings', el('p', {class: 'mono'}, this.run.command || ''),
        el('details', null, el('summary', null, 'Every setting of the run'), values(this.run.settings || {}))));
  }
}

const id = parameter('id');
if (id) {
  const page = new RunPage(id);
  follow(() => page.look(), RUN_SECONDS);
} else {
  follow(showList, LIST_SECONDS);
}
