/* The page: one state (size, class, row) and functions that show it. All data is put on the page as text. */
import { chartWidth, drawEffect, drawPareto, drawPath, drawSides, drawSidesAxis, drawWaterfall, format, minus, tick } from "./charts.js";
import { byId, el, plural, switchTheme } from "./dom.js";
import { data, state } from "./data.js";
import { prepareQuality, showQuality } from "./quality.js";

const inUse = (size) => data.rules.map((_, r) => r).filter((r) => data.sizes[size].weights[r] || (data.rules[r].given && r < data.sizes[size].weights.length));

/* What outputs or scores say of class k. Scores of classes matter by their differences: of two the log-odds of k, of more
   the distance from their mean. */
function part(value, k) {
  if (!Array.isArray(value)) return value;
  if (data.link !== "softmax") return value[k];
  return value.length === 2 ? value[k] - value[1 - k] : value[k] - d3.mean(value);
}

const scored = data.link !== "identity";
const hazard = data.link === "hazard";
const staged = data.rules.some((rule) => rule.stage > 1), hasSlopes = data.rules.some((rule) => rule.line);
const addends = staged && !scored && !data.classes;  /* numbers in stages: some outputs are means and others residuals, so each rule says what it adds */
const factor = (score, digits = 3) => `×${format(Math.exp(score), digits)}`;
const scaleName = (k) => !data.classes ? data.scaleName : `${data.classes.length === 2 ? "log-odds" : "score"} of ${data.classes[k]}`;

/* What scores of all classes stand for in class k; of two classes each has its log-odds. */
function respond(scores, k) {
  if (data.link === "log") return Math.exp(scores[0]);
  if (data.link !== "softmax") return scores[k];
  if (scores.length === 2) return 1 / (1 + Math.exp(-scores[k]));
  const top = d3.max(scores);
  return Math.exp(scores[k] - top) / d3.sum(scores, (s) => Math.exp(s - top));
}

/* ---------------------------------------------------------------------------------------------------- size */

/* The error and the stability of a size as people say them, with their names. */
function inWords(size) {
  const named = `${data.errorName} ${format(size.error, 3)}`;
  const what = scored && !hazard ? "deviance" : data.classes || hazard ? null : "variance";
  const share = size.error < 1 ? `${Math.round(100 * (1 - size.error))}%` : "none";
  const back = `${Math.round(size.stability * size.nPositive)} of ${plural(size.nPositive, "rule")} selected again`;
  return [what ? `explains ${share} of the ${what} (${named})` : named, `${back} (stability between folds ${format(size.stability, 2)})`];
}

function showSize() {
  const size = data.sizes[state.size], chosen = data.sizes[data.chosen];
  const lead = [`${plural(size.nPositive, "rule")} for ${data.target}`, data.classes ? `${data.classes.length} classes` : data.outcome || `mean ${format(data.mean, 4)}`];
  if (size.error !== null) lead.push(...inWords(size));
  else if (!data.heldOut) lead.push("not validated");
  byId("lead").textContent = lead.join(" · ");
  if (!data.path) return;
  byId("slider").value = state.size + 1;
  byId("slider").setAttribute("aria-valuetext", `${plural(size.nPositive, "rule")}, ${data.errorName} ${format(size.error)}, stability between folds ${format(size.stability, 2)}`);
  byId("slider-value").textContent = size.nPositive;
  byId("error").textContent = format(size.error, 3);
  byId("stability").textContent = format(size.stability, 2);
  byId("numbers").textContent = size.numbers;
  const now = new Set(inUse(state.size)), then = new Set(inUse(data.chosen));
  const came = [...now].filter((r) => !then.has(r)).length, went = [...then].filter((r) => !now.has(r)).length;
  byId("compared").textContent = state.size === data.chosen ? "this is the chosen list" : `${now.size - came} kept, ${came} added, ${went} removed`;
  byId("sentence").textContent = minus(size.sentence);
  byId("reason").textContent = data.reason;
  byId("reset").textContent = `Back to the chosen list (${plural(chosen.nPositive, "rule")})`;
  byId("reset").disabled = state.size === data.chosen;
}

