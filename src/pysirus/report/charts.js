/* Data in, SVG out. Charts are drawn by Observable Plot; colours are variables of the style sheet, so light, dark and
   print need no redrawing. Every function returns an element. */

export const INK = "currentColor", ACCENT = "var(--accent)", SOFT = "var(--soft)", MARK = "var(--mark)";
/* The words on charts; who speaks another language changes them. */
export const SAY = {
  stability: "stability between folds", ideal: "ideal", rule: "rule", rules: "rules", missing: "missing", prediction: "prediction", not: "not",
  against: (error) => `${error} against stability between folds, one point for each size`,
  steps: (start, end) => `From the average ${start} to the prediction ${end}`,
};
export const CHART = { style: { background: "transparent", color: "inherit", fontSize: "12px" } };

/* The hyphens before numbers in a text as minus signs; those in names stay. */
export const minus = (text) => String(text).replace(/(^|< |= |is |from |to |then |else |and |between |outputs |log-odds |\(|: |\/ )-(?=[\d.])/g, "$1−");

function plainFormat(value, digits = 3) {
  if (value === null || value === undefined || !isFinite(value)) return "";
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  return size < -6 || size >= 12 ? value.toPrecision(digits) : value.toFixed(Math.max(0, digits - 1 - size));
}

export const format = (value, digits = 3) => minus(plainFormat(value, digits));
export const tick = (value) => minus(+(+value).toPrecision(6));

function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const placeOf = (value, [low, high]) => `${(100 * (value - low) / (high - low || 1)).toFixed(2)}%`;

/* A chart with a name of its own instead of those of its marks. */
export function named(chart, role, label) {
  for (const part of chart.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label");
  chart.setAttribute("role", role);
  chart.setAttribute("aria-label", label);
  return chart;
}

/* How wide a chart is drawn in a box. */
export const chartWidth = (box, most) => Math.max(220, Math.min(most, box.parentElement.clientWidth || most));

/* What a rule says where it applies, a dot, and where not, a ring, on the axis that all rules share; `middle` is what no
   rule would say. Places are in percent, so it fits any width, also on paper. */
export function drawSides({ inside, outside, middle, up }, domain, label) {
  const y = 13, colour = up ? "var(--up)" : "var(--down)", at = (value) => placeOf(value, domain);
  const marks = middle === null ? [] : [svg("line", { x1: at(middle), x2: at(middle), y1: 0, y2: 26, stroke: SOFT, "stroke-dasharray": "2,3" })];
  marks.push(svg("line", { x1: at(outside), x2: at(inside), y1: y, y2: y, stroke: colour, "stroke-width": 2.5, "stroke-opacity": 0.45 }));
  marks.push(svg("circle", { cx: at(outside), cy: y, r: 4.5, fill: "var(--panel)", stroke: colour, "stroke-width": 1.8, class: "else" }));
  marks.push(svg("circle", { cx: at(inside), cy: y, r: 5.2, fill: colour, class: "then" }));
  return svg("svg", { width: "100%", height: 26, class: "sides", role: "img", "aria-label": label }, ...marks);
}

/* The axis of those plots: at most five numbers. */
export function drawSidesAxis(domain, ticks, name) {
  const marks = ticks.flatMap((value) => [
    svg("line", { x1: placeOf(value, domain), x2: placeOf(value, domain), y1: 16, y2: 20, stroke: SOFT }),
    svg("text", { x: placeOf(value, domain), y: 12, "text-anchor": "middle" }, name(value)),
  ]);
  return svg("svg", { width: "100%", height: 20, "aria-hidden": "true" }, svg("line", { x1: 0, x2: "100%", y1: 20, y2: 20, stroke: "var(--line)" }), ...marks);
}

/* The error and stability of every size; `pick(i)` is called when a point is clicked or chosen by key. */
export function drawPareto(data, current, pick, width) {
  const points = data.sizes.map((s, i) => ({ i, error: s.error, stability: s.stability, n: s.nPositive }));
  const path = data.path.error.map((error, i) => ({ error, stability: data.path.stability[i], n: data.path.n_rules[i] }));
  const here = points[current], ideal = data.ideal === null ? [] : [{ stability: data.ideal, error: 0 }];
  const chart = Plot.plot({
    ...CHART, width, height: 320, marginLeft: 48, marginBottom: 42, marginRight: 30, insetBottom: 10, grid: true,
    x: { label: `${SAY.stability} →`, nice: true, tickFormat: tick }, y: { label: `↑ ${data.errorName}`, nice: true, zero: ideal.length > 0, tickFormat: tick },
    marks: [
      Plot.line(path, { x: "stability", y: "error", stroke: SOFT, strokeOpacity: 0.35 }),
      Plot.link(ideal, { x1: here.stability, y1: here.error, x2: "stability", y2: "error", stroke: MARK, strokeDasharray: "3,3" }),
      Plot.dot(ideal, { x: "stability", y: "error", symbol: "star", r: 8, fill: INK, className: "ideal" }),
      Plot.text(ideal, { x: "stability", y: "error", text: () => SAY.ideal, dy: -14, fill: INK, stroke: "var(--ground)", strokeWidth: 5 }),
      Plot.dot(points, { x: "stability", y: "error", r: 6, fill: ACCENT, fillOpacity: 0.55, stroke: "var(--ground)", className: "points" }),
      Plot.dot(points.slice(current, current + 1), { x: "stability", y: "error", r: 10, stroke: MARK, strokeWidth: 3 }),
      Plot.text(points.slice(current, current + 1), { x: "stability", y: "error", text: (d) => `${d.n} ${d.n === 1 ? SAY.rule : SAY.rules}`, dy: -20, fontWeight: 700, fill: INK, stroke: "var(--ground)", strokeWidth: 5 }),
    ],
  });
  named(chart, "group", SAY.against(data.errorName));
  chart.querySelectorAll(".points circle").forEach((circle, i) => {
    const s = data.sizes[i];
    circle.dataset.size = i;
    circle.setAttribute("tabindex", "0");
    circle.setAttribute("role", "button");
    circle.setAttribute("aria-pressed", String(i === current));
    circle.setAttribute("aria-label", `${s.nPositive} ${SAY.rules}: ${data.errorName} ${format(s.error)}, ${SAY.stability} ${format(s.stability, 2)}`);
    circle.addEventListener("click", () => pick(i));
    circle.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(i, true); }
    });
  });
  return chart;
}

