import {breakable, byId, counted, duration, el, get, number, parameter, say, table, values} from './common.js';
import {endpointBadge, keep, linkTo, shellLine} from './parts.js';
import {COMPLETION_TOKENS, FORM_NAMES, cosine, curlLine, events, formsOf, refusal, requestOf, tokensOf} from './requests.js';

const answer = byId('answer'), timing = byId('timing'), messages = byId('messages');
const NUMBERS = ['max_tokens', 'temperature', 'top_p', 'top_k'];
const PARTS = {system: ['chat'], pair: ['classify', 'ask'], max_tokens: ['chat', 'complete', 'rewrite'], temperature: ['chat', 'complete'], top_p: ['chat', 'complete'],
  top_k: ['classify', 'fill', 'picture', 'ask'], picture: ['picture'], prompt: ['chat', 'complete', 'rewrite', 'classify', 'fill', 'label', 'ask', 'embed'], probabilities: ['chat', 'complete']};
const PROMPTS = {chat: 'Your message', complete: 'Text to continue', rewrite: 'Text', classify: 'Text', fill: 'Text with the mask token of the model, such as [MASK] or <mask>', ask: 'Question', embed: 'Texts, one a line; each is compared with the first'};
const FLAG = '--endpoint_url';  // no endpoint of the registry has such a name
const state = {picture: '', endpoints: [], models: [], earlier: [], stopping: null, needsKey: false, note: ''};

const kind = () => byId('kind').value;
const endpoint = () => state.endpoints.find((e) => e.key === byId('endpoint').value);
// Requests go through hone ui, which knows the key.
const base = (e) => (e.key === FLAG ? '/api/endpoint' : `/api/endpoints/${encodeURIComponent(e.key)}`);

function form() {
  const numberOf = (id) => (byId(id).value === '' ? undefined : Number(byId(id).value));
  return {model: byId('model').value, system: byId('system').value.trim(), prompt: byId('prompt').value, pair: byId('pair-part').hidden ? '' : byId('pair').value.trim(), picture: state.picture,
    probabilities: byId('probabilities').checked, ...Object.fromEntries(NUMBERS.map((id) => [id, numberOf(id)]))};
}

function showCurl() {
  const at = endpoint();
  if (!at || !byId('model').value) return byId('curl').replaceChildren();
  const x = form();
  const [route, body] = requestOf(kind(), {...x, prompt: x.prompt || '…', picture: '…'}, state.earlier);
  byId('curl').replaceChildren(shellLine('The request as a curl line', curlLine(at.address, state.needsKey, route, body)));
}

// Parts of the form that the kind of request has.
function fit() {
  const chat = kind() === 'chat';
  const {example, text_pair: second} = state.models.find((m) => m.id === byId('model').value) || {};
  for (const [part, kinds] of Object.entries(PARTS)) byId(`${part}-part`).hidden = !kinds.includes(kind());
  if (kind() === 'classify' && second === 'none') byId('pair-part').hidden = true;
  byId('max_tokens').placeholder = kind() === 'complete' ? COMPLETION_TOKENS : "the model's";
  byId('prompt').required = kind() !== 'picture', byId('file').required = kind() === 'picture';
  byId('prompt-label').textContent = PROMPTS[kind()] || 'Text';
  byId('pair-label').textContent = kind() === 'ask' ? 'Context' : second === 'required' ? 'Second text' : 'Second text, for classifiers of pairs';
  byId('pair').required = kind() === 'ask' || (kind() === 'classify' && second === 'required');
  byId('prompt').placeholder = ['fill', 'embed'].includes(kind()) && typeof example === 'string' ? example : '';
  byId('talk').hidden = !chat || !messages.children.length;
  byId('answer-part').hidden = chat;
  byId('again').hidden = !chat;
  showCurl();
}

// The address keeps what was chosen.
function remember() {
  keep({endpoint: byId('endpoint').value, model: byId('model').value, kind: kind(), probabilities: byId('probabilities').checked ? 1 : '',
    ...Object.fromEntries(NUMBERS.map((id) => [id, byId(id).value === byId(id).defaultValue ? '' : byId(id).value]))});
}

function chooseModel() {
  const model = state.models.find((m) => m.id === byId('model').value) || {};
  const kinds = formsOf(model), wanted = kind() || parameter('kind');
  byId('kind').replaceChildren(...kinds.map((k) => el('option', {value: k}, FORM_NAMES[k])));
  byId('kind').value = kinds.includes(wanted) ? wanted : kinds[0];
  begin();
}