function showPath() {
  if (!data.path) return;
  const width = chartWidth(byId("pareto"), 560);
  byId("path-bars").hidden = !data.sizes.some((size) => size.errorSe);
  byId("pareto").replaceChildren(drawPareto(data, state.size, pickSize, width));
  byId("path").replaceChildren(drawPath(data, state.size, width));
}

function pickSize(size, focus = false) {
  state.size = size;
  showAll();
  if (focus) document.querySelector(`#pareto circle[data-size="${size}"]`).focus();
}

/* --------------------------------------------------------------------------------------------------- rules */

/* What stands below a rule: a name and a value each. */
function factsOf(pairs) {
  return el("p", { class: "facts" }, ...pairs.map(([name, text]) => el("span", {}, el("span", { class: "name" }, name), " ", el("span", { class: "value" }, text))));
}

function ruleCard(r, status, top, number) {
  const rule = data.rules[r], weight = data.sizes[state.size].weights[r] || 0;
  const word = (text) => el("span", { class: "word" }, text);
  const points = scored || addends ? pointsOf(r) : null;
  const [inside, outside] = addends ? pairTexts(points) : [rule.insideText, rule.outsideText].map(minus);
  const sentence = rule.line ? el("p", { class: "sentence" }, minus(lineOf(r).text))
    : el("p", { class: "sentence" }, word("if "), minus(rule.text), word(" then "),
      el("span", { class: "output" }, inside), word(" else "), el("span", { class: "output" }, outside));
  const label = { came: "comes", went: "goes" }[status];
  if (rule.effect) sentence.append(el("span", { class: "badge" }, minus(`fixed effect ${rule.effect}`)));
  if (label) sentence.append(el("span", { class: "badge" }, label));
  const again = data.sizes[state.size].returned[r];
  const whole = rule.whole ? [el("details", { class: "whole" }, el("summary", {}, "Whole rule"), el("p", {}, minus(rule.whole)))] : [];
  const mark = number ? [el("span", { class: "number" }, `#${number}`)] : [];
  const facts = factsOf([
    ...(rule.stage > 1 && top.merged ? [["stage", rule.stage]] : []),
    ["frequency", rule.given ? "given" : format(rule.frequency, 2)],
    [rule.line ? "known" : "rows", rule.rowsText],
    ...(rule.events ? [["events", rule.eventsText]] : []),
    ...(again ? [["returned", again]] : []),
    addends ? ["gap", format(Math.abs(points[0] - points[1]), 2)]
      : scored ? [hazard ? "hazard" : "adds", rule.line ? pointsText([...points].reverse(), " to ") : pointsText(points)] : ["weight", format(weight, 2)],
  ]);
  const sides = sidesOf(r), plot = sides ? [drawSides(sides, top.domain, `${sides.names[0]}, else ${sides.names[1]}`)] : [];
  return el("li", { class: `rule ${status}`, "data-rule": r }, el("div", {}, ...mark, sentence, facts, ...whole), ...plot);
}

/* The two sides of a rule on the axis that all rules share: what it adds, or what the target is on either side. */
function sidesOf(r) {
  const rule = data.rules[r], weight = data.sizes[state.size].weights[r] || 0;
  if (scored || addends || rule.line) {
    const [inside, outside] = pointsOf(r);
    return { inside, outside, middle: 0, up: inside >= outside, names: pointsText([inside, outside]).split(" / ") };
  }
  const k = !data.classes ? 0 : data.classes.length === 2 ? data.positive : d3.maxIndex(rule.inside, (share, c) => Math.abs(share - rule.outside[c]));
  const [inside, outside] = [part(rule.inside, k), part(rule.outside, k)];
  if (![inside, outside].every(isFinite)) return null;
  return { inside, outside, middle: data.classes && data.classes.length > 2 ? null : part(data.mean, k), up: (inside - outside) * (weight || 1) >= 0, names: [format(inside, 4), format(outside, 4)] };
}

/* What that axis shows, in words. */
function sidesName() {
  if (hazard) return "by what it multiplies the hazard";
  if (data.link === "log") return `by what it multiplies ${data.target}`;
  if (scored) return `what it adds to the ${data.classes.length === 2 ? `log-odds of ${data.classes[data.positive]}` : "score of the class that it moves most"}`;
  if (addends) return `what it adds to ${data.target}`;
  if (data.classes) return data.classes.length === 2 ? `share of ${data.classes[data.positive]}, dotted: on average` : "share of the class that it moves most";
  return `${data.target}, dotted: mean ${format(data.mean, 4)}`;
}