/* Error and stability against the number of rules of the list, with two standard errors: a dot for each list. */
export function drawPath(data, current, width) {
  const rows = ["error", "stability"].flatMap((name) => data.sizes.map((size) => ({
    name: name === "error" ? data.errorName : SAY.stability, value: size[name], n: size.nPositive,
    low: Math.max(0, size[name] - 2 * size[`${name}Se`]),
    high: Math.min(name === "stability" ? 1 : Infinity, size[name] + 2 * size[`${name}Se`]),
  }))).sort((a, b) => a.n - b.n);
  const s = data.sizes[current], here = s.nPositive;
  const now = [{ name: data.errorName, value: s.error, n: here }, { name: SAY.stability, value: s.stability, n: here }];
  const chart = Plot.plot({
    ...CHART, width, height: 320, marginLeft: 48, marginBottom: 42, marginRight: 16, grid: true,
    x: { label: "rules in the list →", zero: true, tickFormat: (n) => n % 1 ? "" : tick(n) }, y: { label: null, nice: true, zero: true, tickFormat: tick },
    color: { domain: [data.errorName, SAY.stability], range: ["var(--down)", "var(--accent)"], legend: false },
    marks: [
      Plot.ruleX(rows, { x: "n", y1: "low", y2: "high", stroke: "name", strokeOpacity: 0.4, strokeWidth: 2 }),
      Plot.line(rows, { x: "n", y: "value", stroke: "name", strokeOpacity: 0.4 }),
      Plot.dot(rows, { x: "n", y: "value", fill: "name", r: 2.5 }),
      Plot.ruleX([here], { stroke: MARK, strokeDasharray: "3,3" }),
      Plot.dot(now, { x: "n", y: "value", fill: "name", r: 5 }),
      /* stability falls to its end: there is room below it */
      ...[[data.errorName, -14, "var(--down-text)"], [SAY.stability, 16, "var(--accent)"]].map(([name, dy, fill]) =>
        Plot.text(rows.filter((d) => d.name === name), Plot.selectLast({ x: "n", y: "value", text: "name", textAnchor: "end", dy, fill, fontWeight: 600, stroke: "var(--ground)", strokeWidth: 5 }))),
    ],
  });
  named(chart, "img", `${data.errorName} and ${SAY.stability} against the number of rules`);
  return chart;
}

