/* The list as something to edit: how long it is, which rules it has, which effects are fixed, and what that costs. A state
   (kept, fixed), its history, and functions that show it. Every text of the model is put on the page as text. */
import { format } from "./charts.js";
import { button, choice, el, field, saveAs } from "./dom.js";
import { byLikelihood } from "./likelihood.js";
import { askedOf, candidates, canFix, edited, positiveOf } from "./list.js";
import { bySums } from "./refit.js";
import { isLine } from "./ridge.js";
import { speak, spoken, t } from "./words.js";

const three = (share) => share === null ? "–" : share.toFixed(3);
const signed = (value) => `${value < 0 ? "−" : "+"}${format(Math.abs(value), 3)}`;
const condition = (term) => isLine(term) ? `slope of ${term.feature}` : term.text.split(" then ")[0].replace(/^.* if |^if /, "");
const keyOf = (term) => JSON.stringify(term.conditions ?? term.feature);

/* How much more a row is predicted where a rule of this weight applies: an amount, a factor, or points of a class. */
function moveText(model, term, weight) {
  const gaps = [term.inside].flat().map((own, k) => weight * (own - ([term.outside ?? 0].flat()[k])));
  if (gaps.every((gap) => gap === 0)) return "0";
  if (model.link === "log") return `×${format(Math.exp(gaps[0]), 3)}`;
  if (gaps.length === 1) return signed(gaps[0]) + (isLine(term) ? ` ${t("edit.per-unit")}` : "");
  if (gaps.length === 2) return signed(gaps[positiveOf(model)] - gaps[1 - positiveOf(model)]);
  const k = gaps.reduce((most, gap, i) => Math.abs(gap) > Math.abs(gaps[most]) ? i : most, 0);
  return `${signed(gaps[k])} ${model.classes[k]}`;
}

/* A fixed effect as rules are written. */
function fixedText(model, term, value) {
  const plain = model.link === "log" ? `×${value}` : `${value < 0 ? "" : "+"}${value}`;
  if (isLine(term)) return `${plain} per unit of ${term.feature}`;
  return `${plain}${model.classes ? ` for ${model.classes[positiveOf(model)]}` : ""} if ${condition(term)}`;
}

