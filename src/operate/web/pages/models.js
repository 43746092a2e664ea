import {badge, byId, el, facts, follow, get, number, panel, parameter, say, short, table, values} from './common.js';

const content = byId('content');
const LIST_SECONDS = 5;
const when = (time) => (time ? time.slice(0, 16).replace('T', ' ') : '');
const link = (name, version) =>
  el('a', {href: `/models?name=${encodeURIComponent(name)}${version ? `#version-${version}` : ''}`}, version ? `${name}:${version}` : name);
const labels = (object) => Object.entries(object || {}).map(([k, v]) => (v ? `${k}=${v}` : k)).join(', ');

async function showList() {
  const {registry, models, endpoints} = await get('/api/models');
  say(models.length ? `${models.length} model${models.length > 1 ? 's' : ''} in ${registry}` : '');
  const text = JSON.stringify([models, endpoints]);
  if (text === showList.shown) return true;
  showList.shown = text;
  if (!models.length) {
    content.replaceChildren(el('div', {class: 'panel empty'}, `No models in ${registry} yet.`, el('br'),
      el('code', null, 'hone models register --name NAME --model FOLDER')));
    return true;
  }
  content.replaceChildren(
    el('div', {class: 'panel'}, table('Models', [['Model'], ['Versions', 'number'], ['Aliases'], ['Last decision'], ['Labels'], ['Description', 'text'], ['Created', 'nowrap']],
      models.map((m) => [link(m.name), m.versions,
        Object.entries(m.aliases || {}).map(([a, v]) => el('span', {class: 'badge'}, `${a} is ${v}`)),
        m.last_decision ? [badge(m.last_decision.verdict), ` version ${m.last_decision.version}`] : '', labels(m.labels), m.description, when(m.created)]))),
    endpoints.length ? el('div', {class: 'panel'}, endpointTable(endpoints)) : '');
  return true;
}

const endpointTable = (endpoints) => table('Endpoints', [['Endpoint'], ['Id', 'mono'], ['Address', 'mono'], ['Deployed'], ['Changed', 'nowrap']],
  endpoints.map((e) => [e.display_name, e.id, e.address || 'not served now',
    e.deployed.map((d) => el('div', null, link(d.name, d.version), ` gets ${d.traffic} % of the requests`)), when(e.changed)]));

// What a version was made from and where it went, in that order.
function lineage(model, version) {
  const run = version.lineage;
  const steps = [
    ['Data', short(run && run.data_hash || version.data_hash)],
    ['Began from', version.parent || short(run && run.model_hash)],
    ['Run', run ? el('a', {href: `/runs?id=${encodeURIComponent(run.id)}`}, run.name || run.id) : version.run],
    ['Version', `${model.name}:${version.version}`],
    ['Files', version.source],
    ['Hash', short(version.hash)],
    ['Served at', model.endpoints.filter((e) => e.deployed.some((d) => d.name === model.name && d.version === version.version)).map((e) => e.display_name).join(', ')]];
  return facts(steps);
}

const decisionPanel = (d) => el('article', {class: 'row'},
  el('h3', null, badge(d.verdict), ` version ${d.version}${d.against ? ` against version ${d.against}` : ', nothing was deployed'}`),
  el('p', null, d.reason), el('p', {class: 'muted'}, when(d.time)),
  Object.keys(d.evidence || {}).length ? el('details', null, el('summary', null, `Evidence of decision ${d.id}`), values(d.evidence)) : null);

function compared(versions) {
  const keys = [...new Set(versions.flatMap((v) => Object.keys(v.metrics || {})))];
  if (!keys.length) return null;
  return panel('Metrics of the versions', table('One column a version', [['Metric'], ...versions.map((v) => [String(v.version), 'number'])],
    keys.map((key) => [key, ...versions.map((v) => number((v.metrics || {})[key]))]), 'narrow'));
}

async function showOne(name) {
  const model = await get(`/api/models/${encodeURIComponent(name)}`);
  document.title = `${model.name} · hone`;
  document.querySelector('h1').textContent = model.name;
  say(model.description || `${model.versions.length} version${model.versions.length > 1 ? 's' : ''}`);
  const newest = [...model.versions].sort((a, b) => b.version - a.version);
  content.replaceChildren(el('p', null, el('a', {href: '/models'}, '← All models')),
    panel('Versions', newest.map((v) => el('article', {class: 'row', id: `version-${v.version}`},
      el('h3', null, `Version ${v.version} `, v.aliases.map((a) => el('span', {class: `badge ${a === 'champion' ? 'good' : ''}`}, a))),
      facts([['Task', v.task], ['Created', when(v.created)], ['Labels', labels(v.labels)]]),
      el('h4', null, 'Lineage'), lineage(model, v),
      v.lineage ? el('details', null, el('summary', null, `Settings of the run of version ${v.version}`), values(v.lineage.params || {})) : null))),
    model.decisions.length ? panel('Decisions', model.decisions.map(decisionPanel)) : '',
    compared(newest) || '',
    model.endpoints.length ? el('div', {class: 'panel'}, endpointTable(model.endpoints)) : '',
    model.alias_changes.length ? el('div', {class: 'panel'}, table('How aliases changed',
      [['Alias'], ['Version', 'number'], ['Change'], ['Reason', 'text'], ['Time', 'nowrap']],
      [...model.alias_changes].reverse().map((c) => [c.alias, c.version, c.change, c.reason, when(c.time)]))) : '');
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

const name = parameter('name');
if (name) showOne(name).catch((error) => say(error.message, true));
else follow(showList, LIST_SECONDS);
