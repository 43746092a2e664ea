import {byId, duration, el, get, parameter, say, values} from './common.js';

let stopping = null;
const answer = byId('answer'), timing = byId('timing');

async function start() {
  const about = await get('/api/about');
  byId('endpoint').textContent = `Requests go to ${about.endpoint_url} (--endpoint_url).`;
  try {
    const {data} = await get('/api/endpoint/v1/models');
    byId('model').replaceChildren(...data.map((m) => el('option', {value: m.id}, m.id)));
    const wanted = parameter('model');
    if (data.some((m) => m.id === wanted)) byId('model').value = wanted;
    say(`${data.length} model${data.length === 1 ? ' is' : 's are'} served`);
  } catch (error) {
    say(error.message, true);
  }
}

function body(kind, text) {
  const sampling = {max_tokens: Number(byId('max_tokens').value), temperature: Number(byId('temperature').value), top_p: Number(byId('top_p').value)};
  const model = byId('model').value;
  if (kind === 'chat') return ['v1/chat/completions', {model, stream: true, ...sampling, messages: [{role: 'user', content: text}]}];
  if (kind === 'completion') return ['v1/completions', {model, stream: true, ...sampling, prompt: text}];
  return [`v1/models/${encodeURIComponent(model)}:predict`, {instances: [text]}];
}

// The pieces of an event stream, as they come.
async function* events(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    rest += value;
    const lines = rest.split('\n');
    rest = lines.pop();
    for (const line of lines) {
      const data = line.startsWith('data:') ? line.slice(5).trim() : '';
      if (data && data !== '[DONE]') yield JSON.parse(data);
    }
  }
}

async function send() {
  const kind = byId('kind').value;
  const [route, request] = body(kind, byId('prompt').value);
  stopping = new AbortController();
  byId('send').disabled = true, byId('stop').disabled = false;
  answer.replaceChildren(), timing.textContent = '';
  say('Waiting for the endpoint …');
  const begun = performance.now();
  let first = 0, pieces = 0;
  try {
    const got = await fetch(`/api/endpoint/${route}`, {method: 'POST', signal: stopping.signal, body: JSON.stringify(request),
      headers: {'content-type': 'application/json'}});
    if (!got.ok) {
      const text = await got.text();
      let message = text;
      try {
        const {error} = JSON.parse(text);
        message = error && error.message ? error.message : error || text;
      } catch { /* not JSON: shown as it is */ }
      throw new Error(`The endpoint answers ${got.status}: ${message}`);
    }
    if ((got.headers.get('content-type') || '').startsWith('text/event-stream')) {
      answer.setAttribute('aria-busy', 'true');  // read out once, when it is whole
      const text = document.createTextNode('');
      answer.append(text);
      for await (const event of events(got.body)) {
        if (event.error) throw new Error(event.error.message || String(event.error));
        const choice = (event.choices || [])[0] || {};
        const piece = choice.text ?? (choice.delta && choice.delta.content) ?? '';
        if (piece && !first) first = performance.now();
        if (piece) ++pieces, text.appendData(piece);
      }
    } else {
      const {predictions} = await got.json();
      for (const p of predictions || []) answer.append(typeof p === 'object' ? values(p) : el('p', null, String(p)));
    }
    const seconds = (performance.now() - begun) / 1000;
    timing.textContent = first ? `first text after ${Math.round(first - begun)} ms, ${pieces} pieces in ${duration(seconds)}` : duration(seconds);
    say('Done');
  } catch (error) {
    say(error.name === 'AbortError' ? 'Stopped' : error.message, error.name !== 'AbortError');
  } finally {
    answer.removeAttribute('aria-busy');
    byId('send').disabled = false, byId('stop').disabled = true;
  }
}

byId('kind').addEventListener('change', () => { byId('sampling').hidden = byId('kind').value === 'predict'; });
byId('form').addEventListener('submit', (event) => { event.preventDefault(); send(); });
byId('prompt').addEventListener('keydown', (event) => { if (event.key === 'Enter' && event.ctrlKey && !byId('send').disabled) byId('form').requestSubmit(); });
byId('stop').addEventListener('click', () => { stopping?.abort(); byId('prompt').focus(); });
start().catch((error) => say(error.message, true));
