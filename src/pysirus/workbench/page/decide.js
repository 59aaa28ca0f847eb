/* Step 5: one row and its reasons, what would change its decision, groups, and the price of mistakes. */
import { button, choice, el, field } from "./dom.js";
import { t } from "./words.js";
import { ask, codeBox, multiplies } from "./parts.js";
import { drawWaterfall, format, minus } from "./charts.js";
import { edit } from "./rules.js";

export function showDecide(box, app) {
  box.append(lookup(app), prices(app), groups(app), el("p", { class: "next" }, button(t("decide.next"), () => app.go("ship"), { class: "primary" })));
}

/* -------------------------------------------------------------------------------------------------------- one row */

function lookup(app) {
  const found = el("div", { class: "scroll", id: "found" }), result = el("div", { id: "row", "aria-live": "polite" });
  const search = field(t("decide.search"), "", () => { clearTimeout(search.timer); search.timer = setTimeout(() => list(search.querySelector("input").value), 250); }, { type: "search", id: "search" });
  let text = "", decided = "";
  async function list(now) {
    text = now;
    const told = await app.attempt(() => ask("rows", { search: text, decided }));
    if (!told) return;
    const heads = ["#", t(app.list.classes ? "decide.decision" : "decide.prediction"), ...told.columns].map((name) => el("th", { scope: "col" }, name));
    heads.push(el("th", { scope: "col" }, el("span", { class: "unseen" }, t("decide.why"))));
    found.replaceChildren(told.rows.length ? el("table", { class: "rows" }, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, told.rows.map(([number, answer, ...cells]) =>
      el("tr", {}, el("th", { scope: "row" }, String(number)), el("td", { class: "answer" }, minus(answer)), cells.map((cell) => el("td", {}, cell)), el("td", {}, button(t("decide.why"), () => explain(app, number, result), { class: "why", "aria-label": t("decide.row", { n: number }) })))))) : el("p", { class: "note" }, t("decide.none")));
  }
  search.classList.add("wide");
  list("");
  const only = app.list.classes ? choice(t("decide.show"), [["", t("decide.all")], ...app.list.classes.map((name) => [name, t("decide.only", { name })])], "", (name) => { decided = name; list(text); }, { id: "decided" }) : "";
  return el("section", {}, el("h3", {}, t("decide.one")), el("div", { class: "fields" }, search, only), found, result);
}

async function explain(app, row, result, outcome = null) {
  const told = await app.attempt(() => ask("row", { row, outcome }));
  if (!told) return;
  const { steps } = told;
  const bars = steps.reasons.map((own) => ({ text: own.text, fired: true, value: own.contribution }));
  const shares = told.prediction.shares ? el("p", {}, Object.entries(told.prediction.shares).map(([name, share]) => el("span", { class: "badge" }, `${name} ${(100 * share).toFixed(1)}%`))) : "";
  const figure = el("figure", {});
  const reasons = el("ol", { class: "reasons" }, told.reasons.reasons.map((own) => el("li", {}, own.text, el("small", {}, ` (${minus(own.input)}) ${amount(own.contribution, app.list)}`))));
  const why = el("p", { class: "note" }, cutoff(told.reasons), t("decide.reasons", { scale: multiplies(app.list) ? t("decide.in-factors") : scale(app.list, told.reasons) }));
  result.replaceChildren(el("h4", { tabindex: "-1" }, t("decide.predicted", { n: row, text: app.list.is_risk ? t("decide.hazard-now", { times: `×${format(Math.exp(steps.score), 3)}` }) : minus(told.prediction.text) })), shares, why, reasons, figure, codeBox(told.code), change(app, row, told.prediction.text));
  figure.append(drawWaterfall(steps.base, bars, steps.score, scale(app.list, steps), Math.min(860, result.clientWidth || 600), ends(app.list, steps), t("decide.average")));
  result.scrollIntoView({ block: "nearest" });
}

/* What a contribution is, in the words of the page. */
export function scale(list, told) {
  if (list.link === "identity") return list.target;
  if (told.scale.startsWith("log-odds of ")) return t("decide.in-odds", { name: told.scale.slice("log-odds of ".length) });
  return multiplies(list) ? t("decide.log", { name: list.is_risk ? t("decide.hazard") : list.target }) : told.scale;
}

/* How much a reason counts: what it adds, or, of counts, amounts and risks, by what it multiplies. */
export const amount = (value, list) => (multiplies(list) ? `×${format(Math.exp(value), 3)}` : `${value >= 0 ? "+" : "−"}${format(Math.abs(value), 3)}`);

/* What the first and the last score stand for. */
export function ends(list, { base, score, scale: name }) {
  if (multiplies(list)) return [base, score].map((own) => `${list.is_risk ? "×" : ""}${format(Math.exp(own), 3)}`);
  return name.startsWith("log-odds of ") ? [base, score].map((own) => `${(100 / (1 + Math.exp(-own))).toFixed(1)}%`) : null;
}

