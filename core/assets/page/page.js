// page.js - what lives on the page: the list and a job kept as they are, its log, its plots.
//
// Reads one stream of server-sent events (core/ui/live.h). Whatever comes from outside becomes a text node.
'use strict';

const el = (tag, props, ...children) => {
  const e = Object.assign(document.createElement(tag), props);
  e.append(...children);
  return e;
};
const query = new URLSearchParams(location.search);
const job = (/^\/jobs\/([a-z0-9.-]+\/[a-z0-9.-]+)$/.exec(location.pathname) || [])[1];

// ---- ages, as core/base/clock.c prints them ---------------------------------------------------------
const AGES = [[120, 1, 0, 's', ''], [600, 60, 1, 'm', 's'], [10800, 60, 0, 'm', ''], [28800, 3600, 60, 'h', 'm'],
  [172800, 3600, 0, 'h', ''], [691200, 86400, 3600, 'd', 'h'], [63072000, 86400, 0, 'd', ''],
  [252288000, 31536000, 86400, 'y', 'd'], [Infinity, 31536000, 0, 'y', '']];
let ahead = 0; // the server's clock less ours, in seconds

function age(since) {
  const v = Math.max(0, Math.floor(Date.now() / 1000 + ahead - since));
  const [, first, second, a, b] = AGES.find(row => v < row[0]);
  const rest = second ? Math.floor(v % first / second) : 0;
  return Math.floor(v / first) + a + (rest ? rest + b : '');
}

function keep(name, value) { // in the address, for a reload
  if (value) query.set(name, value);
  else query.delete(name);
  const text = String(query).replaceAll('%2F', '/').replaceAll('%2C', ',');
  history.replaceState(null, '', location.pathname + (text && '?' + text));
}

// ---- the stream ----------------------------------------------------------------------------------
const status = el('span', { className: 'live', role: 'status' });
const HIDDEN_MS = 1000;
const stream = { source: null, id: '', tries: 0, timer: 0, lost: null, plots: [], names: false, heard: {} };

function say(text, bad) {
  if (status.textContent !== text) status.textContent = text;
  status.classList.toggle('bad', Boolean(bad));
}

function describe() {
  if (stream.lost) say(`Not up to date: ${stream.lost}; it is tried again`, true);
  else if (log.paused) say('live; the log is paused');
  else say('live');
}

function address() {
  const want = new URLSearchParams();
  if (!job || stream.names) want.set('rows', '1');
  if (!job && query.get('label')) want.set('label', query.get('label'));
  if (job) want.set('job', job);
  if (stream.plots.length) want.set('plot', stream.plots.join(','));
  if (job && !log.paused && !log.ended) {
    want.set('log', log.chosen.size ? [...log.chosen].join(',') : '*');
    want.set('lines', String(Math.ceil(LINES / Math.max(1, log.chosen.size || rows('pods')))));
  }
  if (stream.id) want.set('after', stream.id);
  return '/stream?' + want;
}

function connect() {
  disconnect();
  const source = stream.source = new EventSource(address());
  source.onopen = () => {
    stream.tries = 0;
    describe();
  };
  source.onerror = () => { // by ourselves: the browser gives up for good after an answer that is no stream
    disconnect();
    const wait = Math.min(30, 2 ** stream.tries++);
    if (stream.tries > 1) say("'kftrainer ui' does not answer; perhaps it has ended. It is asked again.", true);
    stream.timer = setTimeout(connect, wait * 1000);
  };
  for (const name of Object.keys(stream.heard))
    source.addEventListener(name, e => {
      if (source !== stream.source) return;
      stream.heard[name](JSON.parse(e.data));
      stream.id = e.lastEventId;
      if (name === 'log') arrived(e.data.length);
    });
}

// The server keeps a log's lines until they are known to have arrived, and then sends more.
function arrived(length) {
  log.arrived += length;
  if (log.telling || log.arrived < TELL) return;
  log.telling = true;
  log.arrived = 0;
  const again = length => {
    log.telling = false;
    arrived(length);
  };
  fetch('/arrived?after=' + stream.id).then(() => again(0), () => setTimeout(again, 1000, TELL));
}

