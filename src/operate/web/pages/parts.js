// What Pipelines, Models, Data and Playground share: addresses, errors in full, metrics, lines to copy.
import {breakable, counted, el, number, parameter, table} from './common.js';

// The address of a page with these choices; empty ones are left out.
export function pathTo(page, choices) {
  const query = new URLSearchParams(Object.entries(choices).filter(([, value]) => value !== '' && value !== null && value !== undefined));
  return query.size ? `${page}?${query}` : page;
}
export const linkTo = (page, choices, ...text) => el('a', {href: pathTo(page, choices)}, text);
// The address of this page with changed choices, so that a reload or a link shows the same.
export function keep(changes) {
  const now = Object.fromEntries(new URLSearchParams(location.search));
  const path = pathTo(location.pathname, {...now, ...changes});
  if (path !== location.pathname + location.search) history.replaceState(null, '', path);
}
export const choicesHere = (names) => Object.fromEntries(names.map((name) => [name, parameter(name)]));

// The advice of an error without that of its cause, with which it begins.
export function moreAdvice(cause, todo) {
  if (!cause || !todo || !todo.startsWith(cause)) return todo;
  const more = todo.slice(cause.length).replace(/^[;,. ]*(then )?/, '');
  return more && more[0].toUpperCase() + more.slice(1);
}
// An error with its code, place and advice, whole; `around`: the error that it caused.
export function errorBox(title, error, around = null) {
  const where = (error.where || []).filter(Boolean);
  return el('section', {class: 'panel failure', 'aria-label': title},
    el('h2', null, title),
    el('p', {class: 'what'}, error.code ? el('code', null, error.code) : null, error.code ? ' ' : null, error.error),
    where.length ? [el('h3', null, 'Where'), el('pre', {class: 'log', tabindex: 0, role: 'region', 'aria-label': 'Where'}, breakable(where.join('\n')))] : null,
    error.todo ? [el('h3', null, 'What to do'), el('p', null, error.todo)] : null,
    around ? el('p', {class: 'muted'}, [around.error, moreAdvice(error.todo, around.todo)].filter(Boolean).join('. ')) : null,
    error.code ? el('p', {class: 'muted'}, 'The whole page of the error: ', el('code', null, `hone help ${error.code}`)) : null);
}

// A line for a shell, with a button that copies it; without one, if the line cannot be run as it is.
export function shellLine(name, text, runs = true) {
  const button = el('button', {type: 'button', class: 'quiet small', 'aria-label': `Copy: ${name}`, onclick: async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  }}, 'Copy');
  return el('div', {class: 'shell'}, el('pre', {class: 'log', tabindex: 0, role: 'region', 'aria-label': name}, breakable(text)), runs ? button : null);
}
// A word as a POSIX shell takes it.
export const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

// A table without its empty columns. Its rows become blocks of names and values where the window is narrow.
export function filled(caption, columns, rows) {
  const isEmpty = (cell) => cell === '' || cell === null || cell === undefined || (Array.isArray(cell) && cell.every(isEmpty));
  const kept = columns.map((_, i) => i).filter((i) => i === 0 || rows.some((row) => !isEmpty(row[i])));
  const node = table(caption, kept.map((i) => columns[i]), rows.map((row) => kept.map((i) => row[i])));
  const titles = [...node.querySelectorAll('thead th')].map((th) => th.textContent);
  node.classList.add('stacked');
  for (const row of node.querySelectorAll(':scope > table > tbody > tr')) [...row.children].forEach((cell, i) => { cell.dataset.title = titles[i]; });
  return node;
}

// Numbers of a run rather than of its model.
const OF_RUN = /runtime|per_second|per_step|_samples$|^epoch$|total_flos|_seconds$|_bytes$|predicted|^version$|^pid$|^rows$/;
export const bare = (name) => name.replace(/^(eval|predict|test)_/, '');
export const isDeciding = (name, metric) => Boolean(metric) && bare(name) === bare(metric);
// Names of a model's metrics, the deciding one first.
export function metricNames(objects, metric) {
  const all = [...new Set(objects.flatMap((o) => Object.keys(o || {}).filter((k) => typeof o[k] === 'number' || typeof o[k] === 'string')))];
  const rank = (name) => (isDeciding(name, metric) ? (name.startsWith('eval_') ? 0 : 1) : name.startsWith('eval_') ? 2 : 3);
  return all.filter((name) => !OF_RUN.test(name)).sort((a, b) => rank(a) - rank(b));
}
export const otherNames = (object) => Object.keys(object || {}).filter((name) => OF_RUN.test(name));
// The value of the deciding metric in an object of metrics.
export function decidingValue(metrics, metric) {
  const name = metricNames([metrics], metric)[0];
  return name && isDeciding(name, metric) ? metrics[name] : undefined;
}
export const decides = () => el('span', {class: 'badge deciding', title: 'This metric decides between versions'}, 'decides');

// Samples without a spread, as of one row or of rows that are all alike, have no interval.
export const isSpread = (low, high) => low !== high;

// "27.4 (95 % interval 26.1 to 28.6, 500 rows)"
export const intervalText = (i) => isSpread(i.low, i.high)
  ? `${number(i.value)} (${Math.round(i.confidence * 100)} % interval ${number(i.low)} to ${number(i.high)}, ${counted(i.rows, 'row')})`
  : `${number(i.value)} (the same in all ${number(i.rows)} rows)`;

// The comparison of a decision: both values and the gain.
export function comparison(decision) {
  const {comparison: c, metric, value, policy} = decision.evidence || {};
  if (!c && value === undefined) return null;
  if (!c) return [[metric, `${number(value)}${policy && policy.floor !== null && policy.floor !== undefined ? `, the floor is ${number(policy.floor)}` : ''}`]];
  return [[`${metric} of version ${decision.version}`, number(c.version)], [`${metric} of version ${decision.against}`, number(c.against)],
    ['Gain', isSpread(...c.interval) ? `${number(c.gain)} (interval ${number(c.interval[0])} to ${number(c.interval[1])})`
      : `${number(c.gain)} (the same in all rows)`], ['Rows', number(c.rows)]];
}

// Tells why a server cannot be asked, in a word: ready, loading, stopped, away.
export async function statusOf(endpoint) {
  if (!endpoint.address) return 'not served';
  try {
    const answer = await fetch(`/api/endpoints/${encodeURIComponent(endpoint.display_name)}/readyz`, {signal: AbortSignal.timeout(6000)});
    return answer.ok ? 'ready' : answer.status === 503 ? 'loading' : 'no answer';
  } catch {
    return 'no answer';
  }
}
const KIND_OF_STATUS = {ready: 'good', loading: 'busy', 'no answer': 'bad'};
// A badge that says how an endpoint is, once that is known.
export function endpointBadge(endpoint) {
  const badge = el('span', {class: 'badge'}, endpoint.address ? '…' : 'not served');
  statusOf(endpoint).then((status) => {
    badge.textContent = status;
    badge.className = `badge ${KIND_OF_STATUS[status] || ''}`;
  });
  return badge;
}
