"use strict";
/* Data in, SVG out. Charts are drawn by Observable Plot; colours are variables of the style sheet, so light, dark and
   print need no redrawing. Every function returns an element. */

const INK = "currentColor", ACCENT = "var(--accent)", SOFT = "var(--soft)", MARK = "var(--mark)";
const CHART = { style: { background: "transparent", color: "inherit", fontSize: "12px" } };

function format(value, digits = 3) {
  if (value === null || value === undefined || !isFinite(value)) return "";
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  return size < -6 || size >= 12 ? value.toPrecision(digits) : value.toFixed(Math.max(0, digits - 1 - size));
}

/* The error and stability of every size; `pick(i)` is called when a point is clicked or chosen by key. */
function drawPareto(data, current, pick, width) {
  const points = data.sizes.map((s, i) => ({ i, error: s.error, stability: s.stability, n: s.nPositive }));
  const path = data.path.error.map((error, i) => ({ error, stability: data.path.stability[i], n: data.path.n_rules[i] }));
  const chart = Plot.plot({
    ...CHART, width, height: 320, marginLeft: 48, marginBottom: 42, grid: true,
    x: { label: "stability →", nice: true }, y: { label: `↑ ${data.errorName}`, nice: true },
    marks: [
      Plot.line(path, { x: "stability", y: "error", stroke: SOFT, strokeOpacity: 0.35 }),
      Plot.dot(points, { x: "stability", y: "error", r: 6, fill: ACCENT, fillOpacity: 0.55, stroke: "var(--ground)", className: "points" }),
      Plot.dot(points.slice(current, current + 1), { x: "stability", y: "error", r: 10, stroke: MARK, strokeWidth: 3 }),
      Plot.text(points.slice(current, current + 1), { x: "stability", y: "error", text: (d) => `${d.n} rule${d.n === 1 ? "" : "s"}`, dy: -20, fontWeight: 700, fill: INK, stroke: "var(--ground)", strokeWidth: 5 }),
    ],
  });
  chart.setAttribute("role", "group");
  chart.setAttribute("aria-label", `${data.errorName} against stability, one point for each size`);
  chart.querySelectorAll(".points circle").forEach((circle, i) => {
    const s = data.sizes[i];
    circle.dataset.size = i;
    circle.setAttribute("tabindex", "0");
    circle.setAttribute("role", "button");
    circle.setAttribute("aria-pressed", String(i === current));
    circle.setAttribute("aria-label", `${s.nPositive} rules: ${data.errorName} ${format(s.error)}, stability ${format(s.stability, 2)}`);
    circle.addEventListener("click", () => pick(i));
    circle.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(i, true); }
    });
  });
  return chart;
}

/* Error and stability against the number of rules in the lists of folds, on average, with two standard errors. */
function drawPath(data, current, width) {
  const rows = ["error", "stability"].flatMap((name) => data.path[name].map((value, i) => ({
    name: name === "error" ? data.errorName : name, value, n: data.path.n_rules[i],
    low: Math.max(0, value - 2 * data.path[`${name}_se`][i]),
    high: Math.min(name === "stability" ? 1 : Infinity, value + 2 * data.path[`${name}_se`][i]),
  }))).sort((a, b) => a.n - b.n);
  const s = data.sizes[current], here = s.perFold;
  const now = [{ name: data.errorName, value: s.error, n: here }, { name: "stability", value: s.stability, n: here }];
  const chart = Plot.plot({
    ...CHART, width, height: 320, marginLeft: 48, marginBottom: 42, marginRight: 16, grid: true,
    x: { label: "rules per fold, on average →" }, y: { label: null, nice: true },
    color: { domain: [data.errorName, "stability"], range: ["var(--down)", "var(--accent)"], legend: false },
    marks: [
      Plot.areaY(rows, { x: "n", y1: "low", y2: "high", fill: "name", fillOpacity: 0.18 }),
      Plot.line(rows, { x: "n", y: "value", stroke: "name", strokeWidth: 2 }),
      Plot.ruleX([here], { stroke: MARK, strokeDasharray: "3,3" }),
      Plot.dot(now, { x: "n", y: "value", fill: "name", r: 5 }),
      Plot.text(rows, Plot.selectLast({ x: "n", y: "value", z: "name", text: "name", textAnchor: "end", dy: -14, fill: "name", fontWeight: 600, stroke: "var(--ground)", strokeWidth: 5 })),
    ],
  });
  chart.setAttribute("role", "img");
  chart.setAttribute("aria-label", `${data.errorName} and stability against the number of rules per fold`);
  return chart;
}

