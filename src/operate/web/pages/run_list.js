// The list of runs: search, filters, columns to sort by, and the choice of runs to compare.
import {address, badge, byId, bytes, counted, duration, el, get, isRepeated, listParameter, nameOf, number, parameter, remember, say} from './common.js';
import {decided, lastPart, lasted, lossOf, lowerIsBetter, metricTitle, noBest, noBestNotes, progressOf, progressText, tokensPerSecond} from './run_facts.js';

// "27 Nov, 23:09", with the year unless it is this one.
function when(seconds) {
  if (!(seconds > 0)) return '';
  const date = new Date(seconds * 1000), year = date.getFullYear() === new Date().getFullYear() ? undefined : 'numeric';
  return date.toLocaleString('en-GB', {day: 'numeric', month: 'short', year, hour: '2-digit', minute: '2-digit'});
}
// [key, title, value to sort by, text of the cell, class]
const COLUMNS = [
  ['name', 'Run', (r) => (r.name || r.id).toLowerCase(), null, 'name'],
  ['status', 'Status', (r) => r.status, null, ''],
  ['metric', 'Metric', (r) => decided(r).value, null, 'number'],
  ['loss', 'Loss', lossOf, (r) => number(lossOf(r)), 'number'],
  ['step', 'Step', (r) => r.step, (r) => number(r.step), 'number'],
  ['speed', 'Tokens/s', tokensPerSecond, (r) => number(tokensPerSecond(r) > 0 ? Math.round(tokensPerSecond(r)) : undefined), 'number less'],
  ['rate', 'Learning rate', (r) => r.learning_rate, (r) => number(r.learning_rate), 'number less'],
  ['time', 'Duration', lasted, (r) => duration(lasted(r)), 'number'],
  ['started', 'Started', (r) => r.begun_s, (r) => when(r.begun_s), 'nowrap'],
  ['task', 'Task', (r) => r.task, (r) => r.task, 'less'],
  ['model', 'Model', (r) => lastPart(r.model).toLowerCase(), (r) => el('span', {title: r.model}, lastPart(r.model)), 'text'],
  ['batch', 'Batch', (r) => r.batch_size, (r) => number(r.batch_size), 'number extra'],
  ['memory', 'Memory', (r) => r.end?.usage?.process_memory_peak_bytes, (r) => bytes(r.end?.usage?.process_memory_peak_bytes), 'number extra']];
const FILTERS = [['status', 'Status', (r) => [r.status]], ['task', 'Task', (r) => [r.task]], ['model', 'Model', (r) => [lastPart(r.model)]], ['tag', 'Tag', (r) => r.tags]];
const NEWEST = '-started';

export class RunList {
  constructor() {
    this.runs = [], this.picked = new Set(listParameter('pick'));
    this.search = el('input', {type: 'search', id: 'q', value: parameter('q'), placeholder: 'name, id, model, tag', oninput: () => this.choose({q: this.search.value.trim()})});
    this.selects = FILTERS.map(([key]) => el('select', {id: `filter-${key}`, onchange: (event) => this.choose({[key]: event.target.value})}));
    this.sorts = el('select', {id: 'sort', onchange: () => this.choose({sort: this.sorts.value === NEWEST ? '' : this.sorts.value})},
      COLUMNS.flatMap(([key, title]) => [el('option', {value: `-${key}`}, `${title}, falling`), el('option', {value: key}, `${title}, rising`)]));
    this.clear = el('button', {type: 'button', class: 'quiet small', onclick: () => {
      this.search.value = '';
      this.choose({q: '', ...Object.fromEntries(FILTERS.map(([key]) => [key, '']))});
    }}, 'Clear filters');
    this.filters = el('form', {class: 'filters', role: 'search', onsubmit: (event) => event.preventDefault()},
      el('label', {for: 'q', class: 'grow'}, 'Search', this.search),
      FILTERS.map(([key, title], i) => el('label', {for: `filter-${key}`}, title, this.selects[i])), el('label', {for: 'sort'}, 'Sort by', this.sorts), this.clear);
    this.body = el('div'), this.bar = el('div', {class: 'picked', role: 'region', 'aria-label': 'Chosen runs'});
    byId('content').replaceChildren(this.filters, this.body, this.bar);
  }

