// The requests of the playground: routes and bodies by the form, streams, and the same as a line for a shell.
import {quoted} from './parts.js';

const TOP = 5;  // alternatives of a token
export const COMPLETION_TOKENS = 64;  // OpenAI's own default is 16

// The forms that fit what a model does, the best first; `task` and `chat` come from GET /v1/models.
const FORMS = {'text2text-generation': ['rewrite'], 'text-classification': ['classify'], 'fill-mask': ['fill'], 'image-classification': ['picture'],
  'token-classification': ['label'], 'question-answering': ['ask'], 'feature-extraction': ['embed']};
export const formsOf = (model) => FORMS[model.task] || (model.chat === false ? ['complete'] : model.chat === true ? ['chat', 'complete'] : ['complete', 'chat']);
export const FORM_NAMES = {chat: 'Chat', complete: 'Complete a text', rewrite: 'Summarise, translate, rewrite', classify: 'Classify', fill: 'Fill the mask', picture: 'Classify an image', label: 'Find names', ask: 'Answer from a context', embed: 'Embed and compare texts'};
// The texts of a form that takes one a line.
export const linesOf = (text) => text.split('\n').map((line) => line.trim()).filter(Boolean);

const given = (object) => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined && value !== ''));

// [route, body]; `x`: the values of the form, `earlier`: messages of the conversation.
export function requestOf(kind, x, earlier) {
  const sampling = given({max_tokens: x.max_tokens, temperature: x.temperature, top_p: x.top_p});
  if (kind === 'chat') {
    const messages = [...(x.system ? [{role: 'system', content: x.system}] : []), ...earlier, {role: 'user', content: x.prompt}];
    return ['v1/chat/completions', {model: x.model, messages, stream: true, ...sampling, ...(x.probabilities ? {logprobs: true, top_logprobs: TOP} : {})}];
  }
  if (kind === 'complete')
    return ['v1/completions', {model: x.model, prompt: x.prompt, stream: true, max_tokens: COMPLETION_TOKENS, ...sampling, ...(x.probabilities ? {logprobs: TOP} : {})}];
  if (kind === 'embed') return ['v1/embeddings', {model: x.model, input: linesOf(x.prompt)}];
  // The settings of the model's task hold unless others are given.
  const parameters = kind === 'rewrite' ? given({max_new_tokens: x.max_tokens}) : kind === 'label' ? {} : {top_k: x.top_k};
  const instance = kind === 'picture' ? {b64: x.picture} : kind === 'ask' ? {question: x.prompt, context: x.pair} : kind === 'classify' && x.pair ? {text: x.prompt, text_pair: x.pair} : x.prompt;
  return [`v1/models/${encodeURIComponent(x.model)}:predict`, {instances: [instance], ...(Object.keys(parameters).length ? {parameters} : {})}];
}

export function curlLine(address, needsKey, route, body) {
  const key = needsKey ? ' -H "Authorization: Bearer $HONE_API_KEY"' : '';
  const plain = body.stream ? {...body, stream: undefined} : body;
  return `curl ${quoted(`${address}/${route}`)} -H 'Content-Type: application/json'${key} \\\n  -d ${quoted(JSON.stringify(plain))}`;
}

// The cosine of the angle between two embeddings.
export function cosine(a, b) {
  const dot = (x, y) => x.reduce((sum, value, i) => sum + value * y[i], 0), size = Math.sqrt(dot(a, a) * dot(b, b));
  return size > 0 ? dot(a, b) / size : 0;
}

// What a server says instead of an answer.
export async function refusal(answer) {
  const text = await answer.text();
  try {
    const {error, todo} = JSON.parse(text);
    return [error && error.message ? error.message : error || text, todo].filter(Boolean).join('\n');
  } catch {
    return text;
  }
}

// The pieces of an event stream, as they come.
export async function* events(stream) {
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

// Tokens of a choice with their probabilities, from the forms of both routes: [{token, p, top: [[token, p]]}].
export function tokensOf(choice) {
  const l = choice.logprobs;
  if (!l) return [];
  if (Array.isArray(l.content))
    return l.content.map((t) => ({token: t.token, p: Math.exp(t.logprob), top: (t.top_logprobs || []).map((o) => [o.token, Math.exp(o.logprob)])}));
  return (l.tokens || []).map((token, i) => ({token, p: l.token_logprobs && l.token_logprobs[i] !== null ? Math.exp(l.token_logprobs[i]) : undefined,
    top: Object.entries((l.top_logprobs && l.top_logprobs[i]) || {}).map(([t, logprob]) => [t, Math.exp(logprob)]).sort((a, b) => b[1] - a[1])}));
}
