import {badge, byId, counted, el, facts, follow, get, longFacts, moment, number, panel, parameter, say, table, values} from './common.js';
import {bare, comparison, decides, decidingValue, errorBox, filled, intervalText, isDeciding, isSpread, keep, linkTo, metricNames, otherNames, quoted, shellLine} from './parts.js';
import {StepGraph, lasted} from './step_graph.js';

const content = byId('content');
const SECONDS = 2;

// "7 of 8, deploy skipped"; `count`: of all steps.
const progress = (p, count) => [`${p.steps_done} of ${count}`, p.failed_step ? `${p.failed_step} failed` : p.running_step ? `${p.running_step} runs` : '',
  p.skipped_steps.length ? `${p.skipped_steps.join(' and ')} skipped` : ''].filter(Boolean).join(', ');
const verdictOf = (p) => (p.verdict ? [badge(p.verdict), ' ', p.reason] : '');

async function showList() {
  const {folder, pipelines} = await get('/api/pipelines');
  say(pipelines.length ? `${counted(pipelines.length, 'run')} of pipelines below ${folder}` : '');
  const text = JSON.stringify(pipelines);
  if (text === showList.shown) return true;
  showList.shown = text;
  content.replaceChildren(pipelines.length ? el('div', {class: 'panel'}, filled('Runs of pipelines, the newest first',
    [['Run', 'name'], ['Status'], ['Steps done', 'text'], ['Verdict', 'text'], ['Pipeline', 'text'], ['Begun', 'nowrap'], ['Time', 'number']],
    pipelines.map((p) => [linkTo('/pipelines', {id: p.id}, p.id), badge(p.status), typeof p.steps === 'number' ? progress(p, p.steps) : '', verdictOf(p), p.pipeline, moment(p.begun_s),
      p.status === 'running' || p.ended_s > 0 ? lasted(p) : ''])))
    : el('div', {class: 'panel empty'}, `No pipelines below ${folder} yet.`, el('br'), el('code', null, 'hone pipeline run --config FILE.json')));
  return true;
}

// The result of a step in a line: the verdict, the deciding metric, a loss, a version, an address.
function headline(step, metric) {
  const result = step.result && typeof step.result === 'object' ? step.result : {};
  if (step.status === 'failed') {
    const {code, error} = errorOf(step);
    return [code, error].filter(Boolean).join(' ');
  }
  if (step.status !== 'done') return step.status === 'skipped' ? step.message.split(':')[0] : '';
  if (result.verdict) return result.verdict;
  if (step.interval) {
    const {metric: name, value, low, high} = step.interval;
    return `${name} ${number(value)}${isSpread(low, high) ? ` [${number(low)}, ${number(high)}]` : ''}`;
  }
  if (result.url) return result.url;
  if (step.metrics && step.metrics.train_loss !== undefined) {
    const value = decidingValue(step.metrics, metric);
    const evaluated = bare(metric) === 'loss' ? 'eval loss' : metric;  // beside the loss of the training
    return `loss ${number(step.metrics.train_loss)}${value === undefined ? '' : `, ${evaluated} ${number(value)}`}`;
  }
  const name = metricNames([step.metrics], metric)[0];
  if (name && result.version === undefined) return `${bare(name).replaceAll('_', ' ')} ${number(step.metrics[name])}`;
  if (result.version !== undefined) return `${result.name || 'version'}${result.name ? ':' : ' '}${result.version}`;
  return '';
}

// The error of the step's command, which has a place and an advice of its own; else that of the step.
const errorOf = (step) => step.cause || step.error || {error: step.message};

function metricTable(step, metric) {
  const names = metricNames([step.metrics], metric);
  if (!names.length) return null;
  return table('Metrics of the step', [['Metric'], ['Value', 'number'], ['Interval', 'text']], names.map((name) => [
    [name, ' ', isDeciding(name, metric) ? decides() : null], number(step.metrics[name]),
    isDeciding(name, metric) && step.interval ? intervalText(step.interval) : '']), 'narrow');
}

// As a shell runs it; with its references, if the value of one is not known.
function commandOf(step, folder) {
  const line = (step.resolved || step.command).map(quoted).join(' ');
  return [step.resolved && folder ? `cd ${quoted(folder)}` : '', step.output_folder ? `mkdir -p ${quoted(step.output_folder)}` : '', line].filter(Boolean).join(' && ');
}

