/* Step 4: the list with its evidence; its length along the front; rules removed and added; two lists side by side. */
import { button, el } from "./dom.js";
import { t } from "./words.js";
import { ask, codeBox, multiplies, sized } from "./parts.js";
import { drawEffect, drawPareto, format, minus, named } from "./charts.js";
import { direction } from "./tune.js";

export function showRules(box, app) {
  const { list, front } = app;
  if (list.stale) box.append(el("p", { class: "said", role: "note" }, t("rules.stale"), " ", button(t("tune.again"), () => app.go("tune"))));
  for (const text of [...list.said, ...list.doubts]) box.append(el("p", { class: "said", role: "note", lang: "en" }, text));
  box.append(lengths(app), el("section", { "aria-labelledby": "list-title" }, el("h3", { id: "list-title" }, t("rules.list", { n: list.list.length, target: list.target })), rules(app), trail(app), adding(app)),
    sideBySide(app), effects(app),
    el("p", { class: "next" }, button(t("rules.next"), () => app.go("decide"), { class: "primary" })));
  drawFront(app, front);
}

/* An edit, and the list as it is then; the page stays where it is. */
export async function edit(app, given) {
  const list = await app.attempt(() => ask("edit", given));
  if (!list) return false;
  app.list = list;
  app.again(t("rules.told", { n: list.list.length }));
  return true;
}

/* ------------------------------------------------------------------------------------------------------- the length */

const REST = 300;  /* milliseconds after which a slider that is moved by keys is where it should be */
const sizeNow = (app) => { const at = app.front.sizes.findIndex((size) => size.nRules === app.length); return at < 0 ? app.front.chosen : at; };

function lengths(app) {
  const { front, list } = app, last = [...list.edits].reverse().find((own) => own.method === "with_rules");
  app.length = last ? last.value : front.sizes[front.chosen].nRules;
  const now = sizeNow(app), size = front.sizes[now];
  let timer = null;
  const slider = el("input", { type: "range", class: "range", id: "length", min: 0, max: front.sizes.length - 1, value: now, "aria-valuetext": t("rules.value", { n: size.nPositive }),
    oninput: (event) => describe(front.sizes[event.target.value]), onchange: () => { clearTimeout(timer); timer = setTimeout(() => edit(app, { method: "length", n_rules: front.sizes[slider.value].nRules }), REST); } });
  const said = el("dl", { class: "metrics", "aria-live": "polite" });
  const describe = (own) => said.replaceChildren(...[[t("rules.rules"), own.nPositive], [t(`error.${front.errorName}`), number(own.error, 3)], [t("rules.stability"), number(own.stability, 2)]]
    .map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, String(value)))));
  slider.addEventListener("input", (event) => slider.setAttribute("aria-valuetext", t("rules.value", { n: front.sizes[event.target.value].nPositive })));
  describe(size);
  const changed = list.edits.some((own) => own.method === "without" || own.method === "adding");
  const back = now === front.chosen ? [] : [button(t("rules.back"), () => edit(app, { method: "length", n_rules: front.sizes[front.chosen].nRules }))];
  return el("section", {}, el("div", { class: "control" }, el("label", { for: "length" }, t("rules.length")), slider, back), said, el("p", { class: "note" }, ...[changed ? t("rules.before") : "", sentence(size), ...(now === front.chosen ? reasons(front) : [])].filter(Boolean).flatMap((text) => [text, " "])), el("figure", {}, el("figcaption", {}, t("rules.front")), el("div", { id: "front" })));
}

/* What stability means for a list, in words; in words of the page, since it speaks more than one language. */
export function sentence(size) {
  const n = size.nPositive, stability = size.stability;
  if (!n) return t("rules.sentence-none");
  return n > 1 ? t("rules.sentence", { n, k: Math.round(stability * n) }) : t("rules.sentence-one", { k: Math.round(100 * stability) });
}

/* Why the proposed length is proposed, and what a smaller error would take. */
export function reasons(front) {
  const own = front.sizes[front.chosen], best = front.sizes.reduce((least, size) => (size.error < least.error ? size : least));
  const lines = [t("rules.proposed", { ideal: format(front.ideal, 2) })];
  if (best.error < own.error - 0.0005 && best.nPositive !== own.nPositive) lines.push(t("rules.smallest", { error: format(best.error), n: best.nPositive, stability: format(best.stability, 2) }));
  return lines;
}

const number = (value, digits) => (value === null || value === undefined ? "–" : format(value, digits));