function sidesAxis(domain) {
  const factors = data.link === "log" || hazard;
  const round = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100].map(Math.log).filter((v) => v >= domain[0] && v <= domain[1]);
  const ticks = factors && round.length > 2 && round.length < 7 ? round : d3.ticks(...domain, 4);
  const name = factors ? (v) => `×${+Math.exp(v).toPrecision(2)}` : data.classes && !scored ? (v) => `${Math.round(100 * v)}%` : tick;
  return el("li", { class: "rule axis" }, el("p", {}, `${hasSlopes ? "● where the rule applies, or the upper end of a slope; ○ where not, or the lower end" : "● where the rule applies, ○ where not"}: `, el("b", {}, sidesName())), drawSidesAxis(domain, ticks, name));
}

/* What a rule adds to the score of the class that stands for it, where it holds and elsewhere. */
const pointsOf = (r) => data.rules[r].line ? endsOf(r) : [true, false].map((fired) => contribution(r, fired, data.rules[r].shown).value);

/* What a unit adds to the score of class k, and what a slope adds at the upper and at the lower end of its range. */
const lineOf = (r) => (data.sizes[state.size].lines || {})[r] || data.sizes[data.chosen].lines[r];
const slopeOf = (r, k) => part(lineOf(r).slope, k);
function endsOf(r) {
  const { lower, upper, zero_at: zero } = data.rules[r].line, slope = slopeOf(r, data.rules[r].shown || 0);
  return [(upper - zero) * slope, (lower - zero) * slope];
}

/* Two numbers with a sign, the larger with three digits and their gap with two. */
function pairTexts(pair) {
  const digits = (size, n) => size > 0 ? n - 1 - Math.floor(Math.log10(size)) : 0;
  const decimals = Math.min(10, Math.max(0, digits(d3.max(pair, Math.abs), 3), digits(Math.abs(pair[0] - pair[1]), 2)));
  return pair.map((v) => `${v < 0 ? "−" : "+"}${Math.abs(v).toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals, useGrouping: Math.abs(v) >= 1e6 })}`);
}

function pointsText(points, between = " / ") {
  if (data.link === "log" || hazard) return points.map((v) => factor(v)).join(between);
  const decimals = Math.max(...points.map(Math.abs)) >= 0.01 ? 2 : 4;
  return points.map((v) => `${+v.toFixed(decimals) < 0 ? "−" : "+"}${Math.abs(v).toFixed(decimals)}`).join(between);
}

function showRules() {
  const now = inUse(state.size), then = inUse(data.chosen);
  const top = {}, parts = [], all = [...new Set([...now, ...then])].map(sidesOf).filter(Boolean);
  const [low, high] = all.length ? d3.extent(all.flatMap((own) => [own.inside, own.outside, own.middle ?? own.inside])) : [0, 1];
  top.domain = [low - 0.06 * (high - low || 1), high + 0.06 * (high - low || 1)];
  const stages = data.rules.filter((_, r) => now.includes(r) || then.includes(r)).map((rule) => rule.stage);
  top.merged = new Set(stages).size * 2 > stages.length;  /* a heading for each rule is too many */
  let list = el("ol"), stage = 0;
  if (all.length) parts.push(el("ol", { class: "axes" }, sidesAxis(top.domain)));
  for (const r of data.rules.map((_, i) => i)) {
    if (staged && data.rules[r].stage !== stage && (now.includes(r) || then.includes(r))) {
      const title = data.rules[r].stage === 1 ? "Stage 1" : top.merged ? "Corrections" : `Corrections, stage ${data.rules[r].stage}`;
      if (!top.merged || stage < 2) {
        list = el("ol");
        parts.push(el("h3", { class: "stage" }, title), list);
      }
      stage = data.rules[r].stage;
    }
    if (now.includes(r)) list.append(ruleCard(r, then.includes(r) ? "stays" : "came", top, now.indexOf(r) + 1));
    else if (then.includes(r)) list.append(ruleCard(r, "went", top));
  }
  for (const term of data.terms) list.append(el("li", { class: "rule" }, el("p", { class: "sentence" }, term.text)));
  if (!list.childElementCount) list.append(el("li", {}, "No rules: the prediction is the mean."));
  byId("rule-list").replaceChildren(...parts, ...(list.isConnected || parts.includes(list) ? [] : [list]));
  byId("how-to-read").textContent = minus([howToRead(), ...data.notes].join(" "));
}

