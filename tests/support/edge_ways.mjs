// The edges of a pipeline's graph, in node: node edge_ways.mjs FOLDER-OF-PAGES
import assert from 'node:assert/strict';
import {pathToFileURL} from 'node:url';

const {ARROW, columnsOf, placesOf, planOf, waysOf} = await import(pathToFileURL(`${process.argv[2]}/edge_ways.js`).href);

const NEAR = 2;  // lines that are nearer look like one
const pieces = ({points}) => points.slice(1).map((b, i) => [points[i], b]);
const overlap = (a, b, c, d) => Math.min(Math.max(a, b), Math.max(c, d)) - Math.max(Math.min(a, b), Math.min(c, d));
// Whether two pieces run beside each other, so near that they look like one line.
function isShared([a, b], [c, d]) {
  for (const [along, across] of [[0, 1], [1, 0]])
    if (Math.abs(a[across] - b[across]) < 0.01 && Math.abs(c[across] - d[across]) < 0.01 && Math.abs(a[across] - c[across]) < NEAR && overlap(a[along], b[along], c[along], d[along]) > 0.01) return true;
  return false;
}
const enters = ([a, b], s) => overlap(a[0], b[0], s.x + 0.5, s.x + s.w - 0.5) >= 0 && overlap(a[1], b[1], s.y + 0.5, s.y + s.h - 0.5) >= 0;

function check(steps, width, heights) {
  const plan = planOf(steps, columnsOf(steps), width), places = placesOf(plan, heights), ways = waysOf(plan, places);
  const told = `${width} wide, ${JSON.stringify(steps)}`;
  assert.deepEqual(ways.map((w) => `${w.from} ${w.to}`).sort(), steps.flatMap((s) => s.needs.map((n) => `${n} ${s.name}`)).sort(), told);
  for (const w of ways) {
    const a = places.spots.get(w.from), b = places.spots.get(w.to), first = w.points[0], end = [...w.points.at(-1)];
    end[w.into === 'down' ? 1 : 0] += w.into === 'left' ? -ARROW : ARROW;
    for (const [at, s] of [[first, a], [end, b]])
      assert.ok(at[0] >= s.x && at[0] <= s.x + s.w && at[1] >= s.y && at[1] <= s.y + s.h, `${w.from} ${w.to} does not touch its steps: ${told}`);
    for (const [x, y] of w.points) assert.ok(x >= 0 && x <= width && y >= 0 && y <= places.height, `${w.from} ${w.to} leaves the graph: ${told}`);
    for (const piece of pieces(w)) {
      assert.ok(piece[0][0] === piece[1][0] || piece[0][1] === piece[1][1], `${w.from} ${w.to} is askew`);
      for (const [name, s] of places.spots) assert.ok(!enters(piece, s), `${w.from} ${w.to} runs through ${name}: ${told}`);
    }
    for (const other of ways)
      if (other.from !== w.from)
        for (const p of pieces(w)) for (const q of pieces(other)) assert.ok(!isShared(p, q), `${w.from} ${w.to} and ${other.from} ${other.to} share a line: ${told} ${JSON.stringify([w, other])}`);
    // Ends of a step are apart, and so are those of others.
    for (const other of ways)
      if (other !== w && other.to === w.to && other.into === w.into) assert.ok(Math.hypot(w.points.at(-1)[0] - other.points.at(-1)[0], w.points.at(-1)[1] - other.points.at(-1)[1]) >= 4, told);
  }
  for (const [name, s] of places.spots)
    for (const [other, t] of places.spots) assert.ok(name === other || s.x + s.w <= t.x || t.x + t.w <= s.x || s.y + s.h <= t.y || t.y + t.h <= s.y, `${name} is on ${other}: ${told}`);
  return plan;
}

// The pipeline of a recipe: a band at 1640, several below that, one column on a phone.
const recipe = [['download', []], ['check', ['download']], ['preprocess', ['check', 'download']], ['train', ['download', 'preprocess']], ['evaluate', ['preprocess', 'train']],
  ['register', ['evaluate', 'train']], ['should-deploy', ['register']], ['deploy', ['register', 'should-deploy']]].map(([name, needs]) => ({name, needs}));
const level = (steps, h) => new Map(steps.map((s, i) => [s.name, h(i)]));
const forms = [1640, 1160, 700, 330].map((width) => check(recipe, width, level(recipe, () => 76)));
assert.deepEqual(forms.map((p) => p.bands), [1, 2, 3, 8]);
assert.ok(forms.every((p) => p.wide >= 150));

let seed = 1;
const dice = (n) => (seed = (seed * 48271) % 2147483647) % n;
for (let i = 0; i < 600; ++i) {
  const steps = Array.from({length: 1 + dice(12)}, (_, k) => ({name: `s${k}`, needs: Array.from({length: k}, (_, j) => `s${j}`).filter(() => dice(4) === 0)}));
  check(steps, [330, 560, 1160, 1640][i % 4], level(steps, () => 60 + dice(60)));
}
console.log('edges of graphs are right');
