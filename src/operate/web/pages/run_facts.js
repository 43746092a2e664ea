// Facts of runs that several pages show: names of metrics, the metric that decides, progress.
import {duration, number} from './common.js';

const RECENT_SECONDS = 180;
const DERIVED = /runtime|per_second|per_step|^epoch$|total_flos|_seconds$|_samples$|^train_|^step$/;
const LOWER = /loss|perplexity|error|(^|_)(wer|cer|ter|mse|rmse|mae)$/;
const NAMES = {loss: 'Training loss', grad_norm: 'Gradient norm', learning_rate: 'Learning rate', eval_loss: 'Evaluation loss', train_loss: 'Training loss, mean'};

export const metricsOf = (names) => names.filter((name) => !DERIVED.test(name));
export function metricTitle(name) {
  if (NAMES[name]) return NAMES[name];
  const words = name.replace(/^eval_/, '').replaceAll('_', ' ');
  return name.startsWith('eval_') ? `Evaluation ${words}` : words[0].toUpperCase() + words.slice(1);
}
export const lowerIsBetter = (name, run = {}) =>
  run.best_metric && run.best_metric.name && run.best_metric.name.replace(/^eval_/, '') === name.replace(/^eval_/, '')
    ? !run.best_metric.greater_is_better : LOWER.test(name);

// The metric by which the run's best checkpoint is chosen; else its first evaluation that is not a loss.
export function deciding(run, names) {
  const wanted = run.best_metric && run.best_metric.name, all = metricsOf(names);
  const chosen = wanted && [wanted, wanted.replace(/^eval_/, '')].find((name) => all.includes(name));
  return chosen || all.find((n) => n.startsWith('eval_') && n !== 'eval_loss' && n !== 'eval_loss_per_token') ||
    ['eval_loss', 'loss'].find((name) => all.includes(name)) || '';
}
// Its name and value: the best so far if the run compares its evaluations, else the last.
export function decided(run) {
  const metrics = run.metrics || {};
  if (run.best && typeof run.best.value === 'number') return {name: run.best.name, value: run.best.value, step: run.best.step};
  const name = deciding(run, Object.keys(metrics).filter((n) => typeof metrics[n] === 'number' && n !== 'loss'));
  return {name, value: name ? metrics[name] : undefined};
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