/* The score of the average row: the intercept, and what the rules add on average. */
function averageScore(k) {
  return part(data.sizes[state.size].intercept, k) + d3.sum(inUse(state.size), (r) => contribution(r, true, k).average);
}

function howToReadScores() {
  if (hazard) return "A rule shows the median time to the event where it applies and where it does not (Kaplan and Meier), the number of events in the training rows, and the factor by which it multiplies the hazard of an average row. The factors of several rules multiply.";
  if (!data.classes) return `A rule shows the mean ${data.target} where it applies and where it does not. Each rule multiplies the prediction, that is, it adds to its logarithm.`;
  if (data.classes.length > 2) {
    return "A rule shows the share of training rows in a class where the rule applies and where it does not, for the class that it moves most. It adds points to the score of each class (shown for that class: where it applies / where it does not). Probabilities are proportional to the exponentials of the scores.";
  }
  const name = data.classes[data.positive], start = averageScore(data.positive);
  return `A rule shows the share of training rows that are “${name}” where the rule applies and where it does not, and the points that it adds to the log-odds of ${name} (where it applies / where it does not). Positive points make ${name} more likely, negative ones less. `
    + `The log-odds start at ${format(start, 3)}, which is a probability of ${(100 * respond([-start, start], 1)).toFixed(1)}%. One point makes the odds 2.7 times as high.`;
}

function howToRead() {
  if (scored) return howToReadScores();
  if (data.classes) return "The predicted probabilities are the mean of the class proportions that the rules give.";
  if (data.aggregation === "mean") {
    return `The prediction is the weighted mean of the outputs of the rules that apply, and of the mean ${format(data.mean, 4)} with weight ${format(data.rootWeight, 2)}.`;
  }
  const terms = data.terms.length ? ", and the linear terms" : "";
  if (addends) {
    const slopes = hasSlopes ? "A slope adds the first number in brackets at the lower end of its range, the second at the upper end, and changes evenly between them. " : "";
    return `${data.target} is ${format(averageScore(0), 4)} plus what each rule adds${terms}: the first number where it applies, the second where it does not. ${slopes}Stage 1 is learned from the target, and later stages from the residuals of the stages before (with their prediction shrunk by a factor of 0.85).`;
  }
  return `A rule gives one number if it applies and another if it does not. The prediction is ${format(data.sizes[state.size].intercept, 4)} plus the sum of the outputs, each times its weight${terms}.`;
}

/* ------------------------------------------------------------------------------------------------- effects */

/* Which levels stand behind each row of a chart that stands for several. */
function levelList(effect, folded) {
  const box = el("details", { class: "levels" }, el("summary", {}, "Which categories?"));
  for (const [names, g] of folded) box.append(el("p", {}, el("b", {}, `${effect.labels[g]}: `), names.join(", ")));
  return box;
}

/* What the axis of effects shows. */
function effectUnit() {
  return data.classes ? (scored ? scaleName(state.effectClass) : `share of ${data.classes[state.effectClass]}`) : scored ? data.scaleName : data.target;
}

function showEffects() {
  const box = byId("effect-list"), effects = data.effects[state.size];
  const values = effects.map((e) => e.values.map((v) => part(v, state.effectClass)));
  const lines = effects.map((e) => e.ends ? e.ends.map((pair) => pair.map((v) => part(v, state.effectClass))) : null);
  const [low, high] = d3.extent([...values.flat(), ...lines.flat(2).filter((v) => v !== null)]), pad = 0.1 * (high - low) || 0.5;
  const figures = effects.map((effect, i) => {
    const caption = el("figcaption", {}, el("b", {}, effect.feature), ` ${Math.round(100 * effect.gap)}%`);
    return el("figure", {}, caption, el("div"));
  });
  box.replaceChildren(...figures);
  figures.forEach((figure, i) => {
    const chart = drawEffect(effects[i], [low - pad, high + pad], values[i], chartWidth(figure.lastChild, 420), lines[i], effectUnit());
    chart.setAttribute("role", "img");
    chart.setAttribute("aria-label", `Average ${data.effectName} along ${effects[i].feature}`);
    figure.lastChild.append(chart);
    const folded = (effects[i].members || []).map((names, g) => [names, g]).filter(([names]) => names.length > 1);
    if (folded.length) figure.append(levelList(effects[i], folded));
  });
  byId("effects").hidden = !effects.length;
}