  async look() {
    const {folder, runs} = await get('/api/runs');
    this.folder = folder, this.runs = runs;
    this.show();
    return true;
  }
  choose(changes) {
    remember(changes);
    this.show();
  }

  shown() {
    const words = parameter('q').toLowerCase().split(/\s+/).filter(Boolean);
    const found = this.runs.filter((r) => {
      const text = [r.name, r.id, r.model, r.task, r.status, ...r.tags].join(' ').toLowerCase();
      return words.every((word) => text.includes(word)) && FILTERS.every(([key, , of]) => !parameter(key) || of(r).includes(parameter(key)));
    });
    const sort = parameter('sort') || NEWEST, sign = sort.startsWith('-') ? -1 : 1;
    const [, , value] = COLUMNS.find(([key]) => key === sort.replace('-', '')) || COLUMNS.find(([key]) => key === 'started');
    const missing = (v) => v === undefined || v === null || v === '' || Number.isNaN(v);
    return found.map((r) => [value(r), r]).sort(([a], [b]) => (missing(a) || missing(b) ? missing(a) - missing(b) : a < b ? -sign : a > b ? sign : 0)).map(([, r]) => r);
  }

  // The best value of each metric and task among these runs, if there are several and their rows are the same.
  bests(runs) {
    const groups = new Map();
    for (const run of runs) {
      const {name, value} = decided(run), key = `${run.task} ${name}`;
      if (typeof value !== 'number') continue;
      const group = groups.get(key) || groups.set(key, {name, task: run.task, runs: [], best: value}).get(key);
      group.best = (lowerIsBetter(name, [run]) ? Math.min : Math.max)(group.best, value);
      group.runs.push(run);
    }
    for (const group of groups.values()) group.note = noBest(group.name, group.runs);
    return groups;
  }

  show() {
    const {runs} = this, text = JSON.stringify([runs, [...this.picked], location.search]);
    if (text === this.drawn && !runs.some((r) => r.status === 'running')) return;
    this.drawn = text;
    const running = runs.filter((r) => r.status === 'running').length, found = this.shown();
    this.filters.hidden = !runs.length;
    if (!runs.length) {
      say('');
      this.body.replaceChildren(el('div', {class: 'panel empty'}, `No runs below ${this.folder} yet. A run that starts there appears here.`,
        el('br'), el('code', null, 'hone train --output_dir out …')));
      return;
    }
    say(`${found.length === runs.length ? '' : `${number(found.length)} of `}${counted(runs.length, 'run')} below ${this.folder}${running ? `, ${running} running` : ''}`);
    this.showFilters();
    const focus = document.activeElement && this.body.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
    this.body.replaceChildren(found.length ? this.table(found) : el('div', {class: 'panel empty'}, 'No run has all of these.'));
    if (focus) this.body.querySelector(`[data-focus="${CSS.escape(focus)}"]`)?.focus();
    this.showPicked();
  }

  showFilters() {
    FILTERS.forEach(([key, title, of], i) => {
      const values = [...new Set(this.runs.flatMap(of).filter(Boolean))].sort(), select = this.selects[i];
      if (parameter(key) && !values.includes(parameter(key))) values.push(parameter(key));
      if (select.dataset.values !== values.join('\n')) {
        select.dataset.values = values.join('\n');
        select.replaceChildren(el('option', {value: ''}, 'All'), ...values.map((v) => el('option', {value: v}, v)));
      }
      select.value = parameter(key);
      select.parentNode.hidden = values.length === 0 || (key !== 'status' && values.length < 2 && !parameter(key) && key !== 'tag');
    });
    this.sorts.value = parameter('sort') || NEWEST;
    this.clear.hidden = !parameter('q') && FILTERS.every(([key]) => !parameter(key));
  }