async function chooseEndpoint() {
  const at = endpoint();
  state.models = [];
  byId('model').replaceChildren();
  byId('where').replaceChildren(...(at ? [at.key === FLAG ? '' : [endpointBadge(at), ' '], 'Requests go to ', breakable(at.address) || 'no server', `${at.key === FLAG ? ` (${FLAG})` : ''}. `,
    at.deployed.map((d) => [linkTo('/models', {name: d.name, version: d.version}, `${d.name}:${d.version}`), d.traffic < 100 ? ` (${d.traffic} %) ` : ' '])].flat(9) : []));
  try {
    if (!at) throw new Error('No endpoint is registered. Start one: hone deploy NAME');
    if (!at.address) throw new Error(`The endpoint ${at.key} has no server. Start one: hone deploy ${at.deployed[0]?.name || at.key}`);
    const {data} = await get(`${base(at)}/v1/models`);
    state.models = data;
    byId('model').replaceChildren(...data.map((m) => el('option', {value: m.id}, m.id)));
    if (data.some((m) => m.id === parameter('model'))) byId('model').value = parameter('model');
    say(`The endpoint ${at.display_name} serves ${counted(data.length, 'model')}`);
  } catch (error) {
    say(error.message, true);
  }
  chooseModel();
}

// --- answers ------------------------------------------------------------------------------------

const percent = (p) => (p === undefined ? '' : p >= 0.9995 ? '100 %' : `${(p * 100).toPrecision(p < 0.1 ? 2 : 3)} %`);
const blank = (token) => token.replaceAll('\n', '⏎').replace(/^ | $/g, '·') || '∅';
const shade = (p) => `p${Math.min(4, Math.floor((p ?? 1) * 5))}`;

function probabilities(tokens) {
  return el('details', {class: 'probabilities', open: true}, el('summary', null, `Probabilities of ${tokens.length} tokens`),
    el('p', {class: 'shades'}, tokens.map((t) => el('span', {class: `shade ${shade(t.p)}`, title: percent(t.p)}, t.token))),
    el('div', {class: 'log'}, table('Tokens with the most probable alternatives', [['Token', 'name mono'], ['Probability', 'number'], ['Alternatives', 'text']],
      tokens.map((t) => [blank(t.token), percent(t.p), t.top.filter(([o]) => o !== t.token).map(([o, p]) => [el('code', null, blank(o)), ` ${percent(p)}  `])]))));
}

// What a score is of: [column, name].
function scored(s) {
  if (s.answer !== undefined) return ['Answer', s.answer || 'no answer'];
  if (s.entity_group !== undefined) return ['Name', `${s.word} (${s.entity_group})`];
  return s.label !== undefined ? ['Label', s.label] : ['Word', s.token_str ?? s.token];
}
function scores(list) {
  return table('Scores', [[scored(list[0])[0], 'name'], ['Score', 'number'], ['Share', 'text']],
    list.map((s) => [scored(s)[1], percent(s.score), el('meter', {min: 0, max: 1, value: s.score, 'aria-label': `score of ${scored(s)[1]}`})]), 'scores');
}
function prediction(p) {
  if (typeof p === 'string') return el('p', null, p);
  const list = Array.isArray(p) ? p : [p];
  if (!list.length) return el('p', null, 'No names');
  if (list.every((s) => s && typeof s.score === 'number')) return scores(list);
  if (list.every(Array.isArray)) return list.map(prediction);
  return values(p);
}

// Embeddings of texts: how near each is to the first, and how the vector begins.
const BEGINNING = 4;
function embeddings(texts, vectors) {
  return table(`${counted(vectors.length, 'embedding')} of ${counted(vectors[0].length, 'number')}`,
    [['Text', 'text'], ...(vectors.length > 1 ? [['Similarity to the first (cosine)', 'number']] : []), ['The vector begins with', 'text mono']],
    vectors.map((v, i) => [texts[i], ...(vectors.length > 1 ? [number(cosine(vectors[0], v))] : []), v.slice(0, BEGINNING).map(number).join(', ')]), 'scores');
}
// The content of an answer that comes at once: predictions, or embeddings of the texts that were sent.
const shownAnswer = (got, request) => (got.data ? [embeddings(request.input, got.data.map((d) => d.embedding))] : (got.predictions || []).map(prediction).flat(9));

function message(role, text) {
  const body = el('div', {class: 'text'}, text);
  messages.append(el('li', {class: role}, el('span', {class: 'who'}, role === 'user' ? 'You' : role === 'system' ? 'System' : 'Model'), body));
  byId('talk').hidden = false;
  return body;
}

async function ask(route, request, signal) {
  const got = await fetch(`${base(endpoint())}/${route}`, {method: 'POST', signal, body: JSON.stringify(request), headers: {'content-type': 'application/json'}});
  if (got.ok) return got;
  const said = await refusal(got);
  // A server that does not know of probabilities answers without them.
  if (request.logprobs === undefined || !/logprobs/.test(said)) throw new Error(`The endpoint answers ${got.status}: ${said}`);
  state.note = '; this server gives no probabilities of tokens';
  const {logprobs, top_logprobs, ...rest} = request;
  return ask(route, rest, signal);
}