function drawFront(app, front) {
  const place = document.getElementById("front");
  if (!front.path) return;
  const errors = front.sizes.filter((size) => size.nPositive).map((size) => size.error), far = Math.min(...errors) > 0.5 * Math.max(...errors);
  const shown = { ...front, errorName: t(`error.${front.errorName}`), ideal: far ? null : front.ideal };  /* far from no error the points would stand in a heap */
  place.replaceChildren(drawPareto(shown, sizeNow(app), (i) => edit(app, { method: "length", n_rules: front.sizes[i].nRules }), Math.min(760, place.clientWidth || 600)));
}

/* --------------------------------------------------------------------------------------------------------- the list */

function rules(app) {
  const { list } = app, top = Math.max(...list.list.map((own) => Math.abs(own.weight)), 1e-12);
  const word = (text) => el("span", { class: "word" }, text);
  const bar = (name, share, text) => el("span", {}, el("span", { class: "name" }, name), el("span", { class: "value" }, text), el("span", { class: "bar" }, sized(el("i"), share)));
  return el("ol", { id: "rule-list", class: "cards-list" }, list.list.map((own, i) => el("li", { class: "rule" },
    el("div", {}, el("span", { class: "number" }, `#${i + 1}`), own.line ? el("p", { class: "sentence" }, own.line)
      : el("p", { class: "sentence" }, word(t("rules.if")), own.text, word(t("rules.then")), el("span", { class: "output" }, own.then), word(t("rules.else")), el("span", { class: "output" }, own.else),
        own.given ? el("span", { class: "badge" }, t("rules.given")) : "", own.weight ? "" : el("span", { class: "soft idle" }, ` ${t("rules.idle")}`), own.stage > 1 ? el("span", { class: "badge" }, t("rules.correction")) : "")),
    el("div", { class: "side" }, el("p", { class: "bars" }, bar(t("rules.rows"), own.share, own.rows), own.returned ? bar(t("rules.returned"), returned(own)[0] / returned(own)[1], t("rules.returned-of", { k: returned(own)[0], n: returned(own)[1] })) : bar(t("rules.returned"), 0, "–"),
      bar(own.adds ? t("rules.adds") : t("rules.weight"), Math.abs(own.weight) / top, own.adds ? minus(own.adds) : number(own.weight, 2))),
    button(t("rules.remove"), (event) => remove(app, own, event.target), { class: "quiet", "aria-label": t("rules.remove-name", { text: own.text }) })))));
}

const returned = (own) => own.returned.split(" of ").map(Number);

/* A rule is removed with a reason, which stands in the model's trail. */
function remove(app, own, where) {
  const card = where.closest(".rule");
  if (card.querySelector("form")) return;
  const why = el("input", { type: "text", id: "why", placeholder: t("rules.why-hint") }), who = el("input", { type: "text", value: app.by });
  const form = el("form", { class: "inline", onsubmit: (event) => { event.preventDefault(); app.by = who.value; edit(app, { method: "remove", rule: own.text, note: why.value, by: who.value }); } },
    el("label", { class: "field wide" }, el("span", {}, t("rules.why")), why), el("label", { class: "field" }, el("span", {}, t("who")), who),
    el("button", { type: "submit", class: "primary" }, t("rules.remove")), button(t("cancel"), () => form.remove()));
  card.append(form);
  why.focus();
}

function trail(app) {
  const { list } = app;
  if (!list.edits.length) return el("p", { class: "note" }, t("rules.untouched"));
  return el("section", { class: "trail", "aria-labelledby": "done-title" }, el("h4", { id: "done-title" }, t("rules.done")),
    el("ol", {}, done(list, app.front).map(([what, ...more]) => el("li", {}, what, more.map((text) => el("small", {}, text))))),
    button(t("undo"), () => edit(app, { method: "undo" }), { id: "undo" }));
}

/* What was done to the list: lines of what, what it cost, and who said so why. */
export function done({ edits, errors }, front) {
  const costs = [...errors];
  return edits.map(({ method, value, note, by }) => {
    const size = front.sizes.find((own) => own.nRules === value), told = { text: value, n: size ? size.nPositive : value, costs: Object.entries(value).map((pair) => pair.join(": ")).join(", ") };
    const error = method === "without" || method === "adding" ? costs.shift() : null;
    const cost = error ? [t("rules.done-error", { error: t(`error.${front.errorName}`), before: format(error.before), after: format(error.after) })] : [];
    const who = [note ? `“${note}”` : "", by].filter(Boolean).join(", ");
    return [t(`rules.done-${method}`, told), ...cost, ...(who ? [who] : [])];
  });
}