/* -------------------------------------------------------------------------------------------------- lookup */

function matches(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean), found = [];
  const exact = data.rows.labels.indexOf(text.trim());
  if (exact >= 0) found.push(exact);
  for (let i = 0; i < data.rows.labels.length && found.length < 8; i++) {
    const line = rowLine(i).toLowerCase();
    if (i !== exact && words.every((word) => line.includes(word))) found.push(i);
  }
  return found;
}

const cell = (row, c) => (data.rows.values[row][c] || "missing").replace(/^-(?=[\d.]+$)/, "−");
const rowLine = (i) => `${data.rows.labels[i]}: ` + data.rows.columns.map((name, c) => `${name} = ${data.rows.values[i][c] || "missing"}`).join(", ");

function showMatches() {
  const wanted = byId("search").value.trim(), found = wanted ? matches(wanted) : [];
  byId("no-match").textContent = wanted && !found.length ? `No row has “${wanted}” in its name or its values.` : "";
  state.match = found.length ? Math.max(0, Math.min(state.match, found.length - 1)) : -1;
  byId("matches").replaceChildren(...found.map((row, i) => {
    const item = el("li", { role: "option", id: `match-${i}`, "data-row": row, "aria-selected": String(i === state.match) }, `row ${rowLine(row)}`);
    item.addEventListener("click", () => pickRow(row));
    return item;
  }));
  byId("search").setAttribute("aria-expanded", String(found.length > 0));
  if (state.match >= 0) byId("search").setAttribute("aria-activedescendant", `match-${state.match}`);
  else byId("search").removeAttribute("aria-activedescendant");
}

function contribution(r, fired, k, row = null) {
  const rule = data.rules[r], weight = data.sizes[state.size].weights[r] || 0;
  if (rule.line) return { average: 0, value: row === null ? 0 : slopeOf(r, k) * data.rows.lines[r][row] };
  const inside = part(rule.inside, k), outside = part(rule.outside, k);
  const average = scored ? part(rule.average, k) : rule.stage > 1 || rule.effect ? 0 : part(data.mean, k);  // see Model.average_output
  return { average: weight * average, value: weight * ((fired ? inside : outside) - average) };
}

/* Start, steps and end of a row for class k, at the size shown. */
function explained(row, k) {
  const fired = data.rows.fired[row];
  let start = part(data.sizes[state.size].intercept, k), steps;
  if (data.aggregation === "mean") {
    const hit = inUse(state.size).filter((r) => fired[r] === "1"), weights = data.sizes[state.size].weights;
    const total = data.rootWeight + d3.sum(hit, (r) => weights[r]);
    start = data.mean;
    steps = hit.map((r) => ({ text: data.rules[r].text, fired: true, value: weights[r] * (data.rules[r].inside - data.mean) / (total || 1) }));
  } else {
    steps = inUse(state.size).map((r) => {
      const { average, value } = contribution(r, fired[r] === "1", k, row);
      start += average;
      return { text: data.rules[r].text, fired: fired[r] === "1" || Boolean(data.rules[r].line), value };
    });
    data.terms.forEach((term, t) => {
      start += term.average;
      steps.push({ text: `linear in ${term.feature}`, fired: true, value: data.rows.terms[t][row] });
    });
  }
  return { start, steps, end: start + d3.sum(steps, (d) => d.value) };
}

/* The prediction that the score at the start or the end of a row's steps stands for. */
function respondAt(row, k, which) {
  return respond(data.classes ? data.classes.map((_, c) => explained(row, c)[which]) : [explained(row, 0)[which]], data.classes ? k : 0);
}

const predicted = (row, k) => respondAt(row, k, "end");

