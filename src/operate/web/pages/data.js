import {byId, el, get, parameter, say, table} from './common.js';

const content = byId('content');
const FIELDS = ['file', 'model', 'task', 'count'];
const address = (from) => `?${new URLSearchParams({...Object.fromEntries(FIELDS.map((f) => [f, byId(f).value])), from})}`;

const token = (t) => el('li', {class: t.special ? 'special' : null}, t.text || t.token, el('small', null, t.id),
  t.label && t.label !== '-100' ? el('small', {class: 'tag'}, t.label) : null,
  t.label === '-100' ? el('small', null, 'no label') : null);

function part(p) {
  const name = {text: 'Tokens', pair: 'Tokens of the second text', target: 'Labels: tokens of the target', words: 'Tokens with the labels of their words'}[p.role];
  if (!p.tokens) return null;
  return [el('h4', null, `${name} (column ${p.column}, ${p.tokens.length})`), el('ol', {class: 'tokens', 'aria-label': `${name}, ${p.column}`}, p.tokens.map(token))];
}

const shown = (value) => (value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value));

function rowOf(row) {
  return el('article', {class: 'row'}, el('h3', null, row.where),
    el('dl', {class: 'facts cells'}, Object.entries(row.cells).map(([name, value]) => el('div', null, el('dt', null, name), el('dd', null, shown(value))))),
    row.label ? el('p', null, 'Label: ', el('span', {class: 'badge busy'}, row.label.name ? `${row.label.name} (${shown(row.label.value)})` : shown(row.label.value)),
      ` column ${row.label.column}`) : null,
    row.parts.map(part));
}

async function show() {
  const from = Number(parameter('from')) || 0;
  say('Reading …');
  const data = await get(`/api/data${address(from)}`);
  const count = data.rows.length;
  say(count ? `Rows ${from + 1} to ${from + count} of ${data.file}${data.note && data.model ? `; ${data.note}` : ''}` : `${data.file} has no rows from ${from + 1} on`);
  const step = Number(byId('count').value);
  const pages = () => el('nav', {class: 'buttons', 'aria-label': 'Rows'},
    from > 0 ? el('a', {href: address(Math.max(0, from - step))}, '← Earlier rows') : null,
    data.more ? el('a', {href: address(from + step)}, 'Later rows →') : null);
  content.replaceChildren(data.model || data.rows.some((r) => r.label)
    ? el('section', {class: 'panel', 'aria-label': 'Rows of the file'}, data.rows.map(rowOf), pages())
    : el('section', {class: 'panel', 'aria-label': 'Rows of the file'}, table('Rows', [['Row', 'nowrap'], ...data.columns.map((c) => [c, 'text'])],
      data.rows.map((r) => [r.where, ...data.columns.map((c) => shown(r.cells[c]))])), pages()));
}

async function start() {
  for (const field of FIELDS) if (parameter(field)) byId(field).value = parameter(field);
  const lists = await get('/api/data');
  byId('files').replaceChildren(...lists.files.map((f) => el('option', {value: f})));
  byId('models').replaceChildren(...lists.models.map((m) => el('option', {value: m})));
  const registered = await get('/api/models').catch(() => ({models: []}));
  byId('models').append(...registered.models.map((m) => el('option', {value: m.name})));
  if (parameter('file')) return show();
  say(lists.files.length ? `${lists.files.length} data files below ${lists.folder}` : '');
  if (!lists.files.length)
    content.replaceChildren(el('div', {class: 'panel empty'}, `No data files below ${lists.folder}. Start hone ui with --folder FOLDER.`));
}
start().catch((error) => say(error.message, true));