class PipelinePage {
  constructor(id) {
    this.id = id, this.chosen = parameter('step');
    this.head = el('div'), this.failure = el('div'), this.steps = el('div'), this.detail = el('div', {'aria-live': 'polite'});
    this.graph = new StepGraph((name) => this.choose(name), (step) => headline(step, this.run.metric));
    content.replaceChildren(el('p', null, linkTo('/pipelines', {}, '← All pipelines')), this.head, this.failure, panel('Steps', this.graph.node), this.detail, this.steps);
  }
  async look() {
    const run = await get(`/api/pipelines/${encodeURIComponent(this.id)}`);
    document.title = `${run.id} · hone`;
    document.querySelector('h1').textContent = run.id;
    say(`${run.status}, steps done: ${progress(run, run.steps.length)}`);
    const text = JSON.stringify(run);
    if (text !== this.shown || run.status === 'running') {
      this.run = run;
      this.show();
      if (text !== this.shown) await this.showStep();
      this.shown = text;
    }
    return run.status === 'running';
  }
  choose(name) {
    this.chosen = name;
    keep({step: name});
    this.graph.draw(this.run.steps, name);
    this.showStep();
  }
  // The step that is chosen, else the one that says most now.
  current() {
    const {steps} = this.run;
    const by = (test) => steps.find(test);
    return by((s) => s.name === this.chosen) || by((s) => s.status === 'failed') || by((s) => s.status === 'running') ||
      by((s) => s.result && s.result.verdict) || steps.at(-1);
  }
  show() {
    const run = this.run, failed = run.steps.find((s) => s.status === 'failed');
    const deployed = run.steps.map((s) => s.result).find((r) => r && r.url);
    this.head.replaceChildren(el('div', {class: 'panel'}, facts([['Status', badge(run.status)], ['Steps done', progress(run, run.steps.length)],
      ['Time', run.status === 'running' || run.ended_s > 0 ? lasted(run) : ''], ['Begun', moment(run.begun_s)], ['Pipeline', run.pipeline],
      ['Deciding metric', run.metric], ['Verdict', run.verdict ? badge(run.verdict) : ''], ['Endpoint', deployed ? deployed.url : '']]),
      run.reason ? el('p', {class: 'verdict'}, run.reason) : null, longFacts([['Folder', run.root]])));
    this.failure.replaceChildren(failed ? errorBox(`Step ${failed.name} failed`, errorOf(failed), failed.cause ? failed.error : null) : '');
    this.graph.draw(run.steps, this.current()?.name);
    this.steps.replaceChildren(el('div', {class: 'panel'}, filled('Steps as a table',
      [['Step', 'name'], ['State'], ['Result', 'text'], ['Time', 'number'], ['Attempts', 'number'], ['After', 'text'], ['Condition', 'text mono'], ['Reason', 'text']],
      run.steps.map((s) => [s.name, badge(s.reused_from ? 'reused' : s.status), s.status === 'failed' ? '' : headline(s, run.metric), s.reused_from ? '' : lasted(s), s.attempts || '',
        (s.needs || []).join(', '), s.when || '', s.reused_from ? `reused from ${s.reused_from}` : s.message]))));
  }
  async showStep() {
    const step = this.current();
    if (!step) return;
    const route = `/api/pipelines/${encodeURIComponent(this.id)}/${encodeURIComponent(step.name)}`;
    const [log, runs] = await Promise.all([get(route).catch(() => ({lines: []})), get('/api/runs').catch(() => ({runs: []}))]);
    const lines = log.lines.join('\n').trim();
    const trained = runs.runs.filter((r) => r.log && r.log.startsWith(`${step.folder}/`));
    const result = step.result && typeof step.result === 'object' ? step.result : null;
    const compared = result && result.evidence ? comparison(result) : null;
    this.detail.replaceChildren(panel(`Step ${step.name}`,
      facts([['State', badge(step.reused_from ? 'reused' : step.status)], ['Time', step.reused_from ? '' : lasted(step)], ['Begun', moment(step.begun_s)],
        ['Attempts', step.attempts > 1 ? step.attempts : ''], ['Reused from', step.reused_from ? linkTo('/pipelines', {id: step.reused_from, step: step.name}, step.reused_from) : ''],
        ['Run', trained.length ? trained.map((r) => [linkTo('/runs', {id: r.id}, r.name || r.id), ' ']) : ''],
        ['Version', result && result.name && result.version && !result.verdict ? linkTo('/models', {name: result.name, version: result.version}, `${result.name}:${result.version}`) : '']]),
      step.message && step.status !== 'failed' ? el('p', null, step.message) : null,
      result && result.verdict ? [el('h3', null, 'Verdict'), el('p', null, badge(result.verdict), ' ', result.reason), compared ? facts(compared, 'whole-lines') : null] : null,
      metricTable(step, this.run.metric),
      step.command ? [el('h3', null, 'Command'), shellLine('Command', commandOf(step, this.run.folder), Boolean(step.resolved))] : null,
      result || otherNames(step.metrics).length ? el('details', null, el('summary', null, `All results of ${step.name}`), el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `All results of ${step.name}`}, values(result || step.metrics))) : null,
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
