// Facts of runs that several pages show: names of metrics, the metric that decides, progress.
import {bytes, duration, el, number} from './common.js';

const RECENT_SECONDS = 180;
const DERIVED = /runtime|per_second|per_step|^epoch$|total_flos|_seconds$|_samples$|^train_|^step$/;
const NAMES = {loss: 'Training loss', grad_norm: 'Gradient norm', learning_rate: 'Learning rate', eval_loss: 'Evaluation loss', train_loss: 'Training loss, mean'};

const isBytes = (name) => name.endsWith('_bytes');
// The value of a metric as people read it.
export const metricText = (name, value) => (isBytes(name) ? bytes(value) : number(value));
export const metricsOf = (names) => names.filter((name) => !DERIVED.test(name));
export function metricTitle(name) {
  if (NAMES[name]) return NAMES[name];
  const words = name.replace(/^eval_/, '').replace(/_bytes$/, '').replaceAll('_', ' ');
  return name.startsWith('eval_') ? `Evaluation ${words}` : words[0].toUpperCase() + words.slice(1);
}
// Whether less of a metric is better, which the server says of each run that has the metric.
export const lowerIsBetter = (name, runs) => runs.some((run) => (run.lower_is_better || []).includes(name));
// The values of a metric as texts, and the index of the best of them; -1: they look the same, or none is better (`lower` is null).
export function withBest(name, values, lower) {
  const texts = values.map((value) => metricText(name, value)), numbers = values.filter((v) => typeof v === 'number');
  if (lower === null || new Set(texts.filter(Boolean)).size < 2) return [texts, -1];
  return [texts, values.indexOf((lower ? Math.min : Math.max)(...numbers))];
}

// Tells why none of the values that these runs have of a metric is the best: they are not surely of the same rows; '': one is.
// Training measures its own rows, whatever is evaluated.
export function noBest(name, runs) {
  if (/^(train|memory)_|^(loss|grad_norm|learning_rate)$/.test(name) || new Set(runs.map((r) => JSON.stringify(r.evaluated))).size < 2) return '';
  const counts = new Set(runs.map((r) => r.evaluated.samples).filter((n) => typeof n === 'number'));
  return counts.size > 1 ? 'the runs were evaluated on different rows' : 'hone cannot tell whether the runs were evaluated on the same rows';
}
// Sentences for these notes, [title of the metric, text]; `isAll`: no other metric of the table has a mark.
export function noBestTexts(notes, isAll) {
  const titles = new Map();
  for (const [title, text] of notes) titles.set(text, [...(titles.get(text) || []), title]);
  return [...titles].map(([text, of]) => (isAll && titles.size === 1 ? `No best value has a mark: ${text}` : `${[...new Set(of)].join(', ')}: no best value has a mark: ${text}`));
}
export const noBestNotes = (notes, isAll) => noBestTexts(notes, isAll).map((text) => el('p', {class: 'muted'}, text));

// The metric of the first chart: that by which the run's best checkpoint is chosen, else that which decides.
export function deciding(run, names) {
  const wanted = run.best_metric && run.best_metric.name, all = metricsOf(names);
  return [wanted, wanted && wanted.replace(/^eval_/, ''), run.metric && run.metric.name, 'eval_loss', 'loss'].find((name) => all.includes(name)) || '';
}
// The metric that decides, which the server chooses as for the tables of a terminal: its best value if the run compares it, else the last.
export function decided(run) {
  const {metric, best} = run;
  if (!metric) return {name: '', value: undefined};
  return best && best.name === metric.name && typeof best.value === 'number' ? {name: best.name, value: best.value, step: best.step} : {name: metric.name, value: metric.value};
}
export const lossOf = (run) => (run.metrics ? run.metrics.train_loss ?? run.metrics.loss : undefined);

const seconds = (time) => Date.parse(time) / 1000;
export function lasted(run) {
  if (run.end && typeof run.end.seconds === 'number') return run.end.seconds;
  const until = run.status === 'running' ? Date.now() / 1000 : seconds(run.last_time);
  return Math.max(0, until - run.begun_s);
}

// Share, seconds left and rates of a run, from its last minutes if `points` (its progress) has them.
export function progressOf(run, points = []) {
  const last = run.progress;
  if (!last || !(last.total_steps > 0)) return null;
  let i = points.length - 1;
  const b = points[i];
  while (i > 0 && points[i - 1].steps <= points[i].steps && b.seconds - points[i - 1].seconds < RECENT_SECONDS) --i;
  const a = points[i], window = b && b.steps > a.steps && b.seconds > a.seconds
    ? {steps: b.steps - a.steps, seconds: b.seconds - a.seconds, tokens: b.tokens - a.tokens, examples: b.examples - a.examples} : last;
  const rate = (what) => (window.seconds > 0 ? window[what] / window.seconds : undefined);
  const since = b ? Math.max(0, Date.now() / 1000 - seconds(b.time)) : 0;
  const left = rate('steps') > 0 ? Math.max(0, (last.total_steps - run.step) / rate('steps') - since) : undefined;
  return {share: Math.min(1, run.step / last.total_steps), total: last.total_steps, left, tokens: rate('tokens'), examples: rate('examples')};
}
export function progressText(run, points) {
  const p = progressOf(run, points);
  if (!p) return '';
  return [`step ${number(run.step)} of ${number(p.total)}`, `${p.share < 0.1 ? (p.share * 100).toFixed(1) : Math.floor(p.share * 100)} %`, p.left === undefined ? '' : `${duration(p.left)} left`,
    p.tokens > 0 ? `${number(Math.round(p.tokens))} tokens/s` : ''].filter(Boolean).join(' · ');
}
// The mean of the whole run, for a list.
export function tokensPerSecond(run) {
  const ended = run.metrics && run.metrics.train_tokens_per_second;
  return ended ?? (run.progress && run.progress.seconds > 0 ? run.progress.tokens / run.progress.seconds : undefined);
}

// The error of a run that did not finish; null: it has none.
export function failureOf(run) {
  if (run.status === 'lost')
    return {reason: 'The log of the run has no end', where: [], todo: 'It was killed, or its machine is gone: no line was logged for two minutes. ' +
      'Start the same command again; it continues from its last checkpoint.'};
  return run.status === 'failed' || run.status === 'refused' ? run.end || {} : null;
}
export const lastPart = (path) => (path || '').replace(/\/+$/, '').split('/').pop() || path || '';
