// Runs beside each other: overlaid curves with one colour a run, final metrics, the settings that differ.
import {address, badge, breakable, byId, counted, el, listParameter, nameOf, number, panel, parameter, remember, say} from './common.js';
import {Board} from './board.js';
import {colorOf, swatch} from './chart.js';
import {decided, lowerIsBetter, metricTitle, metricsOf, noBest, noBestNotes, tokensPerSecond, withBest} from './run_facts.js';
import {RunData, chartsOf, settingText} from './run_page.js';

// The places of a run, which differ between any two.
const FOLDER = 'folder of the command', PLACES = ['run_name', 'output_dir', 'logging_dir', FOLDER];

// Training files that two runs read under one name and with the same settings, but with other rows.
function changedFiles(all) {
  const same = (a, b) => JSON.stringify(a.rows.settings) === JSON.stringify(b.rows.settings);
  const of = all.find((a) => all.some((b) => a.rows.hash !== b.rows.hash && same(a, b)));
  return of ? `${['train_file', 'train_dir', 'dataset_name'].find((name) => settingText(of.run.settings[name])) || 'Training data'}: changed between the runs, which were trained on different rows` : '';
}

export class ComparePage {
  constructor(ids) {
    this.all = ids.map((id) => new RunData(id)), this.hidden = new Set(listParameter('hide'));
    this.board = new Board(() => this.charts());
    this.names = el('ul', {class: 'runs-legend'}), this.metrics = el('div'), this.settings = el('div');
    const every = el('input', {type: 'checkbox', id: 'every', onchange: () => {
      remember({all: every.checked});
      this.showSettings();
    }});
    every.checked = parameter('all') === '1';
    document.querySelector('h1').textContent = `Compare ${counted(ids.length, 'run')}`;
    document.title = `Compare ${counted(ids.length, 'run')} · hone`;
    byId('content').replaceChildren(el('p', {class: 'back'}, el('a', {href: `/runs?pick=${ids.map(encodeURIComponent).join(',')}`}, '← Choose other runs')),
      el('div', {class: 'panel'}, this.names), this.board.bar, this.board.node, panel('Final metrics', this.metrics),
      panel('Settings', el('label', {class: 'check', for: 'every'}, every, 'Also settings that are equal, and the places of the runs'), this.settings));
  }

  async look() {
    const news = await Promise.all(this.all.map((d) => d.summary && d.summary.status !== 'running' ? false : d.read().catch((error) => {
      d.fault = error.message;
      return true;
    })));
    this.known = this.all.filter((d) => d.summary);
    if (news.some(Boolean)) this.show();
    return this.known.some((d) => d.summary.status === 'running');
  }

  // A name; with its id if another run has it too.
  label(data) {
    return nameOf(data.summary, this.known.map((d) => d.summary));
  }
  color(data) {
    return colorOf(this.all.indexOf(data));
  }

  show() {
    const missing = this.all.filter((d) => d.fault);
    if (missing.length) say(missing.map((d) => d.fault).join('\n'), true);
    else say(`${this.known.filter((d) => d.summary.status === 'running').length || 'none'} of ${this.known.length} still running`);
    this.names.replaceChildren(...this.known.map((d) => this.legendOf(d)));
    this.charts();
    this.showMetrics();
    this.showSettings();
  }

  legendOf(data) {
    const run = data.summary, {name, value} = decided(run), off = this.hidden.has(data.id);
    const others = this.all.filter((d) => d !== data).map((d) => encodeURIComponent(d.id));
    const box = el('input', {type: 'checkbox', 'aria-label': `Show ${this.label(data)}`, onchange: () => {
      if (box.checked) this.hidden.delete(data.id);
      else this.hidden.add(data.id);
      remember({hide: [...this.hidden].join(',')});
      this.charts();
    }});
    box.checked = !off;
    return el('li', null, box, swatch(this.color(data)), el('a', {href: `/runs?id=${encodeURIComponent(data.id)}`}, this.label(data)), badge(run.status),
      value === undefined ? '' : el('span', {class: 'muted'}, `${metricTitle(name)} ${number(value)}`),
      others.length > 1 ? el('a', {class: 'remove', href: address({compare: others.join(',')}), 'aria-label': `Remove ${this.label(data)}`, title: 'Remove'}, '×') : '');
  }