function showRow() {
  if (state.row === null) return;
  const row = state.row, k = data.classes ? state.rowClass : 0;
  const { start, steps, end } = explained(row, k);
  steps.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  if (steps.length > 20) {
    const rest = steps.splice(19);
    steps.push({ text: `the other ${rest.length} together`, fired: true, value: d3.sum(rest, (d) => d.value) });
  }
  let text = hazard ? `hazard ${factor(end)} that of an average row` : `predicted ${format(scored ? respond([end], 0) : end, 5)}`;
  const decision = data.classes ? decisionOf(row) : null;
  if (decision) text = `decision ${decision.label}`;
  if (data.rows.truth) text += `, true ${minus(data.rows.truth[row])}`;
  if (data.intervals) text += `, ${minus(data.intervals.texts[row])}`;
  const values = el("ul", { class: "values" }, ...data.rows.columns.map((name, c) => el("li", {}, `${name} = ${cell(row, c)}`)));
  const box = el("div");
  const heading = el("h3", {}, `Row ${data.rows.labels[row]}: ${text}`);
  const why = decision ? [el("p", { id: "row-decision" }, decision.why)] : [];
  byId("row").replaceChildren(heading, ...why, values, box, ...changeOf(row));
  const name = scored ? scaleName(k) : data.classes ? `probability of ${data.classes[k]}` : data.target;
  const ends = scored ? ["start", "end"].map((which) => respondAt(row, k, which)) : null;
  const texts = ends && ends.map((value) => data.classes ? `${(100 * value).toFixed(1)}%` : hazard ? factor(value) : format(value, 4));
  box.append(drawWaterfall(start, steps, end, name, chartWidth(box, 860), texts, data.aggregation === "mean" ? "mean of the training rows" : undefined));
  byId("row").dataset.prediction = scored ? ends[1] : end;
}

/* What is decided of a row, and by which probabilities and cut-off, in the words of explain and reasons. */
function decisionOf(row) {
  const shares = data.classes.map((_, c) => predicted(row, c)), weights = data.decides || shares.map(() => 1);
  const order = d3.range(shares.length).sort((a, b) => shares[b] * weights[b] - shares[a] * weights[a]), { probability, score, how } = data.cutoff;
  const label = data.classes[order[0]], times = (c) => data.decides ? ` × ${format(weights[c], 3)}` : "";
  if (probability === null) {
    const named = order.slice(0, 4).map((c) => `${data.classes[c]} ${(100 * shares[c]).toFixed(1)}%${times(c)}`);
    return { label, why: `Probabilities: ${named.join(", ")}${shares.length > 4 ? ", …" : ""}${data.decides ? "; by the largest product" : ""}; ${how}.` };
  }
  const k = data.positive, end = explained(row, k).end;
  const [now, above] = printedApart(100 * shares[k], 100 * probability, 1), at = scored ? ` (log-odds ${minus(printedApart(end, score, 2)[1].replace(/^(?!-)/, "+"))})` : "";
  return { label, why: `Probability of ${data.classes[k]}: ${now}%, decided for above ${above}%${at}; ${how}.` };
}

/* Two numbers with as many decimals as it takes to see which is larger. */
function printedApart(value, limit, decimals) {
  while (decimals < 9 && value !== limit && value.toFixed(decimals) === limit.toFixed(decimals)) decimals += 1;
  return [value.toFixed(decimals), limit.toFixed(decimals)];
}

function changeOf(row) {
  const found = data.changes?.rows[row];
  if (found === undefined) return [];
  const steps = found === null ? ["no change of the columns that may change"] : found.map(([name, now, then]) => `${name} from ${minus(now)} to ${minus(then)}`);
  return [el("p", { id: "row-change" }, `For ${data.changes.to}: ${steps.join(", ") || "nothing has to change"}.`)];
}

function pickRow(row) {
  state.row = row;
  if (data.classes) {
    if (data.classes.length > 2) state.rowClass = d3.maxIndex(data.classes.map((_, c) => predicted(row, c)));
    byId("row-class").value = state.rowClass;
  }
  byId("matches").replaceChildren();
  byId("no-match").textContent = "";
  byId("search").setAttribute("aria-expanded", "false");
  showRow();
}

/* --------------------------------------------------------------------------------------------------- start */

function showAll() {
  showSize();
  showPath();
  showQuality();
  showRules();
  showEffects();
  showRow();
}