function disconnect() {
  clearTimeout(stream.timer);
  if (stream.source) stream.source.close();
  stream.source = null;
}

// A browser has six connections to a server for all its tabs: one that nobody sees has none.
function turn() {
  clearTimeout(stream.timer);
  if (document.hidden) stream.timer = setTimeout(disconnect, HIDDEN_MS);
  else if (!stream.source) connect();
}

stream.heard.mark = () => {};
stream.heard.lost = text => {
  stream.lost = text;
  describe();
};

// ---- the list ------------------------------------------------------------------------------------
const ROWS = 2000;
const list = { table: job ? null : document.querySelector('main table'), rows: new Map(), heads: [], aging: false };

const parts = key => key.split('/');
function before(a, b) { // by namespace, then name
  const [x, y] = [parts(a), parts(b)];
  return x[0] === y[0] ? x[1] < y[1] : x[0] < y[0];
}

function adopt() { // the rows that the server has written
  list.heads = [...list.table.tHead.rows[0].cells].map(c => c.textContent);
  for (const tr of list.table.tBodies[0].rows) {
    const link = tr.querySelector('a');
    if (link) list.rows.set(link.getAttribute('href').slice('/jobs/'.length), { tr, since: [] });
  }
}

function passes(cells) {
  const q = (query.get('q') || '').trim().toLowerCase();
  const texts = cells.map(c => typeof c === 'number' ? age(c) : c);
  return (!query.get('state') || texts[list.heads.indexOf('STATE')] === query.get('state')) &&
    (!q || texts.some(t => t.toLowerCase().includes(q)));
}

function setCell(td, head, key, text) {
  if (td.textContent === text && (td.firstChild || !text)) return;
  const bdi = el('bdi', { textContent: text });
  td.replaceChildren(...(head === 'NAME' ? [el('a', { href: '/jobs/' + key }, bdi)] : text ? [bdi] : []));
  td.classList.toggle('bad', head === 'STATE' && text === 'Failed');
}

function place(key, row) {
  const body = list.table.tBodies[0];
  let low = 0, high = body.rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const link = body.rows[middle].querySelector('a').getAttribute('href').slice('/jobs/'.length);
    if (before(link, key)) low = middle + 1;
    else high = middle;
  }
  body.insertBefore(row.tr, body.rows[low] || null);
}

function setRow(key, cells) {
  let row = list.rows.get(key);
  const fresh = !row;
  if (fresh) {
    row = { tr: el('tr', {}, ...cells.map(() => el('td'))), since: [] };
    list.rows.set(key, row);
  }
  row.since = [];
  cells.forEach((cell, i) => {
    const td = row.tr.cells[i];
    if (typeof cell === 'number') row.since.push([td, cell]);
    setCell(td, list.heads[i], key, typeof cell === 'number' ? age(cell) : cell);
  });
  if (fresh) place(key, row);
}

function dropRow(key) {
  const row = list.rows.get(key);
  if (row) row.tr.remove();
  list.rows.delete(key);
}

stream.heard.rows = data => {
  ahead = data.now - Date.now() / 1000;
  if (job) {
    plot.offer(data);
    return;
  }
  const there = new Set(data.rows.map(r => r[0]));
  for (const [key, ...cells] of data.rows) {
    if (!passes(cells)) dropRow(key);
    else if (list.rows.has(key) || list.rows.size < ROWS) setRow(key, cells);
  }
  for (const key of data.full ? [...list.rows.keys()] : data.gone)
    if (!there.has(key)) dropRow(key);
  const count = list.table.previousElementSibling, n = list.rows.size;
  if (count && count.tagName === 'P') count.textContent = n === 1 ? '1 job' : n < ROWS ? `${n} jobs` : `the first ${n} jobs`;
};