  charts() {
    if (!this.known) return;
    const {board} = this, forms = new Map();
    const names = [...new Set(this.known.flatMap((d) => d.names()))];
    for (const data of this.known) for (const form of chartsOf(data, names)) if (!forms.has(form[0])) forms.set(form[0], form);
    for (const [key, title, form, of] of forms.values())
      board.chart(key, title, form).draw(this.known.filter((d) => !this.hidden.has(d.id))
        .map((d) => ({name: this.label(d), color: this.color(d), points: of(d, board.axis)})).filter((s) => s.points.length));
    board.order([...forms.keys()]);
    board.paint();
  }

  // A table with a column a run; rows: [name, texts, index of the best or -1, whether they differ].
  table(caption, first, rows) {
    return el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption}, el('table', {class: 'compare'}, el('caption', {class: 'hidden'}, caption),
      el('thead', null, el('tr', null, el('th', {scope: 'col'}, first), this.known.map((d) => el('th', {scope: 'col'}, swatch(this.color(d)), ' ', this.label(d))))),
      el('tbody', null, rows.map(([name, texts, best, differ]) => el('tr', {class: differ ? 'differ' : null}, el('th', {scope: 'row'}, name),
        texts.map((text, i) => el('td', null, i === best ? el('span', {class: 'best-value'}, el('span', {class: 'hidden'}, 'Best: '), text) : breakable(text))))))));
  }

  showMetrics() {
    const of = (d) => ({...d.summary.metrics, ...(d.summary.end && d.summary.end.results)});
    const all = this.known.map(of), first = [...new Set(this.known.map((d) => decided(d.summary).name).filter(Boolean))];
    const names = [...new Set([...first, 'train_loss', ...metricsOf([...new Set(all.flatMap((m) => Object.keys(m)))])])];
    const runs = this.known.map((d) => d.summary), notes = new Map();
    const row = (title, name, values, lower) => {
      const note = lower === null ? '' : noBest(name, runs.filter((_, i) => typeof values[i] === 'number'));
      if (note) notes.set(name, note);
      return [title, ...withBest(name, values, note ? null : lower)];
    };
    const rows = names.filter((name) => all.some((m) => typeof m[name] === 'number'))
      .map((name) => row(metricTitle(name), name, all.map((m) => m[name]), ['learning_rate', 'grad_norm'].includes(name) ? null : lowerIsBetter(name, runs)));
    for (const name of first)
      if (this.known.some((d) => d.summary.best && d.summary.best.name === name))
        rows.unshift(row(`${metricTitle(name)}, best`, name, runs.map((run) => (run.best && run.best.name === name ? run.best.value : undefined)), lowerIsBetter(name, runs)));
    for (const [title, name] of [['Training rows', 'train_samples'], ['Evaluation rows', 'eval_samples']])
      if (all.some((m) => typeof m[name] === 'number')) rows.push(row(title, name, all.map((m) => m[name]), null));
    rows.push(row('Steps', 'step', runs.map((run) => run.step), null), row('Tokens a second', 'train_tokens_per_second', this.known.map((d) => {
      const rate = tokensPerSecond(d.summary);
      return rate > 0 ? Math.round(rate) : undefined;
    }), false));
    this.metrics.replaceChildren(this.table('Final metrics', 'Metric', rows), ...noBestNotes([...notes].map(([name, note]) => [metricTitle(name), note]), rows.every(([, , best]) => best < 0)));
  }

  showSettings() {
    const every = parameter('all') === '1', of = (d, name) => {
      const run = d.run || {}, machine = run.machine || {};
      return name === 'machine' ? machine.type || machine.cpu : name === FOLDER ? run.folder : d.named[name] ?? (run.settings || {})[name];
    };
    const names = [...new Set(this.known.flatMap((d) => Object.keys((d.run && d.run.settings) || {}))), 'machine', FOLDER];
    const rows = names.map((name) => {
      const texts = this.known.map((d) => settingText(of(d, name)));
      return [name, texts, -1, new Set(texts).size > 1];
    }).filter(([name, , , differ]) => every || (differ && !PLACES.includes(name)));
    rows.sort(([a, , , p], [b, , , q]) => q - p || PLACES.includes(a) - PLACES.includes(b));
    const changed = changedFiles(this.known.filter((d) => d.rows));
    this.settings.replaceChildren(changed ? el('p', null, changed) : '', rows.length ? this.table(every ? 'All settings' : 'Settings that differ', 'Setting', rows.map(([name, texts, best, differ]) => [name, texts, best, every && differ]))
      : el('p', {class: 'muted'}, 'All settings are equal, except the places of the runs.'));
  }
}
