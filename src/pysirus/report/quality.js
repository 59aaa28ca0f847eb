/* Held-out rows in, how far probabilities can be trusted and used out: metrics, three curves, a table at a threshold.
   Rows come in groups of about equal probability: {probability, members, others}, rising. */
import { ACCENT, CHART, MARK, SOFT, chartWidth, minus } from "./charts.js";
import { byId, el, plural } from "./dom.js";
import { data } from "./data.js";

const quality = { bins: 0, threshold: 0.5 };
const percent = (share, digits = 0) => (isFinite(share) ? `${(100 * share).toFixed(digits)}%` : "–");

/* What is predicted, and what is true, when probabilities from the threshold on are predicted as the class. */
function confusionAt(bins, threshold) {
  const at = { tp: 0, fp: 0, fn: 0, tn: 0 };
  bins.probability.forEach((p, i) => {
    const yes = p >= threshold;
    at[yes ? "tp" : "fn"] += bins.members[i];
    at[yes ? "fp" : "tn"] += bins.others[i];
  });
  return at;
}

/* The points of both curves, from the highest threshold down. */
function curvePoints(bins) {
  const n = d3.sum(bins.members), m = d3.sum(bins.others), points = [{ recall: 0, fall: 0, precision: null }];
  let tp = 0, fp = 0;
  for (let i = bins.probability.length - 1; i >= 0; i--) {
    tp += bins.members[i];
    fp += bins.others[i];
    points.push({ recall: tp / (n || 1), fall: fp / (m || 1), precision: tp / (tp + fp) });
  }
  points[0].precision = points[1].precision;
  return points;
}

/* At most ten groups of about equal weight: what was claimed, what came true, and two standard errors of it. */
function reliability(bins) {
  const total = d3.sum(bins.members) + d3.sum(bins.others), groups = [];
  let before = 0, last = -1;
  bins.probability.forEach((p, i) => {
    const weight = bins.members[i] + bins.others[i], place = Math.min(9, Math.floor(10 * (before + weight / 2) / total));
    if (place !== last) groups.push({ weight: 0, claimed: 0, came: 0 });
    const group = groups[groups.length - 1];
    group.weight += weight;
    group.claimed += weight * p;
    group.came += bins.members[i];
    before += weight;
    last = place;
  });
  return groups.map((g) => {
    const came = g.came / g.weight, reach = 2 * Math.sqrt(came * (1 - came) / g.weight);
    return { claimed: g.claimed / g.weight, came, low: Math.max(0, came - reach), high: Math.min(1, came + reach), weight: g.weight };
  });
}

function square(width, x, y, marks, label) {
  const axis = { domain: [0, 1], ticks: [0, 0.25, 0.5, 0.75, 1], tickFormat: (d) => `${100 * d}%`, grid: true, labelAnchor: "center", labelArrow: "none" };
  const chart = Plot.plot({
    ...CHART, width, height: Math.min(width, 330), marginLeft: 54, marginBottom: 42, marginTop: 12, marginRight: 18,
    x: { ...axis, label: x }, y: { ...axis, label: y }, marks,
  });
  chart.setAttribute("role", "img");
  chart.setAttribute("aria-label", label);
  return chart;
}

function drawReliability(bins, name, width) {
  const groups = reliability(bins);
  return square(width, `predicted probability of ${name}`, "share that came true", [
    Plot.line([[0, 0], [1, 1]], { stroke: SOFT, strokeDasharray: "4,4" }),
    Plot.ruleX(groups, { x: "claimed", y1: "low", y2: "high", stroke: ACCENT, strokeOpacity: 0.45, strokeWidth: 2 }),
    Plot.line(groups, { x: "claimed", y: "came", stroke: ACCENT, strokeOpacity: 0.35 }),
    Plot.dot(groups, { x: "claimed", y: "came", r: 4.5, fill: ACCENT }),
  ], `Predicted probability of ${name} against the share that came true, in ${groups.length} groups`);
}

function drawRoc(bins, name, at, width) {
  const here = [{ fall: at.fp / (at.fp + at.tn || 1), recall: at.tp / (at.tp + at.fn || 1) }];
  return square(width, "others called so by mistake", `${name} found`, [
    Plot.line([[0, 0], [1, 1]], { stroke: SOFT, strokeDasharray: "4,4" }),
    Plot.line(curvePoints(bins), { x: "fall", y: "recall", stroke: ACCENT, strokeWidth: 2.5 }),
    Plot.dot(here, { x: "fall", y: "recall", r: 7, stroke: MARK, strokeWidth: 3, fill: "var(--ground)" }),
  ], `ROC curve of ${name}`);
}

function drawPrecision(bins, name, at, width) {
  const share = d3.sum(bins.members) / (d3.sum(bins.members) + d3.sum(bins.others));
  const found = at.tp + at.fp;
  const here = found ? [{ recall: at.tp / (at.tp + at.fn || 1), precision: at.tp / found }] : [];
  return square(width, `${name} found`, `of those called ${name}, right`, [
    Plot.ruleY([share], { stroke: SOFT, strokeDasharray: "4,4" }),
    Plot.line(curvePoints(bins), { x: "recall", y: "precision", stroke: ACCENT, strokeWidth: 2.5 }),
    Plot.dot(here, { x: "recall", y: "precision", r: 7, stroke: MARK, strokeWidth: 3, fill: "var(--ground)" }),
  ], `Precision against recall of ${name}`);
}

