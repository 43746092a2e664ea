// Numbers of curves: ticks, smoothing, thinning, rates. No page is needed, so node tests them.

// The smallest of 1, 2, 5 or 10 times a power of ten that cuts the range into at most `count` parts.
function stepOf(low, high, count) {
  const raw = (high - low) / Math.max(1, count) || Math.abs(high) || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * (1 - 1e-9));
}
function multiples(low, high, step) {
  const all = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; ++n) all.push(Number((n * step).toPrecision(12)));
  return all;
}
export const ticks = (low, high, count) => multiples(low, high, stepOf(low, high, count));
// Round numbers of KiB, MiB or GiB.
export function byteTicks(low, high, count) {
  const unit = 1024 ** Math.max(0, Math.floor(Math.log(Math.max(1, high)) / Math.log(1024)));
  return ticks(low / unit, high / unit, count).map((t) => t * unit);
}
const SPANS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
// Seconds, at whole minutes, hours or days where the range is long.
export function timeTicks(low, high, count) {
  const raw = (high - low) / Math.max(1, count);
  if (raw < 1) return ticks(low, high, count);
  return multiples(low, high, SPANS.find((s) => s >= raw) || Math.ceil(raw / 86400) * 86400);
}
// Powers of ten, with 2 and 5 between them if the range is short.
export function logTicks(low, high, count) {
  const decades = Math.log10(high / low);
  if (decades < 1) return ticks(low, high, count).filter((t) => t > 0);
  const every = Math.max(1, Math.ceil(decades / count)), all = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power)
    for (const m of decades < 2.5 ? [1, 2, 5] : power % every === 0 ? [1] : []) all.push(Number((m * 10 ** power).toPrecision(6)));
  return all.filter((t) => t >= low * (1 - 1e-9) && t <= high * (1 + 1e-9));
}

// Exponential moving average, corrected for its start: a constant stays the constant.
export function smoothed(points, weight) {
  let sum = 0, norm = 0;
  return points.map(([x, y]) => {
    sum = sum * weight + (1 - weight) * y, norm = norm * weight + (1 - weight);
    return [x, sum / norm];
  });
}

// At most four points a column of `columns`: the first, the least, the greatest and the last, so that a spike stays.
export function thinned(points, columns) {
  if (points.length <= columns * 4) return points;
  const low = points[0][0], wide = (points.at(-1)[0] - low) / columns || 1, kept = [];
  for (let i = 0; i < points.length;) {
    const column = Math.floor((points[i][0] - low) / wide);
    let end = i, least = i, most = i;
    for (; end < points.length && Math.floor((points[end][0] - low) / wide) === column; ++end) {
      if (points[end][1] < points[least][1]) least = end;
      if (points[end][1] > points[most][1]) most = end;
    }
    for (const k of [...new Set([i, least, most, end - 1])].sort((a, b) => a - b)) kept.push(points[k]);
    i = end;
  }
  return kept;
}

// The index of the point whose x is nearest; points rise by x.
export function nearest(points, x) {
  let low = 0, high = points.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] < x) low = middle + 1;
    else high = middle;
  }
  return low > 0 && x - points[low - 1][0] <= points[low][0] - x ? low - 1 : low;
}

// [least, greatest] of one coordinate; null if there are no points.
export function extent(points, coordinate) {
  let [low, high] = [Infinity, -Infinity];
  for (const p of points) low = Math.min(low, p[coordinate]), high = Math.max(high, p[coordinate]);
  return low <= high ? [low, high] : null;
}

// A range that the points do not touch; never one number. Shares end at `most`.
export function withRoom([low, high], log, most = Infinity) {
  if (log) {
    const factor = low === high ? 2 : (high / low) ** 0.06;
    return [low / factor, high * factor];
  }
  const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  return [low >= 0 ? Math.max(0, low - room) : low - room, low >= 0 && high <= most ? Math.min(most, high + room) : high + room];
}

// "12.3k": numbers of an axis, at most five characters where possible.
export function compact(value, digits = 5) {
  const size = Math.abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-3)) return value.toExponential(2).replace(/\.?0+e/, 'e').replace('e+', 'e');
  for (const [unit, name] of [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e4, 'k']])
    if (size >= unit) return `${Number((value / (unit === 1e4 ? 1e3 : unit)).toPrecision(Math.max(4, digits - 1)))}${name}`;
  return String(Number(value.toPrecision(digits)));
}

// The texts of ticks, with more digits if two would be the same; `tick` takes a value and the number of digits.
export function distinct(marks, tick) {
  const all = [undefined, 4, 5, 6, 7, 8].map((digits) => marks.map((mark) => tick(mark, digits)));
  return all.find((texts) => new Set(texts).size === texts.length) || all.at(-1);
}

// Points of a rate (tokens a second) from sums of a process, at most about 300; a restarted process begins at 0 again.
export function rates(progress, name) {
  const least = progress.length ? progress.at(-1).seconds / 300 : 0, found = [];
  let from = progress[0];
  for (const now of progress) {
    if (now.seconds < from.seconds || now[name] < from[name]) from = now;
    if (now.seconds - from.seconds <= least) continue;
    found.push({...now, rate: (now[name] - from[name]) / (now.seconds - from.seconds)});
    from = now;
  }
  return found;
}