/* The levels of one feature: a dot each, above their names where these are few and short, else beside them. */
function drawLevels(rows, domain, base) {
  const width = base.width, longest = d3.max(rows, (d) => d.label.length);
  if (rows.length * (6.6 * longest + 7) <= width - 64) {
    return Plot.plot({
      ...base, x: { type: "band", domain: rows.map((d) => d.key), label: null, tickSize: 0, tickFormat: (key) => rows[key].label },
      marks: [Plot.ruleX(rows, { x: "key", y1: domain[0], y2: "value", stroke: ACCENT, strokeOpacity: 0.3 }), Plot.dot(rows, { x: "key", y: "value", fill: ACCENT, r: 5 })],
    });
  }
  const left = Math.min(0.55 * width, 18 + 7.2 * longest), room = Math.floor((left - 18) / 7.2);
  const name = (key) => {  /* how many it stands for stays */
    const label = rows[key].label, tail = (/ and \d+ more$/.exec(label) || [""])[0];
    return label.length > room ? label.slice(0, room - 1 - tail.length) + "…" + tail : label;
  };
  return Plot.plot({
    ...CHART, width, height: 30 + 20 * rows.length, marginLeft: left, marginTop: 4, marginBottom: 26,
    x: { domain, grid: true, label: null, ticks: Math.max(2, Math.floor((width - left) / 60)) },
    y: { type: "band", domain: rows.map((d) => d.key), label: null, tickSize: 0, tickFormat: name },
    marks: [
      Plot.ruleY(rows, { y: "key", x1: domain[0], x2: "value", stroke: ACCENT, strokeOpacity: 0.3 }),
      Plot.dot(rows, { x: "value", y: "key", fill: ACCENT, r: 4.5, title: "label" }),
    ],
  });
}

/* One feature: steps between its thresholds, or a dot for each level; missing values stand apart. */
function drawEffect(effect, domain, values, width, lines = null) {
  const missing = effect.hasMissing ? values[values.length - 1] : null;
  const known = effect.hasMissing ? values.slice(0, -1) : values;
  const base = { ...CHART, width, height: 170, marginLeft: 44, marginBottom: 34, y: { domain, grid: true, label: null, ticks: 4 } };
  if (!effect.numeric || !effect.edges.length) {  /* of a number without thresholds, rules ask whether it is known */
    const labels = effect.numeric ? ["known", ...effect.labels] : effect.labels;
    return drawLevels(values.map((value, i) => ({ value, key: i, label: labels[i] })), domain, base);
  }
  const edges = effect.edges, span = (edges[edges.length - 1] - edges[0]) || (effect.names ? 365 : Math.abs(edges[0])) || 1;  /* names: edges are dates, in days */
  const ends = [edges[0] - 0.3 * span, ...edges, edges[edges.length - 1] + 0.3 * span];
  const sides = lines || known.map((value) => [value, value]);  /* a step is level, unless a slope is in it */
  const rows = sides.map(([y1, y2], i) => ({ y1, y2, x1: ends[i], x2: ends[i + 1] }));
  const jumps = edges.map((x, i) => ({ x, y1: sides[i][1], y2: sides[i + 1][0] }));
  const marks = [
    Plot.link(rows, { x1: "x1", y1: "y1", x2: "x2", y2: "y2", stroke: ACCENT, strokeWidth: 2.5 }),
    Plot.ruleX(jumps, { x: "x", y1: "y1", y2: "y2", stroke: ACCENT, strokeWidth: 1 }),
  ];
  if (missing !== null) {
    const at = [{ x: ends[ends.length - 1] + 0.15 * span, y: missing }];
    marks.push(Plot.dot(at, { x: "x", y: "y", fill: ACCENT, r: 5 }), Plot.text(at, { x: "x", y: "y", text: () => "missing", dy: -12, fill: INK }));
  }
  const right = ends[ends.length - 1] + (missing === null ? 0 : 0.35 * span), pixel = (width - 64) / (right - ends[0]);
  const name = (edge) => effect.names ? effect.names[edges.indexOf(edge)] : String(+format(edge, 5)), ticks = [];
  for (const edge of edges) {  /* a threshold whose name would run into the last one stays unnamed */
    const last = ticks[ticks.length - 1];
    if (!ticks.length || (edge - last) * pixel > 3.7 * (name(edge).length + name(last).length) + 6) ticks.push(edge);
  }
  return Plot.plot({ ...base, x: { label: null, ticks, tickFormat: name, domain: [ends[0], right] }, marks });
}

