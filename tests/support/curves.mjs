// The numbers of curves, in node: node curves.mjs FOLDER-OF-PAGES
import assert from 'node:assert/strict';
import {pathToFileURL} from 'node:url';

const {byteTicks, compact, distinct, extent, logTicks, nearest, rates, smoothed, thinned, ticks, timeTicks, withRoom} =
  await import(pathToFileURL(`${process.argv[2]}/curves.js`).href);

assert.deepEqual(ticks(0, 1, 5), [0, 0.2, 0.4, 0.6, 0.8, 1]);
assert.deepEqual(ticks(0.1, 0.35, 5), [0.1, 0.15, 0.2, 0.25, 0.3, 0.35]);
assert.deepEqual(ticks(-5, 5, 2), [-5, 0, 5]);
assert.deepEqual(byteTicks(0, 4 * 2 ** 30, 4), [0, 1, 2, 3, 4].map((g) => g * 2 ** 30));
assert.deepEqual(timeTicks(0, 600, 5), [0, 120, 240, 360, 480, 600]);
assert.deepEqual(timeTicks(0, 0.5, 5), [0, 0.1, 0.2, 0.3, 0.4, 0.5]);
assert.deepEqual(logTicks(1e-5, 1e-2, 5), [1e-5, 1e-4, 1e-3, 1e-2]);
assert.deepEqual(logTicks(1, 100, 5), [1, 2, 5, 10, 20, 50, 100]);
assert.ok(logTicks(1e-30, 1e30, 5).length <= 6);

// A constant stays; no smoothing is the points.
assert.deepEqual(smoothed([[1, 2], [2, 2], [3, 2]], 0.9).map(([x, y]) => [x, Number(y.toFixed(9))]), [[1, 2], [2, 2], [3, 2]]);
assert.deepEqual(smoothed([[1, 2], [2, 4]], 0), [[1, 2], [2, 4]]);
// As TensorBoard: (0.5 * 1 + 1 * 0.5) / 0.75 of 1 and 2.
assert.ok(Math.abs(smoothed([[0, 1], [1, 2]], 0.5)[1][1] - 5 / 3) < 1e-12);

// A spike survives thinning; both ends stay; the order stays.
const many = Array.from({length: 10000}, (_, i) => [i, i === 4321 ? 99 : Math.sin(i)]);
const few = thinned(many, 100);
assert.ok(few.length <= 404 && few.some(([, y]) => y === 99));
assert.deepEqual([few[0], few.at(-1)], [many[0], many.at(-1)]);
assert.ok(few.every(([x], i) => i === 0 || x > few[i - 1][0]));
assert.equal(thinned(many.slice(0, 9), 100).length, 9);

const at = [[0, 0], [10, 0], [20, 0]];
assert.deepEqual([-5, 4, 6, 15.1, 99].map((x) => nearest(at, x)), [0, 0, 1, 2, 2]);
assert.deepEqual(extent(at, 0), [0, 20]);
assert.equal(extent([], 0), null);
assert.ok(withRoom([5, 5], false)[0] < 5 && withRoom([5, 5], false)[1] > 5 && withRoom([0, 1], false)[0] === 0);
assert.ok(withRoom([1e-9, 1e-9], true)[0] > 0);
// The axis of a share ends at 1, that of a loss does not.
assert.deepEqual([withRoom([0.5, 1], false, 1)[1], withRoom([0.5, 0.6], false, 1)[1] < 0.65, withRoom([0.5, 1.5], false, 1)[1] > 1.5], [1, true, true]);
assert.deepEqual([0, 1234.5, 12345, 2.5e6, 5e-5, -0.25].map((v) => compact(v)), ['0', '1234.5', '12.35k', '2.5M', '5e-5', '-0.25']);
assert.deepEqual(distinct([0.1, 0.2], compact), ['0.1', '0.2']);
assert.deepEqual(distinct([1000.001, 1000.002], compact), ['1000.001', '1000.002']);

// A restarted process counts from 0: no negative rate.
const sums = [[0, 0], [10, 100], [20, 300], [0, 0], [5, 50]].map(([seconds, tokens], step) => ({seconds, tokens, step}));
assert.deepEqual(rates(sums, 'tokens').map((p) => p.rate), [10, 20, 10]);
// Steps of a millisecond: a point covers enough of them to mean something.
const fast = Array.from({length: 10000}, (_, step) => ({seconds: step / 1000, tokens: step * 10, step}));
assert.ok(rates(fast, 'tokens').length <= 300 && rates(fast, 'tokens').every((p) => Math.abs(p.rate - 10000) < 1e-6));
assert.deepEqual(rates([], 'tokens'), []);
console.log('curves are right');