function listenToSearch() {
  byId("search").addEventListener("input", () => { state.match = 0; showMatches(); });
  byId("search").addEventListener("keydown", (event) => {
    const items = [...byId("matches").children];
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      state.match = Math.max(0, Math.min(items.length - 1, state.match + (event.key === "ArrowDown" ? 1 : -1)));
      showMatches();
    } else if (event.key === "Enter" && items[state.match]) {
      pickRow(+items[state.match].dataset.row);
    } else if (event.key === "Escape") {
      byId("search").value = "";
      showMatches();
    }
  });
}

function prepareClasses() {
  if (!data.classes) return;
  for (const [id, key] of [["effect-class", "effectClass"], ["row-class", "rowClass"]]) {
    byId(`${id}-box`).hidden = false;
    byId(id).append(...data.classes.map((label, k) => el("option", { value: k }, label)));
    state[key] = data.positive;
    byId(id).value = state[key];
    byId(id).addEventListener("change", (event) => { state[key] = +event.target.value; showEffects(); showRow(); });
  }
}

function prepareScores() {
  byId("effect-what").textContent = data.effectName;
  byId("rule-meaning").textContent = data.classes
    ? "The shares are those of the class among the training rows inside and outside the rule. The points are what the rule adds to the score of the class, compared with what it adds on average; with two classes the score is the log-odds. All weights are fitted together by penalised likelihood, so the points of a rule depend on the other rules: nearly equal rules share their points."
    : hazard
    ? "The numbers are median times to the event of the training rows inside and outside the rule. Each rule multiplies the hazard: weights are fitted together by Cox's penalised partial likelihood, so the factor of a rule depends on the other rules."
    : "The numbers are the mean target of the training rows inside and outside the rule. Each rule multiplies the prediction.";
}

function prepare() {
  byId("error-name").textContent = data.errorName;
  if (addends) byId("rule-meaning").textContent = "The numbers are what the rule adds to the prediction where it applies and where it does not, compared with what it adds on average: its weight times the mean target of the training rows inside and outside or, for a correction, times their mean residual with respect to the earlier stages (their prediction shrunk by a factor of 0.85).";
  if (scored) prepareScores();
  if (data.rules.some((rule) => rule.line)) {
    byId("effect-form").textContent = "The model is a sum of rules and slopes, so it has steps and lines.";
    for (const id of ["slope-name", "slope-meaning"]) byId(id).hidden = false;
  }
  byId("error-meaning").textContent = hazard
    ? "Twice one minus the concordance of held-out rows, the share of pairs in which the row with the earlier event has the higher score. 1 is guessing, 0 is perfect."
    : scored
    ? "The deviance of held-out rows (twice their log loss) divided by that of a constant prediction: 1 is no better than the constant, 0 is perfect."
    : data.classes
    ? "One minus the area under the ROC curve on held-out rows: 0.5 is guessing, 0 is perfect."
    : "The proportion of variance left unexplained on held-out rows: 1 is no better than the mean, 0 is perfect.";
  byId("doubts").hidden = !data.doubts.length;
  byId("doubts").append(...data.doubts.map((text) => el("p", {}, text)));
  for (const [name, value] of data.made) byId("made-list").append(el("dt", {}, name), el("dd", {}, value));
  if (data.path) {
    byId("size").hidden = byId("size-control").hidden = false;
    byId("slider").max = data.sizes.length;
    byId("slider").addEventListener("input", (event) => pickSize(+event.target.value - 1));
    byId("reset").addEventListener("click", () => pickSize(data.chosen));
  }
  if (data.rows) {
    byId("lookup").hidden = false;
    const n = data.rows.labels.length;
    byId("lookup-note").textContent = (n < data.rows.total ? `The first ${n.toLocaleString("en")} of ${data.rows.total.toLocaleString("en")} rows. ` : "")
      + `Type a row number, a name or values; select with arrow keys and Enter. Bars show how each rule moves the ${data.effectName} away from the average.`;
    listenToSearch();
  }
  prepareClasses();
  prepareQuality();
  byId("theme").addEventListener("click", switchTheme);
  if (data.rows) pickRow(0);
  showAll();
  let width = document.body.clientWidth;
  addEventListener("resize", () => {
    if (document.body.clientWidth !== width) { width = document.body.clientWidth; showAll(); }
  });
}

prepare();