/* The levels of one feature: a dot each, above their names where these are few and short, else beside them. */
function drawLevels(rows, domain, base) {  /* `share` is how many of the rows have the level */
  const width = base.width, longest = d3.max(rows, (d) => d.label.length);
  if (rows.length * (6.6 * longest + 7) <= width - 64) {
    return Plot.plot({
      ...base, x: { type: "band", domain: rows.map((d) => d.key), label: null, tickSize: 0, tickFormat: (key) => rows[key].label },
      marks: [
        Plot.ruleX(rows, { x: "key", y1: domain[0], y2: "value", stroke: ACCENT, strokeOpacity: 0.3 }),
        Plot.dot(rows, { x: "key", y: "value", fill: ACCENT, r: 5 }),
        Plot.text(rows.filter((d) => d.share !== undefined), { x: "key", y: "value", text: (d) => `${Math.round(100 * d.share)}%`, dx: 9, textAnchor: "start", fill: SOFT }),
      ],
    });
  }
  const left = Math.min(0.55 * width, 18 + 7.2 * longest), room = Math.floor((left - 18) / 7.2);
  const name = (key) => {  /* how many it stands for stays */
    const label = rows[key].label, tail = (/ and \d+ more$/.exec(label) || [""])[0];
    return label.length > room ? label.slice(0, room - 1 - tail.length) + "…" + tail : label;
  };
  return Plot.plot({
    ...CHART, width, height: 46 + 20 * rows.length, marginLeft: left, marginTop: 4, marginBottom: 40, marginRight: 34,
    x: { domain, grid: true, label: base.y.label, labelAnchor: "center", labelArrow: "none", ticks: Math.max(2, Math.floor((width - left) / 60)), tickFormat: tick },
    y: { type: "band", domain: rows.map((d) => d.key), label: null, tickSize: 0, tickFormat: name },
    marks: [
      Plot.ruleY(rows, { y: "key", x1: domain[0], x2: "value", stroke: ACCENT, strokeOpacity: 0.3 }),
      Plot.dot(rows, { x: "value", y: "key", fill: ACCENT, r: 4.5, title: "label" }),
      Plot.text(rows.filter((d) => d.share !== undefined), { y: "key", frameAnchor: "right", text: (d) => `${Math.round(100 * d.share)}%`, dx: 32, fill: SOFT }),
    ],
  });
}