/* ---------------------------------------------------------------------------------------------------- the page */

function countTable(corner, columns, rows) {
  const head = el("tr", {}, el("th", { scope: "col" }, corner), ...columns.map((name) => el("th", { scope: "col" }, name)));
  const body = rows.map(([name, cells, right]) => {
    const total = d3.sum(cells);
    return el("tr", {}, el("th", { scope: "row" }, name), ...cells.map((count, c) => el("td", { class: c === right ? "right" : "wrong" },
      el("b", {}, Math.round(count).toLocaleString("en")), ` ${percent(count / total)}`)));
  });
  return el("table", { class: "counts" }, el("thead", {}, head), el("tbody", {}, ...body));
}

function showThreshold() {
  const bins = data.heldOut.bins[quality.bins], name = data.classes[bins.class], at = confusionAt(bins, quality.threshold);
  byId("threshold-name").textContent = `Call a row “${name}” from this probability on`;
  byId("threshold").value = quality.threshold;
  byId("threshold-value").textContent = percent(quality.threshold);
  byId("threshold").setAttribute("aria-valuetext", `${percent(quality.threshold)}`);
  const other = data.classes.length === 2 ? data.classes[1 - bins.class] : "another class";
  byId("confusion").replaceChildren(countTable("", [`called ${name}`, `called ${other}`], [[`${name}`, [at.tp, at.fn], 0], [`${other}`, [at.fp, at.tn], 1]]));
  const total = at.tp + at.fp + at.fn + at.tn, found = at.tp / (at.tp + at.fn), spared = at.tn / (at.tn + at.fp);
  const pairs = [[`${name} found (recall)`, found], [`of those called ${name}, right (precision)`, at.tp / (at.tp + at.fp)],
    ["others left alone (specificity)", spared], ["accuracy", (at.tp + at.tn) / total], ["balanced accuracy", (found + spared) / 2]];
  byId("rates").replaceChildren(...pairs.map(([what, share]) => el("div", {}, el("dt", {}, what), el("dd", {}, percent(share, 1)))));
  const width = chartWidth(byId("reliability"), 420);
  byId("reliability").replaceChildren(drawReliability(bins, name, width));
  byId("roc").replaceChildren(drawRoc(bins, name, at, width));
  byId("precision").replaceChildren(drawPrecision(bins, name, at, width));
}

export function showQuality() {
  if (data.heldOut && data.heldOut.bins.length) showThreshold();
}

function metricList(metrics) {
  return metrics.map(([name, value, error]) => el("div", {}, el("dt", {}, name), el("dd", {}, minus(value), ...(error ? [el("small", {}, ` ± ${error}`)] : []))));
}

function gridTable(header, rows) {
  const head = el("tr", {}, ...header.map((name) => el("th", { scope: "col" }, name)));
  return el("table", { class: "checks" }, el("thead", {}, head), el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell) => el("td", {}, minus(cell)))))));
}

/* Metrics of rows that the model has, or may have, seen: behind a warning, and folded away. */
function prepareInSample() {
  const { rows, metrics } = data.inSample;
  byId("training").hidden = false;
  byId("training-title").textContent = rows === null ? "Training metrics" : `Metrics of the ${rows.toLocaleString("en")} rows of the table`;
  byId("training-note").textContent = (rows === null ? "These rows were used to learn the rules." : "If the rules were learned from these rows, they are training metrics.")
    + " New rows are usually predicted less well.";
  byId("training-metrics").append(...metricList(metrics));
}

export function prepareQuality() {
  if (data.later) {
    byId("quality-later").hidden = false;
    byId("quality-later").textContent = minus(`${data.later[0].toUpperCase()}${data.later.slice(1)}.`);
  }
  if (!data.heldOut && data.sizes[data.chosen].error === null) {
    byId("quality").hidden = byId("unvalidated").hidden = false;
    byId("quality-note").hidden = true;
  }
  if (data.inSample) prepareInSample();
  if (!data.heldOut) return;
  const { how, nRules, metrics, bins, confusion, forward } = data.heldOut;
  byId("quality").hidden = false;
  const source = forward ? `${how[0].toUpperCase()}${how.slice(1)}.` : `By ${how}: every row is predicted by a list that was fitted without it.`;
  byId("quality-note").textContent = `${source} The metrics refer to lists like the chosen one`
    + ` (${plural(nRules, "rule")})${metrics.some((f) => f[2]) ? ", with standard errors" : ""}.`;
  byId("quality-metrics").append(...metricList(metrics));
  if (forward) {
    byId("quality-forward").hidden = false;
    byId("quality-forward").append(gridTable(...forward));
  }
  if (!bins.length) return;
  byId("quality-charts").hidden = false;
  if (bins.length > 1) {
    byId("quality-class-box").hidden = false;
    byId("quality-class").append(...bins.map((own, i) => el("option", { value: i }, data.classes[own.class])));
    byId("quality-class").addEventListener("change", (event) => { quality.bins = +event.target.value; showThreshold(); });
    if (confusion) {
      byId("all-classes").hidden = false;
      byId("all-confusion").append(countTable("", data.classes.map((name) => `called ${name}`), confusion.map((row, c) => [data.classes[c], row, c])));
    }
  }
  byId("threshold").addEventListener("input", (event) => { quality.threshold = +event.target.value; showThreshold(); });
}
