// The metric that decides about a run, in node: node run_facts.mjs FOLDER-OF-PAGES
import assert from 'node:assert/strict';
import {pathToFileURL} from 'node:url';

globalThis.document = {getElementById: () => null, querySelectorAll: () => []};
const page = (name) => import(pathToFileURL(`${process.argv[2]}/${name}.js`).href);
const {decided, deciding, lowerIsBetter, metricText, noBest, noBestTexts, withBest} = await page('run_facts');
const {moreAdvice} = await page('parts'), {bytes, counted, nameOf} = await page('common'), {byteTicks, distinct} = await page('curves');

// The server chooses it. The best value is that of the same metric.
const metric = {name: 'eval_loss_per_token', value: 2.5};
assert.deepEqual(decided({metric, metrics: {eval_loss: 2}}), metric);
assert.deepEqual(decided({metric, best: {name: 'eval_loss', value: 1, step: 3}}), metric);
assert.deepEqual(decided({metric, best: {...metric, value: 1, step: 3}}), {name: metric.name, value: 1, step: 3});
assert.deepEqual(decided({metric: null, metrics: {loss: 2}}), {name: '', value: undefined});

// The first chart.
assert.equal(deciding({metric, best_metric: {name: 'eval_loss'}}, ['loss', metric.name, 'eval_loss']), 'eval_loss');
assert.equal(deciding({metric}, ['loss', 'eval_loss', metric.name]), metric.name);
assert.equal(deciding({metric: null}, ['grad_norm', 'loss']), 'loss');
assert.equal(deciding({metric: null}, ['grad_norm']), '');

// The direction is the server's; values that look the same have no best one.
const runs = [{lower_is_better: ['memory_measured_bytes']}, {}];
assert.deepEqual([lowerIsBetter('memory_measured_bytes', runs), lowerIsBetter('eval_rouge1', runs)], [true, false]);
assert.deepEqual(withBest('memory_measured_bytes', [600 << 20, 500 << 20], true), [['600 MiB', '500 MiB'], 1]);
assert.deepEqual(withBest('memory_measured_bytes', [577650688, 577646592], true), [['551 MiB', '551 MiB'], -1]);
assert.deepEqual(withBest('eval_rouge1', [1, undefined, 3], false), [['1', '', '3'], 2]);
assert.deepEqual(withBest('eval_rouge1', [1, undefined], false), [['1', ''], -1]);
assert.deepEqual(withBest('learning_rate', [1, 3], null), [['1', '3'], -1]);
assert.equal(metricText('eval_loss', 2.5), '2.5');

// Values of other rows have no best one; those of training have.
const files = ['a', 'b'].map((name) => ({evaluated: {samples: 8, files: [name]}})), counts = [8, 9].map((samples) => ({evaluated: {samples, files: ['a']}}));
assert.equal(noBest('eval_rouge1', [files[0], {...files[0]}]), '');
assert.equal(noBest('eval_rouge1', files), 'hone cannot tell whether the runs were evaluated on the same rows');
assert.equal(noBest('eval_rouge1', counts), 'the runs were evaluated on different rows');
for (const name of ['train_loss', 'loss', 'memory_measured_bytes']) assert.equal(noBest(name, counts), '');

// A table with marks says which metrics have none.
assert.deepEqual(noBestTexts([['Accuracy', 'a'], ['Loss', 'a']], true), ['No best value has a mark: a']);
assert.deepEqual(noBestTexts([['Accuracy', 'a']], false), ['Accuracy: no best value has a mark: a']);
assert.deepEqual(noBestTexts([['Accuracy', 'a'], ['Loss', 'b'], ['F1', 'a']], true), ['Accuracy, F1: no best value has a mark: a', 'Loss: no best value has a mark: b']);

// The advice of a step is not that of its command again.
assert.equal(moreAdvice('name a column', 'name a column; then type the same command again'), 'Type the same command again');
assert.equal(moreAdvice('name a column', 'name a column'), '');
assert.equal(moreAdvice('', 'try again'), 'try again');

// An id tells runs of one name apart.
const named = [{id: 'r1', name: 'proj'}, {id: 'r2', name: 'proj'}, {id: 'r3', name: 'other'}, {id: 'r4'}];
assert.deepEqual(named.map((run) => nameOf(run, named)), ['proj (r1)', 'proj (r2)', 'other', 'r4']);
assert.equal(nameOf(named[0], [named[0], named[0]]), 'proj');

// Ticks of memory that differ little are still in its unit.
assert.deepEqual(distinct([592.6, 592.7, 592.8].map((m) => m * 2 ** 20), bytes), ['592.6 MiB', '592.7 MiB', '592.8 MiB']);
assert.ok(distinct(byteTicks(621386140, 621595850, 5), bytes).every((text) => /^[\d.]+ MiB$/.test(text)));
assert.deepEqual([0, 1, 1200].map((n) => counted(n, 'data set')), ['0 data sets', '1 data set', '1,200 data sets']);
console.log('facts of runs are right');