// Of the rows in sight: each change is a layout of the whole table.
function drawAges() {
  list.aging = false;
  if (document.hidden) return;
  const seen = [...list.rows.values()].filter(({ tr }) => {
    const { top, bottom } = tr.getBoundingClientRect();
    return bottom >= 0 && top <= innerHeight;
  });
  for (const { since } of seen)
    for (const [td, at] of since) {
      const text = age(at);
      if (td.textContent !== text) td.replaceChildren(el('bdi', { textContent: text }));
    }
}
setInterval(drawAges, 1000);
addEventListener('scroll', () => {
  if (!list.aging) requestAnimationFrame(drawAges);
  list.aging = true;
});

// ---- a job ---------------------------------------------------------------------------------------
const tableOf = id => {
  const head = document.getElementById(id), next = head && head.nextElementSibling;
  return next && next.tagName === 'TABLE' ? next : null;
};
const rows = id => job && tableOf(id) ? tableOf(id).tBodies[0].rows.length : 0;

stream.heard.job = data => {
  if (data.error) {
    say(data.error, true);
    return;
  }
  describe();
  const why = document.querySelector('pre.why');
  if (why && why.textContent !== data.why) why.textContent = data.why;
  for (const [id, cells] of Object.entries(data.tables)) {
    const body = tableOf(id) && tableOf(id).tBodies[0];
    if (!body) continue;
    cells.forEach((row, i) => { // what has not changed stays, and what is selected in it
      const tr = body.rows[i] || body.insertRow();
      row.forEach((text, j) => setCell(tr.cells[j] || tr.insertCell(), '', '', text));
    });
    while (body.rows.length > cells.length) body.deleteRow(-1);
  }
};

// ---- its log -------------------------------------------------------------------------------------
const LINES = 20000, ROW = 18, MARGIN = 20, COLORS = 8, TELL = 16384;
const log = {
  lines: [], shown: [], nodes: new Map(), // shown: those that the search finds; nodes: of those in sight
  prefixes: new Set(), chosen: new Set(), // chosen: prefixes; none: all
  search: '', paused: false, ended: false, bottom: true, total: 0, drawn: false,
  arrived: 0, telling: false, // of what has come since the server was told; while it is
};

const colorClass = prefix => 'r' + Number((/\d+$/.exec(prefix) || [0])[0]) % COLORS; // of the rank
const textOf = line => line.slice(1).map(run => typeof run === 'string' ? run : run[1]).join('');
const found = line => !log.search || `${line[0] || ''} ${textOf(line)}`.toLowerCase().includes(log.search);

function hitsOf(line) { // where in its text is what is searched for
  const text = textOf(line), lower = text.toLowerCase(), hits = [];
  let i = log.search && lower.length === text.length ? lower.indexOf(log.search) : -1;
  for (; i >= 0; i = lower.indexOf(log.search, i + log.search.length)) hits.push(i);
  return hits;
}

function marked(text, from, hits) { // nodes of a run, which begins there, with the hits in it marked
  const nodes = [];
  let done = 0;
  for (const hit of hits) {
    const begin = Math.max(done, hit - from), end = Math.min(text.length, hit + log.search.length - from);
    if (begin >= end) break;
    nodes.push(text.slice(done, begin), el('mark', { textContent: text.slice(begin, end) }));
    done = end;
  }
  nodes.push(text.slice(done));
  return nodes;
}

function lineNode(line) {
  const node = el('div', { className: line[0] === null ? 'line note' : 'line' }), hits = hitsOf(line);
  let from = 0;
  if (line[0]) node.append(el('b', { className: colorClass(line[0]), textContent: line[0] }), ' ');
  for (const run of line.slice(1)) {
    const text = typeof run === 'string' ? run : run[1], nodes = marked(text, from, hits);
    node.append(...(text === run ? nodes : [el('span', { className: run[0] }, ...nodes)]));
    from += text.length;
    while (hits.length && hits[0] + log.search.length <= from) hits.shift();
  }
  return node;
}