async function stream(got, to) {
  to.setAttribute('aria-busy', 'true');  // read out once, when it is whole
  const text = document.createTextNode(''), tokens = [];
  to.replaceChildren(text);
  let pieces = 0, first = 0;
  try {
    for await (const event of events(got.body)) {
      if (event.error) throw new Error(event.error.message || String(event.error));
      const choice = (event.choices || [])[0] || {};
      const piece = choice.text ?? (choice.delta && choice.delta.content) ?? '';
      tokens.push(...tokensOf(choice));
      if (piece && !first) first = performance.now();
      if (piece) ++pieces, text.appendData(piece);
    }
  } finally {
    to.removeAttribute('aria-busy');
    if (tokens.length) to.append(probabilities(tokens));
  }
  return {text: text.data, pieces, first};
}

// Reads the chosen file as base64, and shows it small.
async function takePicture() {
  const file = byId('file').files[0], canvas = byId('preview');
  state.picture = '', canvas.hidden = true;
  if (!file) return;
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = '';
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  state.picture = btoa(text);
  try {
    const image = await createImageBitmap(file), share = Math.min(1, 224 / Math.max(image.width, image.height));
    canvas.width = Math.max(1, image.width * share), canvas.height = Math.max(1, image.height * share);
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.hidden = false;
  } catch {
    say(`${file.name} is not an image that this browser shows; the endpoint may read it`);
  }
}

async function send() {
  const x = form(), chat = kind() === 'chat';
  const [route, request] = requestOf(kind(), x, state.earlier);
  state.stopping = new AbortController();
  byId('send').disabled = true, byId('stop').disabled = false;
  timing.textContent = '', state.note = '';
  if (chat) message('user', x.prompt), byId('prompt').value = '';
  else answer.replaceChildren();
  say('Waiting for the endpoint …');
  const begun = performance.now();
  try {
    const got = await ask(route, request, state.stopping.signal);
    let done = {pieces: 0, first: 0};
    if ((got.headers.get('content-type') || '').startsWith('text/event-stream')) {
      done = await stream(got, chat ? message('assistant', '') : answer);
      if (chat) state.earlier.push({role: 'user', content: x.prompt}, {role: 'assistant', content: done.text});
    } else {
      answer.replaceChildren(...shownAnswer(await got.json(), request));
    }
    const seconds = (performance.now() - begun) / 1000;
    timing.textContent = done.first ? `first text after ${Math.round(done.first - begun)} ms, ${done.pieces} pieces in ${duration(seconds)}` : duration(seconds);
    timing.append(state.note);
    say('Done');
  } catch (error) {
    if (chat) byId('prompt').value = x.prompt;
    say(error.name === 'AbortError' ? 'Stopped' : error.message, error.name !== 'AbortError');
  } finally {
    byId('send').disabled = false, byId('stop').disabled = true;
    fit();
    if (chat) byId('prompt').focus();
  }
}

function begin() {
  state.earlier = [];
  messages.replaceChildren();
  answer.replaceChildren();
  timing.textContent = '';
  fit();
}

async function start() {
  const lists = await get('/api/endpoints').catch(async () => ({...await get('/api/about'), endpoints: []}));
  state.needsKey = Boolean(lists.needs_key);
  state.endpoints = lists.endpoints.map((e) => ({...e, key: e.display_name}));
  // The server of --endpoint_url comes first unless an endpoint has its address.
  if (!state.endpoints.some((e) => e.address === lists.endpoint_url))
    state.endpoints.unshift({key: FLAG, display_name: lists.endpoint_url, address: lists.endpoint_url, deployed: []});
  byId('endpoint').replaceChildren(...state.endpoints.map((e) => el('option', {value: e.key}, !e.address ? `${e.display_name} (not served)` : e.display_name)));
  const wanted = parameter('endpoint') || (state.endpoints.find((e) => e.key !== FLAG && e.address) || state.endpoints[0]).key;
  byId('endpoint').value = state.endpoints.some((e) => e.key === wanted) ? wanted : state.endpoints[0].key;
  for (const id of NUMBERS) if (parameter(id)) byId(id).value = parameter(id);
  byId('probabilities').checked = Boolean(parameter('probabilities'));
  byId('prompt').value = parameter('prompt');
  await chooseEndpoint();
}

byId('endpoint').addEventListener('change', () => chooseEndpoint().then(remember));
byId('model').addEventListener('change', () => { chooseModel(); remember(); });
byId('kind').addEventListener('change', () => { begin(); remember(); });
byId('form').addEventListener('input', fit);
byId('form').addEventListener('change', remember);
byId('form').addEventListener('submit', (event) => { event.preventDefault(); send(); });
byId('prompt').addEventListener('keydown', (event) => { if (event.key === 'Enter' && event.ctrlKey && !byId('send').disabled) byId('form').requestSubmit(); });
byId('file').addEventListener('change', () => takePicture().catch((error) => say(error.message, true)));
byId('stop').addEventListener('click', () => { state.stopping?.abort(); byId('prompt').focus(); });
byId('again').addEventListener('click', () => { begin(); byId('prompt').focus(); });
start().catch((error) => say(error.message, true));