  table(runs) {
    const bests = this.bests(runs), sort = parameter('sort') || NEWEST;
    const names = [...new Set(runs.map((r) => decided(r).name).filter(Boolean))];
    const head = COLUMNS.map(([key, title, , , kind]) => {
      const by = sort.replace('-', '') === key, falling = sort.startsWith('-');
      const shown = key === 'metric' && names.length === 1 ? metricTitle(names[0]).replace(/^Evaluation (?!loss)/, '') : title;
      return el('th', {scope: 'col', class: /number|less/.test(kind) ? kind : null, 'aria-sort': by ? (falling ? 'descending' : 'ascending') : null},
        el('button', {type: 'button', class: 'sort', 'data-focus': `sort ${key}`, onclick: () => {
          const next = by ? (falling ? key : `-${key}`) : kind.startsWith('number') || key === 'started' ? `-${key}` : key;
          this.choose({sort: next === NEWEST ? '' : next});
        }}, shown, el('span', {'aria-hidden': true}, by ? (falling ? ' ↓' : ' ↑') : '')));
    });
    return el('div', {class: 'panel'}, el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Runs'},
      el('table', {class: 'runs'}, el('caption', {class: 'hidden'}, 'Runs'),
        el('thead', null, el('tr', null, el('td', {class: 'choice'}, el('span', {class: 'hidden'}, 'Choose')), head)),
        el('tbody', null, runs.map((run) => this.row(run, bests, names.length > 1))))),
      this.notes([...bests.values()]));
  }

  // Why groups have no best value. Tasks may share a metric.
  notes(groups) {
    const title = (g) => metricTitle(g.name) + (groups.some((o) => o !== g && o.name === g.name) ? ` of ${g.task}` : '');
    return noBestNotes(groups.filter((g) => g.note).map((g) => [title(g), g.note]), groups.every((g) => g.note));
  }

  row(run, bests, named) {
    const {name, value} = decided(run), group = bests.get(`${run.task} ${name}`), best = group && group.runs.length > 1 && !group.note && group.best === value;
    const cells = {
      name: [el('a', {href: `/runs?id=${encodeURIComponent(run.id)}`, 'data-focus': `run ${run.id}`}, run.name || run.id),
        isRepeated(run, this.runs) ? el('div', {class: 'small-text'}, run.id) : '',
        run.tags.length ? el('div', {class: 'tags'}, run.tags.map((tag) => el('a', {class: 'run-tag', href: address({tag}), 'data-focus': `tag ${run.id} ${tag}`, onclick: (event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          this.choose({tag});
        }}, tag))) : ''],
      status: [badge(run.status), run.status === 'running' && progressOf(run) ? el('div', {class: 'small-text'}, progressText(run).split(' · ').slice(1, 3).join(', ')) : '',
        run.end && run.end.code ? el('div', {class: 'small-text'}, run.end.code) : ''],
      metric: value === undefined ? '' : [el('span', {class: best ? 'best-value' : null}, best ? el('span', {class: 'hidden'}, 'Best: ') : '', number(value)),
        named ? el('div', {class: 'small-text'}, metricTitle(name)) : '']};
    const picked = this.picked.has(run.id);
    const box = el('input', {type: 'checkbox', 'data-focus': `pick ${run.id}`, 'aria-label': `Choose ${nameOf(run, this.runs)}`, onchange: () => {
      if (box.checked) this.picked.add(run.id);
      else this.picked.delete(run.id);
      this.choose({pick: [...this.picked].join(',')});
    }});
    box.checked = picked;
    return el('tr', {class: picked ? 'chosen' : null}, el('td', {class: 'choice'}, box), COLUMNS.map(([key, title, , text, kind]) => {
      const cell = text ? text(run) : cells[key];
      return key === 'name' ? el('th', {scope: 'row'}, cell) : el('td', {class: kind || null, 'data-label': title, 'data-empty': cell === '' || cell === undefined}, cell);
    }));
  }

  showPicked() {
    const ids = [...this.picked].filter((id) => this.runs.some((r) => r.id === id));
    this.bar.hidden = ids.length === 0;
    this.bar.replaceChildren(el('span', null, `${counted(ids.length, 'run')} chosen${ids.length < 2 ? '. Choose another one to compare.' : ''}`),
      ids.length > 1 ? el('a', {class: 'button', href: `/runs?compare=${ids.map(encodeURIComponent).join(',')}`}, 'Compare') : '',
      el('button', {type: 'button', class: 'quiet', onclick: () => { this.picked.clear(); this.choose({pick: ''}); }}, 'Clear'));
  }
}