function draw() {
  log.drawn = false;
  const box = log.box, height = log.shown.length * ROW;
  log.all.style.height = height + 'px';
  if (log.bottom) box.scrollTop = height;
  const first = Math.max(0, Math.floor(box.scrollTop / ROW) - MARGIN);
  const last = Math.min(log.shown.length, Math.ceil((box.scrollTop + box.clientHeight) / ROW) + MARGIN);
  const old = log.nodes;
  log.nodes = new Map(log.shown.slice(first, last).map(line => [line, old.get(line) || lineNode(line)]));
  for (const [line, node] of old) if (!log.nodes.has(line)) node.remove();
  let next = log.all.firstChild, i = first;
  for (const node of log.nodes.values()) { // those that stay keep what is selected in them
    node.style.top = ROW * i++ + 'px';
    if (node === next) next = next.nextSibling;
    else log.all.insertBefore(node, next);
  }
  const n = log.lines.length;
  log.count.textContent = (log.search ? `${log.shown.length} of ${n} lines` : `${n} line${n === 1 ? '' : 's'}`) +
    (log.total > n ? `, the last of ${log.total}` : '') + (log.ended ? '; the log has ended' : '');
}

function redraw() {
  if (!log.drawn) requestAnimationFrame(draw);
  log.drawn = true;
}

function search(text) {
  log.search = text.toLowerCase();
  log.shown = log.lines.filter(found);
  log.nodes.clear();
  log.all.replaceChildren();
  redraw();
}

function know(prefix) {
  if (!prefix || log.prefixes.has(prefix)) return;
  log.prefixes.add(prefix);
  clearTimeout(log.timer);
  log.timer = setTimeout(drawRanks, 50);
}

stream.heard.log = data => {
  if (data.first) {
    log.lines = [];
    log.shown = [];
    log.total = 0;
  }
  for (const line of data.lines) {
    know(line[0]);
    log.lines.push(line);
    if (found(line)) log.shown.push(line);
  }
  log.total += data.lines.length;
  const over = log.lines.length - LINES;
  if (over > 0) {
    const gone = log.lines.splice(0, over).filter(found).length;
    log.shown.splice(0, gone);
    if (!log.bottom) log.box.scrollTop -= gone * ROW;
  }
  redraw();
};

stream.heard.end = text => {
  log.ended = true;
  if (text) stream.heard.log({ lines: [[null, text]] });
  redraw();
};

function choose(prefixes) { // the log begins again with those
  log.chosen = new Set(prefixes.length < log.prefixes.size ? prefixes : []);
  log.ended = false;
  const [seen] = stream.id.split('.');
  stream.id = (seen || '0') + '.0.0';
  drawRanks();
  connect();
}

function toggle(prefix) {
  const chosen = new Set(log.chosen);
  if (chosen.has(prefix)) chosen.delete(prefix);
  else chosen.add(prefix);
  choose([...chosen]);
}

const numbers = new Intl.Collator('en', { numeric: true });
function drawRanks() {
  const names = [...log.prefixes].sort(numbers.compare);
  const steps = new Map();
  for (const name of names) {
    const step = name.replace(/-\d+$/, '');
    steps.set(step, [...(steps.get(step) || []), name]);
  }
  const button = (text, pressed, onclick, className) => {
    const b = el('button', { type: 'button', textContent: text, className, onclick });
    b.setAttribute('aria-pressed', String(pressed));
    return b;
  };
  const focused = log.ranks.contains(document.activeElement) ? document.activeElement.textContent : null;
  log.ranks.replaceChildren(...(names.length < 2 ? [] : [
    button('all', !log.chosen.size, () => choose([]), ''),
    ...(steps.size < 2 ? [] : [...steps].filter(([step, of]) => of.length > 1 || of[0] !== step).map(([step, of]) =>
      button(step, of.length === log.chosen.size && of.every(name => log.chosen.has(name)), () => choose(of), ''))),
    ...names.map(name => button(name, log.chosen.has(name), () => toggle(name), colorClass(name))),
  ]));
  for (const b of log.ranks.children) if (b.textContent === focused) b.focus();
}

