import {breakable, byId, counted, el, get, isRepeated, nameOf, number, parameter, say} from './common.js';
import {choicesHere, filled, linkTo, pathTo} from './parts.js';

const content = byId('content');
const FIELDS = ['file', 'model', 'task', 'run', 'count', 'wrong'];
const LONG_CELL = 1500;
const shown = (value) => (value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value));
const here = (changes) => pathTo('/data', {...choicesHere([...FIELDS, 'from']), ...changes});

// --- the runs' own data sets --------------------------------------------------------------------

const KINDS = {file: 'file', files: 'files', folder: 'folder', prepared: 'prepared rows', images: 'images', elsewhere: 'not in the folders of hone ui'};
const SETTINGS = {train_file: 'training', validation_file: 'validation', dataset_name: 'data set', train_dir: 'training', validation_dir: 'validation'};

// Whether a reader of a set is a run, or the run of an attempt.
const isOf = (reader, id) => reader.id === id || (reader.attempts || []).includes(id);

function setRow(set, all, id) {
  const reader = set.runs.find((r) => isOf(r, id)) || set.runs[0];
  const open = (file, text = file) => linkTo('/data', {file, model: reader.model, task: reader.task, run: reader.id}, breakable(text));
  const runs = [...new Map(set.runs.map((r) => [r.id, r])).values()];
  const files = [...set.files.map((f) => el('div', null, open(f))),
    ...(set.sources || []).map((s) => el('div', null, `${s.split}, made from `, s.file ? open(s.file) : breakable(s.name)))];
  return [breakable(set.path || set.name), KINDS[set.kind], [...new Set(set.runs.map((r) => SETTINGS[r.setting]))].join(', '),
    files.length ? files : set.kind === 'elsewhere' ? el('span', {class: 'muted'}, 'open it with ', el('code', null, `hone ui --data_folders FOLDER`)) : el('span', {class: 'muted'}, 'no data files'),
    runs.slice(0, 5).map((r) => el('div', null, linkTo('/runs', {id: r.id}, r.name || r.id), isRepeated(r, all) ? el('span', {class: 'small-text'}, ` ${r.id}`) : '', r.task ? ` (${r.task})` : '')).concat(runs.length > 5 ? el('div', {class: 'muted'}, `and ${runs.length - 5} more`) : [])];
}

// The title of the page names its run. Runs without data sets are in the list of runs alone.
async function nameRun(reader, id) {
  const run = reader || (await get('/api/runs')).runs.find((r) => r.id === id) || {id};
  document.querySelector('h1').replaceChildren('Data sets of the run ', linkTo('/runs', {id: run.id}, run.name || run.id));
  document.title = `Data sets of the run ${run.name || run.id} · hone`;
}

// What hone eval --save_examples and the step evaluate of a pipeline write.
const isEvaluation = (file) => file.split('/').pop() === 'eval_examples.jsonl';
// `id`: only those of this run.
async function showSets(lists, id) {
  const sets = id ? lists.sets.filter((set) => set.runs.some((r) => isOf(r, id))) : lists.sets;
  if (id) await nameRun(sets.flatMap((set) => set.runs).find((r) => isOf(r, id)), id);
  const title = `Data sets of ${id ? 'the run' : 'the runs'}: choose a file to see its rows as the model sees them`;
  const none = id ? 'This run names no data set in the folders of hone ui.' : `No runs below ${lists.folder} name a data set yet. Choose a file below.`;
  byId('sets').replaceChildren(sets.length
    ? el('div', {class: 'panel'}, filled(title, [['Data set', 'name'], ['Kind'], ['Used for', 'text'], ['Files', 'text'], ['Runs', 'text']],
      sets.map((set) => setRow(set, lists.sets.flatMap((s) => s.runs), id))))
    : el('div', {class: 'panel empty'}, none), id ? el('p', null, linkTo('/data', {}, 'Data sets of all runs')) : '');
  const evaluated = lists.files.filter(isEvaluation), own = lists.files.filter((file) => !isEvaluation(file));
  const list = (title, files, open) => (files.length ? el('details', {open}, el('summary', null, `${title} (${files.length})`),
    el('ul', {class: 'plain'}, files.map((file) => el('li', null, linkTo('/data', {file}, breakable(file)))))) : null);
  content.replaceChildren(lists.files.length ? el('section', {class: 'panel', 'aria-label': 'Files'}, list('Data files', own, !sets.length),
    list('Rows of evaluations, with predictions', evaluated, false)) : '');
  say(`${counted(sets.length, 'data set')} of ${id ? 'the run' : 'runs'}, ${counted(own.length, 'data file')} below ${lists.folder}`);
}

