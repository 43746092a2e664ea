import {badge, breakable, byId, counted, el, facts, follow, get, longFacts, number, panel, parameter, say, short, table, values} from './common.js';
import {bare, comparison, decides, endpointBadge, filled, isDeciding, linkTo, metricNames, otherNames, pathTo} from './parts.js';

const content = byId('content');
const LIST_SECONDS = 5, MOST_METRICS = 6;
const when = (time) => (time ? time.slice(0, 16).replace('T', ' ') : '');
const versionLink = (name, version) => linkTo('/models', {name, version}, version ? `${name}:${version}` : name);
const labels = (object) => Object.entries(object || {}).map(([k, v]) => (v ? `${k}=${v}` : k)).join(', ');
const deployedAt = (endpoints, name, version) => endpoints.flatMap((e) => e.deployed.filter((d) => d.name === name && d.version === version).map((d) => ({endpoint: e, traffic: d.traffic})));
const playground = (e) => linkTo('/playground', {endpoint: e.display_name}, e.display_name);

// --- all models ---------------------------------------------------------------------------------

function metricCell(version) {
  const {metric} = version;
  return metric ? `${bare(metric.name)} ${number(metric.value)}` : el('span', {class: 'muted'}, 'no evaluation');
}

async function showList() {
  const {registry, models, endpoints} = await get('/api/models');
  say(models.length ? `${counted(models.length, 'model')} in ${registry}` : '');
  const text = JSON.stringify([models, endpoints]);
  if (text === showList.shown) return true;
  showList.shown = text;
  if (!models.length) {
    content.replaceChildren(el('div', {class: 'panel empty'}, `No models in ${registry} yet.`, el('br'),
      el('code', null, 'hone models register --name NAME --model FOLDER')));
    return true;
  }
  content.replaceChildren(
    el('div', {class: 'panel'}, filled('Models', [['Model', 'name'], ['Task'], ['Champion', 'text'], ['Newest', 'text'], ['Versions', 'number'], ['Last decision', 'text'], ['Endpoint', 'text'], ['Labels', 'text'], ['Description', 'text']],
      models.map((m) => [versionLink(m.name), m.task,
        m.champion ? [versionLink(m.name, m.champion.version), el('br'), metricCell(m.champion)] : el('span', {class: 'muted'}, 'none'),
        m.newest ? [versionLink(m.name, m.newest.version), el('br'), metricCell(m.newest)] : '', m.versions,
        m.last_decision ? [badge(m.last_decision.verdict), ` version ${m.last_decision.version}`] : '',
        endpoints.filter((e) => e.deployed.some((d) => d.name === m.name)).map((e) => [playground(e), ' ']), labels(m.labels), m.description]))),
    endpoints.length ? el('div', {class: 'panel'}, endpointTable(endpoints)) : '');
  return true;
}

const endpointTable = (endpoints) => filled('Endpoints', [['Endpoint', 'name'], ['Status'], ['Address', 'text mono'], ['Deployed', 'text'], ['Changed', 'nowrap']],
  endpoints.map((e) => [playground(e), endpointBadge(e), breakable(e.address || ''),
    e.deployed.map((d) => el('div', null, versionLink(d.name, d.version), `: ${d.traffic} % of the requests`)), when(e.changed)]));

// --- one model ----------------------------------------------------------------------------------

// The best value of a metric among the versions; undefined if the direction is not known or they were evaluated on different rows.
function bestOf(versions, name, {deciding, no_best: noBest}) {
  if (noBest || !deciding || !isDeciding(name, deciding.metric)) return undefined;
  const all = versions.map((v) => (v.metrics || {})[name]).filter((v) => typeof v === 'number');
  return all.length > 1 ? Math[deciding.higher_is_better ? 'max' : 'min'](...all) : undefined;
}

const stage = (model, v) => [v.aliases.map((a) => [el('span', {class: `badge ${a === 'champion' ? 'good' : ''}`}, a), ' ']),
  deployedAt(model.endpoints, model.name, v.version).map((d) => el('div', null, playground(d.endpoint), `: ${d.traffic} %`))];

function metricsPanel(model, versions) {
  const {metric} = model.deciding || {};
  const names = metricNames(versions.map((v) => v.metrics), metric).slice(0, MOST_METRICS);
  const short = (n) => (n.startsWith('eval_') ? bare(n) : n);
  return el('div', {class: 'panel'},
    filled('Versions and their metrics, the newest first', [['Version', 'name'], ['Stage', 'text'], ...names.map((n) => [isDeciding(n, metric) ? [short(n), ' ', decides()] : short(n), 'number']), ['Created', 'nowrap'], ['Labels', 'text']],
      versions.map((v) => [versionLink(model.name, v.version), stage(model, v),
        ...names.map((n) => {
          const value = (v.metrics || {})[n];
          return value !== undefined && value === bestOf(versions, n, model) ? el('strong', {class: 'best', title: 'best value'}, number(value), el('span', {class: 'hidden'}, ' (best)')) : number(value);
        }), when(v.created), labels(v.labels)])),
    model.no_best ? el('p', {class: 'muted'}, `No best value has a mark: ${model.no_best}`) : null,
    versions.length > 1 ? compareForm(model.name, versions) : null);
}