function pause() {
  log.paused = !log.paused;
  log.button.textContent = log.paused ? 'Resume' : 'Pause';
  connect();
}

function startLog(pre) {
  log.box = el('div', { className: 'log', tabIndex: 0 });
  log.box.setAttribute('role', 'log');
  log.box.setAttribute('aria-live', 'off');
  log.box.setAttribute('aria-label', 'Log');
  log.all = el('div', { className: 'lines' });
  log.box.append(log.all);
  log.count = el('span', { className: 'note' });
  log.ranks = el('div', { className: 'ranks' });
  log.ranks.setAttribute('role', 'group');
  log.ranks.setAttribute('aria-label', 'Ranks');
  log.button = el('button', { type: 'button', textContent: 'Pause', onclick: pause });
  const input = el('input', { type: 'search', placeholder: 'in the lines', value: query.get('find') || '',
    oninput: () => search(input.value), onchange: () => keep('find', input.value) });
  const download = el('a', { className: 'button', href: '/log?job=' + job, textContent: 'Download', download: '' });
  log.box.onscroll = () => {
    log.bottom = log.box.scrollTop + log.box.clientHeight >= log.box.scrollHeight - ROW;
    redraw();
  };
  new ResizeObserver(redraw).observe(log.box);
  log.search = input.value.toLowerCase();
  pre.replaceWith(el('div', { className: 'tools' }, log.button, el('label', {}, 'Search ', input), download, log.count),
    log.ranks, log.box);
}

// ---- plots ---------------------------------------------------------------------------------------
const SHOWN = 12, HUGE = 1e300; // uPlot has no scale for what is larger
const plot = {
  jobs: new Map(), // "ns/name": Map of metrics, each a list of [ms, step, value]
  charts: new Map(), by: 'time', all: false, drawn: false, names: new Set(),
};

stream.heard.points = ([key, name, whole, points]) => {
  const metrics = plot.jobs.get(key) || new Map();
  plot.jobs.set(key, metrics);
  const known = whole ? [] : metrics.get(name) || [];
  const last = known.length ? known[known.length - 1][0] : -Infinity;
  metrics.set(name, known.concat(points.filter(p => p[0] > last)));
  if (!plot.drawn) plot.drawn = setTimeout(drawPlots, 100);
};

stream.heard.past = ([key, why]) => {
  plot.past.textContent = `${key} has reported more, which cannot be read: ${why}`;
  plot.past.hidden = plot.section.hidden = false;
};

const finite = v => v !== null && Math.abs(v) < HUGE ? v : null;

// [xs, ys] of a metric of a job; times begin with the job's first report. A job that goes on from a checkpoint
// repeats steps: those of before are dropped.
function columns(key, name) {
  const metrics = plot.jobs.get(key), xs = [], ys = [];
  const start = metrics ? Math.min(...[...metrics.values()].map(p => p.length ? p[0][0] : Infinity)) : 0;
  for (const [ms, step, value] of metrics && metrics.get(name) || []) {
    const x = plot.by === 'step' ? finite(step) : (ms - start) / 1000;
    if (x === null) continue;
    while (xs.length && xs[xs.length - 1] >= x) {
      xs.pop();
      ys.pop();
    }
    xs.push(x);
    ys.push(finite(value));
  }
  return [xs, ys];
}

function digits(v, n) {
  const rounded = Number(v.toPrecision(n)), size = Math.abs(rounded);
  return size && (size >= 1e7 || size < 1e-4) ? rounded.toExponential() : String(rounded);
}
const short = v => v === null || v === undefined ? '-' : digits(v, 4);
const span = s => plot.by === 'step' ? short(s) : s < 120 ? short(s) + 's' : s < 7200 ? short(s / 60) + 'm' : short(s / 3600) + 'h';

function colorOf(variable) { // as a canvas understands it
  const probe = el('i');
  probe.style.color = `var(${variable})`;
  document.body.append(probe);
  const color = getComputedStyle(probe).color;
  probe.remove();
  return color;
}