// --- rows ---------------------------------------------------------------------------------------

// Marks of blanks and line breaks, which a token may begin with.
const visible = (t) => (t.text || t.piece).replaceAll('\n', '⏎').replace(/^ | $/g, '·').replaceAll('\t', '⇥');

function token(t) {
  const masked = t.label === null, other = typeof t.label === 'string' && t.label !== t.piece;
  return el('li', {class: [t.special ? 'special' : '', masked ? 'masked' : '', typeof t.label === 'string' ? 'learnt' : ''].filter(Boolean).join(' ') || null,
    title: `${t.piece} = ${t.id}${masked ? ', no loss' : typeof t.label === 'string' ? `, label ${t.label}` : ''}`},
  visible(t), el('small', null, t.id), other ? el('small', {class: 'tag'}, t.label) : null);
}
const tokenList = (name, tokens, count) => [el('h3', null, `${name} (${number(count)})`), el('ol', {class: 'tokens', 'aria-label': name}, tokens.map(token)),
  tokens.length < count ? el('p', {class: 'muted'}, `The first ${number(tokens.length)} of ${number(count)} tokens are shown.`) : null];

function seenPart(row, data) {
  if (row.left_out) return el('p', {class: 'muted'}, 'The task leaves this row out: ', row.left_out);
  const {seen} = row;
  if (!seen) return null;
  return [seen.source ? tokenList('Source tokens', seen.source, seen.source_count) : null,
    tokenList(seen.source ? (data.prepared ? 'Target tokens' : 'Decoder tokens, each with the label to predict') : 'Tokens', seen.tokens, seen.count),
    seen.label ? el('p', null, 'Label: ', el('span', {class: 'badge busy'}, seen.label)) : null];
}

// A cell with an image: the image itself, from the server.
function picture(value, data) {
  const address = value.picture ? pathTo('/api/data', {picture: value.picture})
    : pathTo('/api/data', {file: data.file, run: data.run, row: value.image.row, column: value.image.column});
  return el('a', {href: address, class: 'picture'}, el('img', {src: address, alt: value.path || 'image', loading: 'lazy', width: 96, height: 96}), el('small', null, (value.path || '').split('/').pop()));
}

function cell(name, value, data) {
  if (value && (value.picture || value.image)) return picture(value, data);
  const classes = data.classes[name];
  const text = shown(value);
  if (classes && Number.isInteger(value) && classes[value] !== undefined) return `${text} (${classes[value]})`;
  if (data.evaluated && value && typeof value === 'object' && !Array.isArray(value)) return Object.entries(value).map(([k, v]) => `${k} ${number(v)}`).join(', ');
  if (data.evaluated && typeof value === 'number') return number(value);
  return text.length > LONG_CELL ? el('div', {class: 'log', tabindex: 0, role: 'region', 'aria-label': `Cell ${name}`}, text) : text;
}

function rowOf(row, data) {
  const seen = seenPart(row, data);
  return el('article', {class: `row${seen ? ' sides' : ''}`}, el('h2', null, `Row ${number(row.row)}`),
    el('div', {class: 'side'}, seen ? el('h3', null, 'In the file') : null, el('dl', {class: 'facts cells'}, Object.entries(row.cells).map(([name, value]) => el('div', null, el('dt', null, name), el('dd', null, cell(name, value, data)))))),
    seen ? el('div', {class: 'side'}, seen) : null);
}

// Of an evaluation first what its reader looks for: the row, its label, the prediction and their probabilities.
const FIRST = ['text', 'text_pair', 'image', 'reference', 'prediction', 'probability', 'reference_probability'];
function columnsOf(data) {
  if (!data.evaluated) return data.columns;
  const first = FIRST.filter((c) => data.columns.includes(c));
  return [...first, ...data.columns.filter((c) => !first.includes(c) && c !== 'id')];
}