/* How a rule in words can go on: pairs of what is shown and of the whole text then. */
export function completions(text, features, columns) {
  const at = text.lastIndexOf("&") + 1, before = text.slice(0, at), own = text.slice(at).trimStart(), lead = before ? `${before.trimEnd()} ` : "";
  const known = features.filter((name) => own === name || own.startsWith(`${name} `)).sort((a, b) => b.length - a.length)[0];
  if (known === undefined) {
    const wanted = own.toLowerCase();
    return features.filter((name) => name.toLowerCase().includes(wanted)).slice(0, 30).map((name) => [name, `${lead}${name} `]);
  }
  const column = columns.find((each) => each.name === known), numeric = !column || column.kind === "number" || column.kind === "date";
  const rest = own.slice(known.length).trimStart(), sign = /^(<|>=|=)\s*(.*)$/.exec(rest);
  if (!sign) return (numeric ? ["<", ">=", "is missing"] : ["=", "is missing"]).filter((word) => word.startsWith(rest) && word !== rest).map((word) => [word, `${lead}${known} ${word} `]);
  const values = column && column.options ? column.options : [];
  if (sign[2] && values.includes(sign[2].trim())) return [["&", `${lead}${known} ${sign[1]} ${sign[2].trim()} & `]];
  return values.filter((value) => value.startsWith(sign[2])).slice(0, 40).map((value) => [value, `${lead}${known} ${sign[1]} ${value}`]);
}

/* A rule in words, with completion and a check while it is typed. */
function adding(app) {
  const said = el("p", { class: "soft", role: "status", id: "rule-said" }), options = el("ul", { id: "completions", role: "listbox", "aria-label": t("rules.completions") });
  const why = el("input", { type: "text" }), who = el("input", { type: "text", value: app.by });
  let timer = null, at = -1;
  const input = el("input", { type: "text", id: "rule", autocomplete: "off", spellcheck: "false", role: "combobox", "aria-expanded": "false", "aria-controls": "completions", "aria-autocomplete": "list", placeholder: t("rules.add-hint"), oninput: typed,
    onkeydown: (event) => {
      const items = [...options.children];
      if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); at = (at + (event.key === "ArrowDown" ? 1 : items.length - 1)) % Math.max(1, items.length); mark(items); }
      else if (event.key === "Enter" && at >= 0 && items[at]) { event.preventDefault(); items[at].click(); }
      else if (event.key === "Escape") close();
    }, onfocus: typed });
  const mark = (items) => items.forEach((item, i) => { item.setAttribute("aria-selected", String(i === at)); item.id = `completion-${i}`; if (i === at) { input.setAttribute("aria-activedescendant", item.id); item.scrollIntoView({ block: "nearest" }); } });
  const close = () => { options.replaceChildren(); input.setAttribute("aria-expanded", "false"); at = -1; };
  function typed() {
    const found = completions(input.value, app.list.features, app.table.columns);
    at = -1;
    options.replaceChildren(...found.map(([text, whole]) => el("li", { role: "option", "aria-selected": "false", onclick: () => { input.value = whole; input.focus(); typed(); } }, text)));
    input.setAttribute("aria-expanded", String(found.length > 0));
    clearTimeout(timer);
    timer = setTimeout(check, 250);
  }
  async function check() {
    if (!input.value.trim()) { said.textContent = ""; return; }
    const told = await ask("check", { text: input.value }).catch(() => null);
    if (told) said.textContent = told.fine ? t("rules.covers", { rows: told.rows.toLocaleString("en"), of: told.of.toLocaleString("en") }) : told.problem.split("\n")[0];
    said.classList.toggle("wrong", Boolean(told && !told.fine));
  }
  return el("form", { class: "adding", onsubmit: (event) => { event.preventDefault(); app.by = who.value; edit(app, { method: "add", rule: input.value, note: why.value, by: who.value }); } },
    el("h3", {}, t("rules.add")), el("label", { class: "field wide" }, el("span", {}, t("rules.add-label")), input), options, said,
    el("div", { class: "fields" }, el("label", { class: "field wide" }, el("span", {}, t("rules.why")), why), el("label", { class: "field" }, el("span", {}, t("who")), who), el("button", { type: "submit" }, t("rules.add"))));
}

/* -------------------------------------------------------------------------------------------------- two lists, effects */