// At least a millionth of the values, and at most 20 marks: uPlot's own marks of a range narrower than
// doubles can tell apart never end.
function range(u, low, high) {
  if (low === null || high === null || !isFinite(high - low)) return [0, 1];
  const least = Math.max(Math.abs(low), Math.abs(high)) * 1e-6 || 1;
  const wide = Math.max(high - low, least), middle = low / 2 + high / 2;
  return [middle - wide * 0.52, middle + wide * 0.52];
}

function marks(u, axis, low, high, step, space) {
  const raw = (high - low) / Math.max(2, Math.min(10, (axis ? u.bbox.height : u.bbox.width) / devicePixelRatio / space));
  const unit = 10 ** Math.floor(Math.log10(raw)), by = [1, 2, 5, 10].find(m => m * unit >= raw * 0.999) * unit;
  const first = Math.ceil(low / by), n = Math.floor(high / by) - first + 1;
  return n > 0 && n <= 20 ? Array.from({ length: n }, (_, i) => (first + i) * by) : [];
}

// Points without a neighbor, to which uPlot draws no line and, of many, no mark (uPlot#1042).
function alone(u, s, show) {
  const ys = u.data[s], at = show ? [] : [...ys.keys()].filter(i => ys[i] !== undefined);
  return show ? null : at.filter((i, n) => ys[i] !== null && (ys[at[n - 1]] ?? null) === null && (ys[at[n + 1]] ?? null) === null);
}

function chartOf(name, keys) {
  let chart = plot.charts.get(name);
  const want = keys.join() + plot.by + matchMedia('(prefers-color-scheme: dark)').matches;
  if (chart && chart.want === want) return chart;
  if (chart) chart.u.destroy();
  else {
    chart = { box: el('figure', { className: 'plot' }), legend: el('figcaption'), u: null };
    chart.area = el('div', { className: 'area' });
    chart.box.append(chart.legend, chart.area);
    plot.charts.set(name, chart);
    plot.area.append(chart.box);
  }
  const rule = { stroke: colorOf('--rule'), width: 1 }, axis = { stroke: colorOf('--text'), grid: rule, ticks: rule };
  chart.want = want;
  chart.u = chart.box.uplot = new uPlot({
    width: Math.max(260, chart.area.clientWidth), height: 200, legend: { show: false }, cursor: { drag: { x: true, y: false } },
    scales: { x: { time: false, range }, y: { range } },
    axes: [{ ...axis, splits: marks, values: (u, all) => all.map(span) },
      { ...axis, size: 80, splits: marks, values: (u, all) => all.map(v => digits(v, 8)) }],
    series: [{}, ...keys.map((key, i) => ({ label: key, stroke: colorOf('--r' + i % COLORS), width: 1.5, spanGaps: false, points: { filter: alone } }))],
    hooks: { setCursor: [u => drawLegend(chart, name, keys, u.cursor.idx)] },
  }, [[], ...keys.map(() => [])], chart.area);
  return chart;
}

function drawLegend(chart, name, keys, at) {
  const nodes = keys.map((key, i) => {
    const ys = chart.u.data[i + 1] || [];
    const value = at === null || at === undefined ? ys.findLast(v => v !== null && v !== undefined) : ys[at];
    return el('span', { className: 'r' + i % COLORS }, ` ${keys.length > 1 ? key.split('/')[1] + ' ' : ''}${short(value)}`);
  });
  chart.legend.replaceChildren(el('b', { textContent: name || 'progress, %' }), ...nodes);
}

