// The forms of the playground, in node: node requests.mjs FOLDER-OF-PAGES served_model.cc
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {pathToFileURL} from 'node:url';

globalThis.document = {getElementById: () => null, querySelectorAll: () => []};
globalThis.location = {pathname: '/playground', search: ''};
const {FORM_NAMES, cosine, curlLine, formsOf, requestOf} = await import(pathToFileURL(`${process.argv[2]}/requests.js`).href);

// Each task that hone serve serves has a form of its own: only models that write texts complete one.
const tasks = [...readFileSync(process.argv[3], 'utf8').matchAll(/case ServedTask::\w+:\s+return "([\w-]+)";/g)].map(([, name]) => name);
assert.ok(tasks.includes('feature-extraction') && tasks.length > 5, `the tasks are ${tasks}`);
for (const task of tasks) {
  const forms = formsOf({task});
  assert.equal(forms.includes('complete'), task === 'text-generation', `${task} has the forms ${forms}`);
  assert.ok(forms.every((form) => FORM_NAMES[form]));
}

// Texts, one a line, become vectors, in the page and in a shell.
const [route, body] = requestOf('embed', {model: 'emb', prompt: 'a cat\n\n a dog \n'}, []);
assert.deepEqual([route, body], ['v1/embeddings', {model: 'emb', input: ['a cat', 'a dog']}]);
assert.ok(curlLine('http://127.0.0.1:1', false, route, body).includes('/v1/embeddings'));
assert.equal(cosine([1, 0], [1, 0]), 1);
assert.equal(cosine([1, 0], [0, 2]), 0);
assert.equal(cosine([0, 0], [0, 2]), 0);
console.log('requests are right');
