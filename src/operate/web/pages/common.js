// What the pages share. Texts from outside reach a page as text nodes only.
const SVG = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true && !name.startsWith('aria-') ? '' : String(value));  // aria attributes are words
  }
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined && child !== false)
      node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  return node;
}
export const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
export const byId = (id) => document.getElementById(id);

export function say(text, isError = false) {
  const status = byId('status');
  if (status.textContent !== text) status.textContent = text;
  status.classList.toggle('error', isError);
}

// A run that was exported as one file has the answers that its page asks for inside.
export const kept = byId('kept') ? JSON.parse(byId('kept').textContent) : null;
function keptAnswer(path) {
  const from = Number(path.split('from=')[1] || 0);
  const answer = path.startsWith('/api/errors/') ? kept.error_page : kept.parts.find((part) => part.from === from);
  if (!answer) throw new Error('This file holds one run. hone ui shows the others.');
  return answer;
}

export async function get(path) {
  if (kept) return keptAnswer(path);
  let answer;
  try {
    answer = await fetch(path, {headers: {accept: 'application/json'}});
  } catch {
    throw new Error('hone ui no longer answers. Start it again, and this page continues.');
  }
  const value = await answer.json();
  if (!answer.ok) throw new Error([value.error?.message ?? value.error, value.todo].filter(Boolean).join('\n'));
  return value;
}

// The address holds every choice of a page, so that a link or a reload shows the same. An exported file has no
// server: its choices are after the '#'.
const choices = () => new URLSearchParams(kept ? location.hash.slice(1) : location.search);
export const parameter = (name) => choices().get(name) || '';
export function address(changes) {
  const all = choices();
  for (const [name, value] of Object.entries(changes))
    if (value === '' || value === null || value === undefined || value === false) all.delete(name);
    else all.set(name, value === true ? '1' : String(value));
  const text = all.toString().replaceAll('%2C', ',').replaceAll('%3A', ':');
  return kept ? `#${text}` : location.pathname + (text ? `?${text}` : '');
}
export const remember = (changes) => history.replaceState(null, '', address(changes));
export const listParameter = (name) => parameter(name).split(',').filter(Boolean);

// Calls `look` now and again while the page is visible, until it gives false.
export function follow(look, seconds) {
  const again = async () => {
    let more = true;
    if (!document.hidden) {
      try {
        more = await look();
      } catch (error) {
        say(error.message, true);
      }
    }
    if (more !== false && !kept) setTimeout(again, seconds * 1000);
  };
  return again();
}

const GOOD = ['finished', 'done', 'promote'], BAD = ['failed', 'refused', 'lost', 'refuse', 'cancelled'], BUSY = ['running'];
export const kindOf = (status) =>
  GOOD.includes(status) ? 'good' : BAD.includes(status) ? 'bad' : BUSY.includes(status) ? 'busy' : '';
export const badge = (status) => el('span', {class: `badge ${kindOf(status)}`}, status);