// What the colours mean, as far as they are used.
function legend(data) {
  const tokens = data.rows.flatMap((r) => (r.seen ? [...r.seen.tokens, ...(r.seen.source || [])] : []));
  const entry = (kind, text) => el('li', null, el('span', {class: `sample ${kind}`}, 'token'), ` ${text}`);
  return el('ul', {class: 'legend tokens-legend'}, tokens.some((t) => t.special) ? entry('special', 'special token') : null,
    tokens.some((t) => typeof t.label === 'string') ? entry('learnt', 'its label counts in the loss') : null,
    tokens.some((t) => t.label === null) ? entry('masked', 'masked: no loss (-100)') : null,
    data.learns_next && tokens.length && !tokens.some((t) => t.label !== undefined) ? el('li', null, 'the label of each token is the next one') : null);
}

// What is still to choose to see tokens.
function hintOf(data) {
  if (data.model) return data.task || data.prepared ? '' : '. Choose a task to see the rows as its model does';
  const reason = data.run && data.task ? 'The model of the run is not in the folders of hone ui: choose' : 'Choose';
  return data.prepared ? `. ${reason} a model to see the texts of these ids` : data.task ? `. ${reason} a model to see the rows as it does` : '';
}

async function show() {
  const from = Number(parameter('from')) || 0;
  say('Reading …');
  const data = await get(pathTo('/api/data', choicesHere([...FIELDS, 'from'])));
  const count = data.rows.length;
  byId('task').value = data.task;
  byId('wrong-part').hidden = !data.evaluated;
  const hint = hintOf(data);
  say(count ? `${count === 1 ? `Row ${number(from + 1)}` : `Rows ${number(from + 1)} to ${number(from + count)}`} of ${data.file}${hint}` : `${data.file} has no rows from ${from + 1} on`);
  const step = Number(byId('count').value);
  const pages = () => el('nav', {class: 'buttons', 'aria-label': 'Rows'},
    from > 0 ? el('a', {href: here({from: Math.max(0, from - step)})}, '← Earlier rows') : null,
    data.more ? el('a', {href: here({from: from + step})}, 'Later rows →') : null);
  const asTable = !data.rows.some((r) => r.seen || r.left_out);
  content.replaceChildren(el('section', {class: 'panel', 'aria-label': 'Rows of the file'},
    data.notes.length ? el('details', null, el('summary', null, data.task ? `How ${data.task} reads these rows` : 'About these rows'), el('ul', {class: 'plain'}, data.notes.map((note) => el('li', null, note)))) : null,
    asTable ? filled('Rows', [['Row', 'number'], ...columnsOf(data).map((c) => [c, 'text'])], data.rows.map((r) => [r.row, ...columnsOf(data).map((c) => cell(c, r.cells[c], data))]))
      : [legend(data), data.rows.map((row) => rowOf(row, data))], pages()));
}

async function start() {
  const [lists, registered] = await Promise.all([get('/api/data'), get('/api/models').catch(() => ({models: []}))]);
  byId('files').replaceChildren(...lists.files.map((f) => el('option', {value: f})));
  byId('models').replaceChildren(...[...lists.models, ...registered.models.map((m) => m.name)].map((m) => el('option', {value: m})));
  byId('task').append(...lists.tasks.map((t) => el('option', {value: t.name}, t.name)));
  const runs = new Map(lists.sets.flatMap((set) => set.runs.map((r) => [r.id, r])));
  const chosen = parameter('run');
  if (chosen && !runs.has(chosen)) runs.set(chosen, {id: chosen});
  byId('run').append(...[...runs.values()].map((r) => el('option', {value: r.id}, `${nameOf(r, [...runs.values()])}${r.task ? ` (${r.task})` : ''}`)));
  byId('run').addEventListener('change', () => {
    const run = runs.get(byId('run').value);
    if (run && run.task) byId('task').value = run.task;
    if (run && run.model && !byId('model').value) byId('model').value = run.model;
  });
  for (const field of FIELDS) if (parameter(field)) byId(field).value = parameter(field);
  byId('wrong').checked = parameter('wrong') === '1';
  byId('wrong').value = '1';
  if (parameter('file')) return show();
  await showSets(lists, chosen);
}
start().catch((error) => say(error.message, true));