/* The cut-off of two classes in words. */
function cutoff(told) {
  return told.cutoff === undefined ? "" : `${t("decide.cutoff", { name: told.class, share: `${(100 * told.cutoff).toFixed(1)}%`, now: `${(100 * told.probability).toFixed(1)}%` })} `;
}

/* The smallest change that leads to another decision. */
function change(app, row, now) {
  const { list } = app, result = el("div", { id: "changed", "aria-live": "polite" }), chosen = { to: list.classes ? list.classes.find((name) => name !== now) : "", fixed: new Set() };
  const wanted = list.classes ? choice(t("decide.wanted"), list.classes.map((name) => [name, name]), chosen.to, (value) => { chosen.to = value; }, { id: "wanted" })
    : field(list.is_risk ? t("decide.wanted-hazard") : t("decide.wanted-number", { example: list.example }), "", (value) => { chosen.to = value; }, { placeholder: list.is_risk ? "<= 1" : list.example, id: "wanted" });
  const fixed = el("fieldset", { class: "checks" }, el("legend", {}, t("decide.fixed")), list.used.map((name) => el("label", {}, el("input", { type: "checkbox", onchange: (event) => chosen.fixed[event.target.checked ? "add" : "delete"](name) }), ` ${name}`)));
  const find = button(t("decide.find"), async (event) => {
    const told = await app.attempt(() => ask("change", { row, to: chosen.to, fixed: [...chosen.fixed] }), event.target);
    if (!told) return;
    result.replaceChildren(told.found ? el("table", { class: "beside" }, el("thead", {}, el("tr", {}, [t("table.column"), t("decide.now"), t("decide.needed")].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, Object.entries(told.changes).map(([name, [now, then]]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, minus(now || "–")), el("td", {}, minus(then))))))
      : el("p", {}, t("decide.no-change")), ...(told.found ? [el("p", { class: "note" }, cutoff(told.then))] : []), codeBox(told.code));
  }, { id: "find-change" });
  return el("section", { class: "panel" }, el("h4", {}, t("decide.change")), el("div", { class: "fields" }, wanted, find), fixed, result);
}

/* --------------------------------------------------------------------------------------------------- costs and groups */

function prices(app) {
  const { list } = app;
  if (!list.classes || list.classes.length !== 2) return "";
  const made = list.edits.find((own) => own.method === "decide"), costs = Object.fromEntries(list.classes.map((name) => [name, made ? made.value[name] : 1]));
  return el("section", {}, el("h3", {}, t("decide.costs")), el("p", { class: "note" }, t("decide.costs-note")), el("div", { class: "fields" },
    list.classes.map((name) => field(t("decide.cost-of", { name }), costs[name], (value) => { costs[name] = value; }, { type: "number", min: "0", step: "any" })),
    button(t("decide.set"), () => edit(app, { method: "costs", costs: Object.fromEntries(Object.entries(costs).map(([name, value]) => [name, Number(value)])) }), { id: "set-costs" }),
    made ? button(t("decide.likely"), () => edit(app, { method: "costs", costs: {} })) : ""));
}

function groups(app) {
  const result = el("div", { id: "groups", "aria-live": "polite" }), place = el("div", {});
  ask("grouping").then((told) => place.replaceChildren(told.columns.length ? choice(t("decide.by"), [["", t("target.choose")], ...told.columns.map((name) => [name, name])], "", async (by) => {
    const found = by ? await app.attempt(() => ask("groups", { by })) : null;
    if (found) result.replaceChildren(groupTable(found), codeBox(found.code));
  }, { id: "by" }) : el("p", { class: "note" }, t(app.list.is_risk ? "decide.no-groups-risk" : "decide.no-groups")))).catch((error) => app.complain(error.message));
  return el("section", {}, el("h3", {}, t("decide.groups")), el("p", { class: "note" }, t("decide.groups-note")), place, result);
}

function groupTable(found) {
  const shown = (value) => (value === null || value === undefined ? "–" : format(Math.abs(value) < 1e-9 ? 0 : value, 3)), rate = (own, name) => (own[name] === undefined ? null : `${shown(own[name])} (${shown(own[`${name}_low`])} – ${shown(own[`${name}_high`])})`);
  const names = ["selected", "true_positive", "false_positive"].filter((name) => found.groups[0][name] !== undefined);
  const heads = [found.by, t("rules.rows"), t("decide.observed"), t("decide.expected"), t("decide.gap"), ...names.map((name) => t(`decide.${name}`))];
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("decide.groups") }, el("table", { class: "rows" }, el("thead", {}, el("tr", {}, heads.map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, found.groups.map((own) => el("tr", { class: own.small ? "out" : "" }, el("th", { scope: "row" }, own === found.groups[found.groups.length - 1] ? t("decide.every") : String(own.group)), [own.rows.toLocaleString("en"), shown(own.observed), shown(own.predicted), rate(own, "gap"), ...names.map((name) => rate(own, name))].map((cell) => el("td", {}, cell)))))));
}