function drawPlots() {
  plot.drawn = false;
  const keys = stream.plots.filter(key => plot.jobs.has(key));
  const names = [...new Set(keys.flatMap(key => [...plot.jobs.get(key).keys()]))];
  for (const [name, chart] of plot.charts)
    if (!names.includes(name)) {
      chart.u.destroy();
      chart.box.remove();
      plot.charts.delete(name);
    }
  if (!names.length) return;
  const steps = keys.some(key => [...plot.jobs.get(key).values()].some(points => points.some(p => p[1] !== null)));
  plot.section.hidden = false;
  plot.axis.hidden = !steps;
  plot.more.hidden = names.length <= SHOWN || plot.all;
  plot.more.textContent = `Show all ${names.length} metrics`;
  for (const name of plot.all ? names : names.slice(0, SHOWN)) {
    const chart = chartOf(name, keys), tables = keys.map(key => columns(key, name));
    chart.u.setData(tables.length > 1 ? uPlot.join(tables) : tables[0]);
    drawLegend(chart, name, keys, null);
  }
}

function compare(key) {
  if (!/^[a-z0-9.-]+\/[a-z0-9.-]+$/.test(key) || stream.plots.length > 7) return;
  stream.plots = [...new Set([...stream.plots, key])];
  remember();
}

function remember() { // all points come again, and what cannot be read is tried again
  plot.past.hidden = true;
  keep('with', stream.plots.slice(1).join(','));
  stream.id = '0.' + (stream.id.split('.').slice(1).join('.') || '0.0');
  drawCompared();
  drawPlots();
  connect();
}

function drawCompared() {
  plot.compared.replaceChildren(...stream.plots.slice(1).map(key => el('button', {
    type: 'button', textContent: key + ' \u00d7', title: 'Remove from the plots', onclick: () => {
      stream.plots = stream.plots.filter(k => k !== key);
      remember();
    },
  })));
}

plot.offer = data => { // jobs to compare with
  if (data.full) plot.names.clear();
  for (const row of data.rows) plot.names.add(row[0]);
  for (const key of data.gone) plot.names.delete(key);
  plot.list.replaceChildren(...[...plot.names].filter(key => key !== job).sort().slice(0, ROWS).map(key => el('option', { value: key })));
};

function startPlots(head) {
  plot.area = el('div', { className: 'plots' });
  plot.list = el('datalist', { id: 'jobs' });
  plot.compared = el('span');
  const axis = el('select', { onchange: () => { plot.by = axis.value; drawPlots(); } },
    el('option', { value: 'time', textContent: 'time' }), el('option', { value: 'step', textContent: 'step' }));
  plot.axis = el('label', {}, 'Over ', axis);
  const input = el('input', { placeholder: 'namespace/name', onfocus: () => {
    if (!stream.names) {
      stream.names = true;
      stream.id = '0.' + (stream.id.split('.').slice(1).join('.') || '0.0');
      connect();
    }
  }, onchange: () => {
    compare(input.value.trim());
    input.value = '';
  } });
  input.setAttribute('list', 'jobs');
  plot.more = el('button', { type: 'button', hidden: true, onclick: () => { plot.all = true; drawPlots(); } });
  plot.section = el('section', { hidden: true }, el('h2', { id: 'plots', textContent: 'Metrics' }),
    el('div', { className: 'tools' }, plot.axis, el('label', {}, 'Compare with ', input), plot.compared), plot.list, plot.area, plot.more);
  plot.past = el('p', { className: 'note', hidden: true });
  plot.section.append(plot.past);
  head.before(plot.section);
  stream.plots = [job];
  for (const key of (query.get('with') || '').split(',')) if (key && stream.plots.length < 8) stream.plots.push(key);
  drawCompared();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawPlots);
  new ResizeObserver(() => {
    for (const chart of plot.charts.values())
      if (chart.area.clientWidth) chart.u.setSize({ width: Math.max(260, chart.area.clientWidth), height: 200 });
  }).observe(plot.area);
}

// ---- begin ---------------------------------------------------------------------------------------
const pre = document.getElementById('log');
if (list.table) adopt();
if (job && pre) {
  startPlots(document.getElementById('pods') || pre.previousElementSibling);
  startLog(pre);
}
if (list.table || (job && pre)) {
  document.querySelector('header').append(status);
  document.addEventListener('visibilitychange', turn);
  connect();
}