function compareForm(name, versions, a = versions[1].version, b = versions[0].version) {
  const choice = (label, key, chosen) => el('label', null, label, el('select', {name: key}, versions.map((v) => el('option', {value: v.version, selected: v.version === chosen}, `version ${v.version}${v.aliases.includes('champion') ? ', champion' : ''}`))));
  return el('form', {class: 'form inline', action: '/models'}, el('input', {type: 'hidden', name: 'name', value: name}), choice('Compare', 'a', a), choice('with', 'b', b),
    el('button', {type: 'submit', class: 'quiet'}, 'Compare'));
}

const parentLink = (parent) => (/^[\w.-]+:\d+$/.test(parent) ? versionLink(parent.slice(0, parent.lastIndexOf(':')), Number(parent.slice(parent.lastIndexOf(':') + 1))) : breakable(parent));

// From data and parent over the run to the version and where it answers.
function lineage(model, v) {
  const run = v.lineage, params = (run && run.params) || {};
  const data = (run && run.data) || '';
  const served = deployedAt(model.endpoints, model.name, v.version);
  const stop = (title, ...what) => el('li', null, el('span', {class: 'muted'}, title), el('div', null, what));
  return el('ol', {class: 'lineage'},
    stop('Data', breakable(data) || 'unknown', el('div', {class: 'mono muted'}, short(run && run.data_hash || v.data_hash))),
    stop('Parent', v.parent_name ? parentLink(v.parent_name) : 'unknown', el('div', {class: 'mono muted'}, short(run && run.model_hash))),
    stop('Run', run ? linkTo('/runs', {id: run.id}, run.name || run.id) : v.run || 'unknown', run && run.status ? [' ', badge(run.status)] : null, params.learning_rate !== undefined ? el('div', {class: 'muted'}, `learning rate ${number(params.learning_rate)}`) : null),
    stop('Version', `${model.name}:${v.version}`, el('div', {class: 'mono muted'}, short(v.hash))),
    stop('Endpoint', served.length ? served.map((d) => el('div', null, playground(d.endpoint), `: ${d.traffic} % `, endpointBadge(d.endpoint))) : 'not deployed'));
}

function versionPanel(model, v) {
  return panel(`Version ${v.version}`, el('h3', null, 'Lineage'), lineage(model, v),
    facts([['Task', v.task], ['Created', when(v.created)], ['Labels', labels(v.labels)], ['Data', v.run ? linkTo('/data', {}, 'data sets of the runs') : '']]),
    longFacts([['Files', v.source], ['Evaluation', v.evaluation]]),
    metricNames([v.metrics]).length > MOST_METRICS ? el('details', null, el('summary', null, `All metrics of version ${v.version}`), facts(metricNames([v.metrics], model.deciding && model.deciding.metric).map((n) => [n, number(v.metrics[n])]))) : null,
    otherNames(v.metrics).length ? el('details', null, el('summary', null, `Times and counts of version ${v.version}`), facts(otherNames(v.metrics).map((n) => [n, number(v.metrics[n])]))) : null,
    v.lineage ? el('details', null, el('summary', null, `Settings of the run of version ${v.version}`), el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `Settings of version ${v.version}`}, values(v.lineage.params || {}))) : null);
}

// What a version was compared with. One that has the alias already is not compared; the reason says so.
function comparedWith(d) {
  if (!d.against) return ', no champion yet';
  return d.against === d.version ? '' : ` against version ${d.against}`;
}

function decisionPanel(d) {
  const both = comparison(d);
  return el('article', {class: 'row'},
    el('h3', null, badge(d.verdict), ` version ${d.version}${comparedWith(d)}`),
    el('p', null, d.reason), both ? facts(both, 'whole-lines') : null, el('p', {class: 'muted'}, when(d.time)),
    Object.keys(d.evidence || {}).length ? el('details', null, el('summary', null, `Evidence of decision ${d.id}`), el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `Evidence of decision ${d.id}`}, values(d.evidence))) : null);
}