/* One feature: steps between its thresholds, or a dot for each level; missing values stand apart. */
export function drawEffect(effect, domain, values, width, lines = null, what = null) {
  const missing = effect.hasMissing ? values[values.length - 1] : null;
  const known = effect.hasMissing ? values.slice(0, -1) : values;
  const base = { ...CHART, width, height: 190, marginLeft: 44, marginTop: 26, marginBottom: 34, y: { domain, grid: true, label: what, labelArrow: "none", ticks: 4, tickFormat: tick } };
  if (!effect.numeric || !effect.edges.length) {  /* of a number without thresholds, rules ask whether it is known */
    const labels = effect.numeric ? ["known", ...effect.labels] : effect.labels;
    return drawLevels(values.map((value, i) => ({ value, key: i, label: labels[i], share: effect.shares?.[i] })), domain, base);
  }
  const edges = effect.edges, span = (edges[edges.length - 1] - edges[0]) || (effect.names ? 365 : Math.abs(edges[0])) || 1;  /* names: edges are dates, in days */
  const range = effect.range || [edges[0] - 0.3 * span, edges[edges.length - 1] + 0.3 * span];  /* of the rows, where it is known */
  const ends = [Math.min(range[0], edges[0]), ...edges, Math.max(range[1], edges[edges.length - 1])];
  const sides = lines || known.map((value) => [value, value]);  /* a step is level, unless a slope is in it */
  const rows = sides.map(([y1, y2], i) => ({ y1, y2, x1: ends[i], x2: ends[i + 1] }));
  const jumps = edges.map((x, i) => ({ x, y1: sides[i][1], y2: sides[i + 1][0] }));
  const marks = [
    Plot.link(rows, { x1: "x1", y1: "y1", x2: "x2", y2: "y2", stroke: ACCENT, strokeWidth: 2.5 }),
    Plot.ruleX(jumps, { x: "x", y1: "y1", y2: "y2", stroke: ACCENT, strokeWidth: 1 }),
  ];
  if (effect.deciles) marks.push(Plot.tickX(effect.deciles, { y: null, x: (d) => d, frameAnchor: "bottom", stroke: SOFT, strokeOpacity: 0.7, insetTop: 129 - 10 }));
  const wide = ends[ends.length - 1] - ends[0] || span;
  if (missing !== null) {
    const at = [{ x: ends[ends.length - 1] + 0.15 * wide, y: missing }];
    marks.push(Plot.dot(at, { x: "x", y: "y", fill: ACCENT, r: 5 }), Plot.text(at, { x: "x", y: "y", text: () => SAY.missing, dy: -12, fill: INK }));
  }
  const right = ends[ends.length - 1] + (missing === null ? 0 : 0.35 * wide), pixel = (width - 64) / (right - ends[0]);
  const known_names = effect.names ? new Map([...edges.map((edge, i) => [edge, effect.names[i]]), ...range.map((end, i) => [end, (effect.rangeNames || [])[i] || ""])]) : null;
  const name = (edge) => known_names ? known_names.get(edge) : tick(plainFormat(edge, 5));
  const fits = (a, b) => Math.abs(a - b) * pixel > 3.7 * (name(a).length + name(b).length) + 6;
  const ticks = [];  /* thresholds first, then both ends of the range; a name that would run into another is left out */
  for (const edge of [...edges, ...(effect.range ? [ends[0], ends[ends.length - 1]] : [])]) {
    if (ticks.every((other) => fits(edge, other))) ticks.push(edge);
  }
  ticks.sort((a, b) => a - b);
  return Plot.plot({ ...base, x: { label: null, ticks, tickFormat: name, domain: [ends[0], right] }, marks });
}

/* The steps from the average to one prediction; `steps` are {text, fired, value}. `texts` are what the scores at both
   ends stand for, where steps are points of a score. */
export function drawWaterfall(start, steps, end, name, width, texts = null, first = "average training row") {
  let level = start;
  const rows = steps.map((step) => { const from = level; level += step.value; return { ...step, from, to: level }; });
  const narrow = width < 560;
  const label = (d) => minus(d.fired ? d.text : `${SAY.not} (${d.text})`);
  const left = narrow ? 8 : Math.min(340, 40 + 6.4 * d3.max([...rows, { text: first, fired: true }], (d) => label(d).length));
  const keys = [first, ...rows.map((_, i) => `r${i}`), SAY.prediction];
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
    x: { label: `${name} →`, grid: true, tickFormat: tick, domain: [d3.min(all) - 0.03 * span, d3.max(all) + 0.03 * span] },
    y: { type: "band", domain: keys, label: null, axis: null, paddingInner: narrow ? 0.55 : 0.25 },
    marks: [
      Plot.barX(rows, { y: (_, i) => `r${i}`, x1: "from", x2: "to", fill: (d) => d.value >= 0 ? "var(--up)" : "var(--down)" }),
      Plot.text(rows, { y: (_, i) => `r${i}`, x: (d) => Math.max(d.from, d.to), text: (d) => (d.value >= 0 ? "+" : "−") + Math.abs(d.value).toFixed(decimals), textAnchor: "start", dx: 5, fill: INK }),
      Plot.dot([{ x: start, y: first }, { x: end, y: SAY.prediction }], { x: "x", y: "y", symbol: "diamond", fill: INK, r: 6 }),
      Plot.text([{ x: start, y: first }, { x: end, y: SAY.prediction }], { x: "x", y: "y", text: (d, i) => texts ? `${format(d.x, 3)} = ${texts[i]}` : format(d.x, 4), textAnchor: "start", dx: 9, fontWeight: 700, fill: INK }),
      Plot.text(keys, { y: (d) => d, frameAnchor: "left", text: (d) => fit(names[d] || d), textAnchor: narrow ? "start" : "end", dx: narrow ? 0 : -8, dy: narrow ? -17 : 0, fill: INK }),
    ],
  });
  named(chart, "img", SAY.steps(format(start, 4), format(end, 4)));
  return chart;
}