/* The steps from the average to one prediction; `steps` are {text, fired, value}. `texts` are what the scores at both
   ends stand for, where steps are points of a score. */
function drawWaterfall(start, steps, end, name, width, texts = null, first = "average training row") {
  let level = start;
  const rows = steps.map((step) => { const from = level; level += step.value; return { ...step, from, to: level }; });
  const narrow = width < 560;
  const label = (d) => (d.fired ? d.text : `not (${d.text})`);
  const left = narrow ? 8 : Math.min(340, 40 + 6.4 * d3.max([...rows, { text: first, fired: true }], (d) => label(d).length));
  const keys = [first, ...rows.map((_, i) => `r${i}`), "prediction"];
  const names = { ...Object.fromEntries(rows.map((d, i) => [`r${i}`, label(d)])) };
  const short = (text, n) => text.length > n ? text.slice(0, n - 1) + "…" : text;
  const room = narrow ? Math.floor(width / 6.6) : 50;
  const fit = (text) => {  /* beside the bars there is room for two lines */
    const cut = narrow || text.length <= room ? -1 : text.lastIndexOf(" ", room);
    return cut > 0 ? `${text.slice(0, cut)}\n${short(text.slice(cut + 1), room)}` : short(text, room);
  };
  const all = [start, end, ...rows.map((d) => d.to)], span = d3.max(all) - d3.min(all) || 1;
  const decimals = Math.max(0, Math.min(12, 2 - Math.floor(Math.log10(span))));
  const chart = Plot.plot({
    ...CHART, width, height: 60 + keys.length * (narrow ? 40 : 28), marginLeft: left, marginTop: narrow ? 30 : 20, marginBottom: 40, marginRight: texts ? 110 : 56,
    x: { label: `${name} →`, grid: true, domain: [d3.min(all) - 0.03 * span, d3.max(all) + 0.03 * span] },
    y: { type: "band", domain: keys, label: null, axis: null, paddingInner: narrow ? 0.55 : 0.25 },
    marks: [
      Plot.barX(rows, { y: (_, i) => `r${i}`, x1: "from", x2: "to", fill: (d) => d.value >= 0 ? "var(--up)" : "var(--down)" }),
      Plot.text(rows, { y: (_, i) => `r${i}`, x: (d) => Math.max(d.from, d.to), text: (d) => (d.value >= 0 ? "+" : "−") + Math.abs(d.value).toFixed(decimals), textAnchor: "start", dx: 5, fill: INK }),
      Plot.dot([{ x: start, y: first }, { x: end, y: "prediction" }], { x: "x", y: "y", symbol: "diamond", fill: INK, r: 6 }),
      Plot.text([{ x: start, y: first }, { x: end, y: "prediction" }], { x: "x", y: "y", text: (d, i) => texts ? `${format(d.x, 3)} = ${texts[i]}` : format(d.x, 4), textAnchor: "start", dx: 9, fontWeight: 700, fill: INK }),
      Plot.text(keys, { y: (d) => d, frameAnchor: "left", text: (d) => fit(names[d] || d), textAnchor: narrow ? "start" : "end", dx: narrow ? 0 : -8, dy: narrow ? -17 : 0, fill: INK }),
    ],
  });
  chart.setAttribute("role", "img");
  chart.setAttribute("aria-label", `From the average ${format(start, 4)} to the prediction ${format(end, 4)}`);
  return chart;
}