async function showOne(name, wanted) {
  const model = await get(`/api/models/${encodeURIComponent(name)}`);
  document.title = `${model.name} · hone`;
  document.querySelector('h1').textContent = model.name;
  say(model.description || counted(model.versions.length, 'version'));
  const newest = [...model.versions].sort((a, b) => b.version - a.version);
  const chosen = newest.find((v) => v.version === wanted) || newest.find((v) => v.aliases.includes('champion')) || newest[0];
  content.replaceChildren(el('p', null, linkTo('/models', {}, '← All models')),
    metricsPanel(model, newest), chosen ? versionPanel(model, chosen) : '',
    model.decisions.length ? panel('Decisions', model.decisions.map(decisionPanel)) : '',
    model.endpoints.length ? el('div', {class: 'panel'}, endpointTable(model.endpoints)) : '',
    model.alias_changes.length ? el('div', {class: 'panel'}, table('How aliases changed',
      [['Alias'], ['Version', 'number'], ['Change'], ['Reason', 'text'], ['Time', 'nowrap']],
      [...model.alias_changes].reverse().map((c) => [c.alias, c.version, c.change, c.reason, when(c.time)]))) : '');
}

// --- two versions -------------------------------------------------------------------------------

function differenceCell(name, {metrics, same_rows: sameRows, deciding}) {
  const difference = metrics[name][2];
  if (typeof difference !== 'number' || !sameRows.includes(name)) return '';
  const sign = difference > 0 ? '+' : '';
  if (!deciding || !isDeciding(name, deciding.metric) || difference === 0) return `${sign}${number(difference)}`;
  const better = difference > 0 === deciding.higher_is_better;
  return [`${sign}${number(difference)} `, el('span', {class: `badge ${better ? 'good' : 'bad'}`}, better ? 'better' : 'worse')];
}

// Runs that read the same files may have taken different numbers of their rows.
function sameData({metrics, settings}, a, b) {
  const [x, y] = metrics.train_samples || [];
  if (x !== y && typeof x === 'number' && typeof y === 'number') return `Both versions were trained on the same files: version ${a} on ${counted(x, 'row')}, version ${b} on ${number(y)}`;
  return `Both versions were trained on the same files${settings.max_train_samples ? ', and on different numbers of their rows' : ''}`;
}

async function showCompared(name, a, b) {
  const [model, d] = await Promise.all([get(`/api/models/${encodeURIComponent(name)}`), get(pathTo(`/api/models/${encodeURIComponent(name)}/compare`, {a, b}))]);
  document.title = `${name}: ${a} and ${b} · hone`;
  document.querySelector('h1').textContent = `${name}: version ${a} and version ${b}`;
  say(d.same_files ? 'Both versions have the same files' : d.same_data ? sameData(d, a, b) : 'The versions differ in files and data');
  const newest = [...model.versions].sort((x, y) => y.version - x.version);
  const names = metricNames([d.metrics, ...[d.a, d.b].map((v) => v.metrics)], d.deciding && d.deciding.metric).filter((n) => d.metrics[n]);
  const settings = Object.entries(d.settings);
  const versions = [`Version ${a}`, `Version ${b}`];
  content.replaceChildren(el('p', null, linkTo('/models', {name}, `← ${name}`)),
    el('div', {class: 'panel'}, filled('Metrics', [['Metric', 'name'], ...versions.map((v) => [v, 'number']), ['Difference', 'text']],
      names.map((n) => [[n, ' ', d.deciding && isDeciding(n, d.deciding.metric) ? decides() : null], ...d.metrics[n].slice(0, 2).map(number), differenceCell(n, d)])),
      d.rows_note ? el('p', {class: 'muted'}, d.rows_note[0].toUpperCase() + d.rows_note.slice(1)) : null,
      compareForm(name, newest, Number(a), Number(b))),
    d.decision ? panel('Decision', decisionPanel(d.decision)) : '',
    el('div', {class: 'panel'}, settings.length ? filled('Settings that differ', [['Setting', 'name'], ...versions.map((v) => [v, 'text'])],
      settings.map(([key, [x, y]]) => [key, values(x), values(y)])) : el('p', null, 'The runs have the same settings.')),
    el('div', {class: 'panel'}, filled('Origin', [['Fact', 'name'], ...versions.map((v) => [v, 'text'])],
      [['Parent', (v) => (v.parent_name ? parentLink(v.parent_name) : '')], ['Data', (v) => short(v.data_hash)], ['Files', (v) => breakable(v.source)], ['Hash', (v) => short(v.hash)], ['Created', (v) => when(v.created)],
        ['Run', (v) => (v.run ? linkTo('/runs', {id: v.run}, v.run) : '')]].map(([title, of]) => [title, of(d.a), of(d.b)]))));
}

const name = parameter('name'), a = parameter('a'), b = parameter('b');
const once = (shown) => shown.catch((error) => say(error.message, true));
if (name && a && b) once(showCompared(name, a, b));
else if (name) once(showOne(name, Number(parameter('version'))));
else follow(showList, LIST_SECONDS);