/* The editor of a model file, put in a box; `changed` is told the edited file and how it is said to differ. */
export function editor(box, model, patterns = null, changed = () => {}) {
  const engine = patterns ? byLikelihood(model, patterns) : bySums(model), all = candidates(model);
  const own = new Set(model.rules.map(keyOf)), original = { kept: all.map((term) => own.has(keyOf(term))), fixed: {} };
  const errorName = patterns ? "unexplained deviance" : "unexplained variance";
  const past = [], undone = [], said = { by: "", note: "" };
  let now = original, found = null, parts = {};
  const before = weigh(original);

  function weigh(state) {
    const list = askedOf(model, all, state.kept, state.fixed);
    return { ...engine.fit(list), list };
  }

  const weightsOf = (own) => Object.fromEntries(own.list.map(({ at, term }, i) => [at, moveText(model, term, own.weights[i])]));
  const places = (test) => all.map((_, at) => at).filter(test);
  const removed = () => places((at) => original.kept[at] && !now.kept[at]);
  const added = () => places((at) => !original.kept[at] && now.kept[at]);
  const fixed = () => places((at) => now.kept[at] && at in now.fixed);

  function change(next) {
    past.push(now);
    undone.length = 0;
    now = next;
    show();
  }

  function move(from, to) {
    if (!from.length) return;
    to.push(now);
    now = from.pop();
    show();
  }

  /* What was done, as a line of the trail of a model file. */
  function entry() {
    const trail = {
      removed: places((at) => original.kept[at] && (!now.kept[at] || at in now.fixed)).map((at) => condition(all[at])),
      added: [...added().filter((at) => !(at in now.fixed)).map((at) => condition(all[at])), ...fixed().map((at) => fixedText(model, all[at], now.fixed[at]))],
    };
    for (const name of ["note", "by"]) if (said[name].trim()) trail[name] = said[name].trim();
    trail.date = new Date().toISOString().slice(0, 10);
    if (before.unexplained !== null) trail.error = { name: `${errorName} over ten folds, of the same rules`, before: before.unexplained, after: found.unexplained };
    return trail;
  }

  const file = () => JSON.stringify(edited(model, engine, found.list, found, entry()), null, 1);

  function log() {
    const trail = entry(), lines = [`# ${t("edit.log-title", { target: model.target })}`, "", `${trail.date}${trail.by ? `, ${trail.by}` : ""}`, ""];
    if (trail.note) lines.push(trail.note, "");
    const listed = (title, texts) => { if (texts.length) lines.push(`## ${title}`, "", ...texts.map((text) => `- ${text}`), ""); };
    listed(t("edit.log-removed"), trail.removed);
    listed(t("edit.log-added"), trail.added);
    if (trail.error) lines.push(t(`edit.log-${errorName}`, { before: three(trail.error.before), after: three(trail.error.after) }), "");
    listed(t("edit.log-list"), found.list.flatMap(({ term }, i) => found.weights[i] ? [`${condition(term)}: ${moveText(model, term, found.weights[i])}`] : []));
    lines.push(`${t("edit.log-intercept")}: ${[found.intercept].flat().map((value) => format(value, 4)).join(", ")}`, "");
    return lines.join("\n");
  }

  function effectOf(at, number) {
    const term = all[at], value = now.fixed[at] ?? (term.effect ? term.effect.adds ?? term.effect.times : "");
    const input = el("input", { type: "text", inputmode: "decimal", size: "7", placeholder: t("edit.fitted"), "aria-label": t("edit.effect-of", { n: number }), value, disabled: !now.kept[at] || !canFix(model, term),
      onchange: () => {
        const wanted = Number(input.value.trim().replace(",", ".").replace("−", "-").replace(/^[×x*]/, "")), next = { ...now.fixed };
        delete next[at];
        if (input.value.trim() && Number.isFinite(wanted) && (model.link === "log" ? wanted > 0 : wanted !== 0)) next[at] = wanted;
        change({ ...now, fixed: next });
      } });
    if (term.stage > 1) input.title = t("edit.no-correction");
    else if ((model.classes || []).length > 2) input.title = t("edit.no-classes");
    return input;
  }

  function row(at, was, is) {
    const number = at + 1, check = el("input", { type: "checkbox", "aria-label": t("edit.keep-rule", { n: number }), onchange: () => change({ ...now, kept: now.kept.map((value, i) => i === at ? check.checked : value) }) });
    check.checked = now.kept[at];
    const amount = (text) => el("td", { class: "amount" }, text);
    return el("tr", now.kept[at] ? {} : { class: "out" }, el("td", {}, check), amount(String(number)), el("th", { class: "what", scope: "row" }, condition(all[at])),
      amount(String(all[at].n_inside)), amount(was[at] ?? "–"), amount(is[at] ?? "–"), el("td", {}, effectOf(at, number)));
  }

  /* What is there in every state, in the language that is spoken. */
  function dress() {
    const metric = (name, text) => el("div", {}, el("dt", {}, text), parts[name] = el("dd", { class: `edit-${name}` }));
    const act = (name, onclick) => parts[name] = button(t(`edit.${name}`), onclick, { class: `edit-${name}` });
    const text = (name) => field(t(`edit.${name}`), said[name], (value) => { said[name] = value; changed(edit); }, { class: `edit-${name}`, autocomplete: "off" });
    parts.length = el("input", { type: "range", class: "range edit-length", min: 0, max: all.length, step: 1, "aria-label": t("edit.length"), onchange: (event) => change({ ...now, kept: all.map((_, at) => at < Number(event.target.value)) }) });
    const language = choice("English / Deutsch", [["en", "English"], ["de", "Deutsch"]], spoken(), (code) => { speak(code); dress(); }, { class: "edit-language" });
    const rows = patterns ? t("edit.patterns", { n: new Set(patterns.cells.map(([name]) => name)).size, alone: patterns.alone }) : t("edit.no-rows");
    const scale = model.classes ? t(`edit.scale-${model.classes.length === 2 ? "odds" : "scores"}`, { name: model.classes[positiveOf(model)] }) : "";
    box.lang = spoken();
    box.replaceChildren(el("h2", { id: "edit-title" }, t("edit.title")), el("p", { class: "note" }, t("edit.what"), " ", scale, rows),
      el("div", { class: "control" }, el("span", {}, t("edit.length")), parts.length, parts.n = el("output", {}), act("undo", () => move(past, undone)), act("redo", () => move(undone, past)), act("original", () => change(original))),
      el("dl", { class: "metrics" }, metric("error", t(`edit.${errorName}`)), metric("before", t("edit.of-original")), metric("training", t("edit.in-training")), metric("used", t("edit.with-weight"))),
      parts.sentence = el("p", { class: "edit-sentence", "aria-live": "polite" }), parts.list = el("div", { class: "wide edit-list" }), el("p", { class: "note" }, t("edit.folds")),
      el("div", { class: "control" }, text("by"), text("note"), act("save", () => saveAs("edited.json", "application/json", file())), act("log", () => saveAs("decisions.md", "text/markdown", log())), language));
    show();
  }

  function show() {
    found = now === original ? before : weigh(now);
    const at = box.getRootNode().activeElement, focus = at && at.getAttribute("aria-label"), was = weightsOf(before), is = weightsOf(found);
    const head = ["keep", "number", "rule", "rows", "was", "now", "effect"].map((name) => el("th", { scope: "col" }, t(`edit.${name}`)));
    parts.list.replaceChildren(el("table", { class: "edit-table" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, all.map((_, at) => row(at, was, is)))));
    if (focus) for (const node of parts.list.querySelectorAll("input")) if (node.getAttribute("aria-label") === focus) node.focus();
    const n = now.kept.filter(Boolean).length, cost = found.unexplained - before.unexplained;
    parts.length.value = n;
    const tell = { n, error: three(found.unexplained), before: three(before.unexplained), training: three(found.inTraining), used: t("edit.of", { used: found.weights.filter((weight) => weight > 0).length, n }) };
    for (const [name, value] of Object.entries(tell)) parts[name].textContent = value;
    const counts = { removed: removed().length, added: added().length, fixed: fixed().length, cost: Math.abs(cost).toFixed(3) };
    parts.sentence.textContent = now === original ? t("edit.untouched") : `${t("edit.changes", counts)} ${t(Math.abs(cost) < 5e-4 ? "edit.same" : cost > 0 ? "edit.rises" : "edit.falls", counts)}`;
    parts.undo.disabled = !past.length;
    parts.redo.disabled = !undone.length;
    parts.original.disabled = now === original;
    changed(edit);
  }

  /* Another state, that of a cell which is shown again. */
  function take({ kept, fixed = {}, by = "", note = "" }) {
    if (kept.length !== all.length) return;
    now = { kept, fixed };
    Object.assign(said, { by, note });
    dress();
  }

  const wasEdited = () => now.kept.some((value, at) => value !== original.kept[at]) || fixed().length > 0;
  const edit = { file, log, take, wasEdited, state: () => ({ ...now, ...said }), found: () => found };
  dress();
  return edit;
}