export function number(value) {
  if (typeof value !== 'number') return value === null || value === undefined ? '' : String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return value.toLocaleString('en');
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(3).replace(/\.?0+e/, 'e') : String(Number(value.toPrecision(5)));
}
export function bytes(value, digits = 3) {
  if (typeof value !== 'number' || value < 0) return '';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  while (value >= 1024 && i < units.length - 1) value /= 1024, ++i;
  return `${Number(value.toPrecision(digits))} ${units[i]}`;
}
export function duration(seconds) {
  if (typeof seconds !== 'number' || !(seconds >= 0)) return '';
  if (seconds >= 59.5) seconds = seconds < 3600 ? Math.round(seconds) : Math.round(seconds / 60) * 60;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${(seconds % 3600) / 60} min`;
}
export const moment = (seconds) =>
  seconds > 0 ? new Date(seconds * 1000).toLocaleString('en-GB', {dateStyle: 'medium', timeStyle: 'short'}) : '';
// Names of runs; an id is beside a name that several of them have.
export const isRepeated = (run, runs) => Boolean(run.name) && runs.some((r) => r.id !== run.id && r.name === run.name);
export const nameOf = (run, runs) => (isRepeated(run, runs) ? `${run.name} (${run.id})` : run.name || run.id);
export const short = (hash) => (hash && hash.length > 24 ? el('span', {title: hash}, `${hash.slice(0, 19)}…`) : hash);
export const percent = (share) => (typeof share === 'number' && share >= 0 ? `${Math.round(share * 100)} %` : '');

// "1 run", "2 runs"
export const counted = (count, noun) => `${number(count)} ${noun}${count === 1 ? '' : 's'}`;

// A text whose paths and URLs may break after their slashes; a <wbr> is not copied with them.
export const breakable = (text) => (typeof text === 'string' && text.includes('/')
  ? text.split(/(?<=\/)(?!\/)/).map((part, i) => (i ? [el('wbr'), part] : part)) : text);
// Whether a part of a text that does not break is wider than a column of facts.
const COLUMN_LETTERS = 13;
const isWide = (text) => typeof text === 'string' && text.split(/(?<=\/)|\s/).some((part) => part.length > COLUMN_LETTERS);

export const facts = (pairs, kind = '') =>
  el('dl', {class: `facts ${kind}`.trim()}, pairs.filter(([, value]) => value !== '' && value !== null && value !== undefined)
    .map(([name, value]) => el('div', {class: isWide(value) ? 'roomy' : null}, el('dt', null, name), el('dd', null, breakable(value)))));
// Paths, one a line.
export const longFacts = (pairs) => facts(pairs, 'long');

// columns: [title, class]; rows: lists of nodes or texts, the first of which names the row.
export const table = (caption, columns, rows, kind = null) =>
  el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption},
    el('table', {class: kind}, el('caption', null, caption),
      el('thead', null, el('tr', null, columns.map(([title, kind]) => el('th', {scope: 'col', class: kind === 'number' ? kind : null}, title)))),
      el('tbody', null, rows.map((cells) => el('tr', null, cells.map((cell, i) =>
        i === 0 ? el('th', {scope: 'row', class: columns[i][1]}, cell) : el('td', {class: columns[i][1]}, cell)))))));

// `code` between backquotes and **words** of a line of Markdown.
const spans = (line) => line.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) =>
  part.startsWith('`') ? el('code', null, part.slice(1, -1)) : part.startsWith('**') ? el('strong', null, part.slice(2, -2)) : part);
// The Markdown of an error's page: headings, paragraphs, lists, tables as texts, indented code.
export function markdown(text) {
  return text.split(/\n\s*\n/).filter((block) => block.trim()).map((block) => {
    if (block.startsWith('# ')) return el('h3', null, spans(block.slice(2)));
    if (block.startsWith('    ')) return el('pre', {class: 'example'}, block.replace(/^ {4}/gm, ''));
    if (/^\|/.test(block)) return el('pre', {class: 'example'}, block);
    if (/^- /.test(block)) return el('ul', null, block.split(/\n(?=- )/).map((item) => el('li', null, spans(item.slice(2)))));
    return el('p', null, spans(block));
  });
}
// Code, place and advice of an error, and its page; `error`: {code, reason, where, todo}.
export function explained(error, ...more) {
  const page = el('div', {class: 'page'});
  if (error.code)
    get(`/api/errors/${encodeURIComponent(error.code)}`).then((found) => page.replaceChildren(...markdown(found.text)), () => {});
  return el('section', {class: 'panel failure'}, el('h2', null, [error.code, error.reason].filter(Boolean).join(': ') || 'The run failed'),
    facts([['Where', (error.where || []).join('\n')], ['What to do', error.todo]]), page, more);
}

export const panel = (title, ...children) => el('section', {class: 'panel'}, el('h2', null, title), children);

// An object from a log or the registry, as nested lists of names and values.
export function values(object) {
  if (object === null || typeof object !== 'object') return breakable(number(object));
  if (Array.isArray(object) && object.every((v) => v === null || typeof v !== 'object')) return breakable(object.map(number).join(', '));
  const pairs = Array.isArray(object) ? object.map((v, i) => [i + 1, v]) : Object.entries(object);
  return el('table', null, el('tbody', null, pairs.map(([name, value]) =>
    el('tr', null, el('th', {scope: 'row'}, name), el('td', {class: 'text'}, values(value))))));
}

for (const link of document.querySelectorAll('nav a'))
  if (link.getAttribute('href') === location.pathname || (link.getAttribute('href') === '/' && location.pathname === '/runs'))
    link.setAttribute('aria-current', 'page');