function sideBySide(app) {
  const { list } = app, name = el("input", { type: "text", value: t("rules.first-name", { n: list.kept.length + 1 }), "aria-label": t("rules.keep-name") }), result = el("div", { id: "compared" });
  const keep = button(t("rules.keep"), () => app.attempt(async () => { list.kept = (await ask("keep", { name: name.value })).kept; app.again(); }), { id: "keep" });
  const compare = async (own) => { const told = await app.attempt(() => ask("compare", { name: own })); if (told) result.replaceChildren(beside(told), codeBox(told.code)); };
  return el("details", { id: "two-lists", open: list.kept.length > 0 }, el("summary", {}, t("rules.two")), el("p", { class: "note" }, t("rules.two-note")), el("div", { class: "control" }, name, keep, list.kept.map((own) => button(t("rules.compare", { name: own }), () => compare(own), { class: "compare" }))), result);
}

function beside(told) {
  const text = (own) => (own ? own.rule : "");
  const rows = [...told.kept.map((pair) => ["=", pair.old, pair.new]), ...told.shifted.map((pair) => ["~", pair.old, pair.new]), ...told.removed.map((own) => ["−", own, null]), ...told.added.map((own) => ["+", null, own])];
  const words = { "=": t("rules.kept"), "~": t("rules.shifted"), "−": t("rules.removed"), "+": t("rules.added") };
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("rules.two") }, el("p", {}, t("rules.in-common", { share: Math.round(100 * told.stability) })), el("table", { class: "beside" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "±"), el("th", { scope: "col" }, told.name), el("th", { scope: "col" }, t("rules.now")))),
    el("tbody", {}, rows.map(([mark, old, now]) => el("tr", { class: { "−": "went", "+": "came" }[mark] || "" }, el("td", {}, words[mark]), el("td", {}, text(old)), el("td", {}, text(now)))))));
}

function effects(app) {
  const { list } = app, found = list.effects[list.chosen] || [];
  if (!found.length) return "";
  const shown = shownAs(list), k = list.positive || 0, at = (value) => shown(Array.isArray(value) ? (list.link === "softmax" ? (value.length === 2 ? value[k] - value[1 - k] : value[k]) : value[k]) : value);
  const charts = el("div", { class: "small-charts" });
  const all = found.flatMap((own) => own.values.map(at)), low = Math.min(...all), high = Math.max(...all), room = (high - low || 1) * 0.05;
  for (const own of found) {
    const ends = own.ends ? own.ends.map((pair) => pair.map(at)) : null;
    const signs = own.numeric ? direction(own.feature, list.directions[own.feature] || 0, (sign) => constrain(app, { directions: { [own.feature]: sign } }, t("rules.direction-set", { name: own.feature, way: t(`tune.${sign > 0 ? "rises" : sign < 0 ? "falls" : "free"}`) }))) : "";
    const figure = el("figure", {}, el("figcaption", {}, el("b", {}, own.feature), ` ${Math.round(100 * own.gap)}% `, signs, button(t("tune.leave"), () => constrain(app, { drop: [own.feature] }), { class: "quiet" })));
    try { figure.append(named(drawEffect(own, [low - room, high + room], own.values.map(at), 300, ends), "img", t("chart.effect", { name: own.feature }))); } catch (error) { figure.append(el("p", { class: "soft" }, String(error.message))); }
    charts.append(figure);
  }
  return el("details", { open: true }, el("summary", {}, t("rules.effects")), el("p", { class: "note" }, effectNote(list)), charts);
}

/* A score as somebody reads it: counts, amounts and risks themselves, of two classes the probability in percent. */
export function shownAs(list) {
  if (multiplies(list)) return Math.exp;
  return list.classes && list.classes.length === 2 && list.link === "softmax" ? (score) => 100 / (1 + Math.exp(-score)) : (score) => score;
}

/* What the axes of the effects are. */
export function effectNote(list) {
  const unit = list.is_risk ? "risk" : list.link === "softmax" ? (list.classes.length === 2 ? "share" : "points") : "plain";
  return `${t("rules.effects-note")} ${t(`rules.effects-${unit}`, { target: list.target, name: list.classes ? list.classes[list.positive || 0] : "" })}`;
}

async function constrain(app, given, what = "") {
  const told = await app.attempt(() => ask("constrain", given));
  if (!told) return;
  app.directions = told.directions;
  const state = await ask("state");
  Object.assign(app, { table: state.table, aim: state.aim });
  Object.assign(app.list, { stale: told.stale, directions: told.directions });
  app.again(what);
}
