/* Step 2: what is to be predicted, in plain words. */
import { choice, el } from "./dom.js";
import { t } from "./words.js";
import { ask, picture } from "./parts.js";

const KINDS = ["number", "classes", "counts", "amounts", "zeros", "survival"];

export function showTarget(box, app) {
  const chosen = app.chosen;
  if (app.aim && !chosen.target) Object.assign(chosen, app.aim.aim);
  const targets = app.targets.filter((own) => own.kinds.length);
  const found = targets.find((own) => own.name === chosen.target);
  if (found && !found.kinds.includes(chosen.kind)) chosen.kind = found.kinds[0];
  const again = (change) => { Object.assign(chosen, change); app.again(); };

  box.append(choice(t("target.column"), [["", t("target.choose")], ...targets.map((own) => [own.name, own.name])], chosen.target || "", (target) => again({ target, kind: null, event: null, event_value: null, positive: null, exposure: null }), { id: "target-column" }));
  if (!found) return;
  box.append(el("fieldset", { class: "cards" }, el("legend", {}, t("target.kind")), KINDS.filter((kind) => found.kinds.includes(kind)).map((kind) =>
    el("label", { class: "card" }, el("input", { type: "radio", name: "kind", id: `kind-${kind}`, value: kind, checked: kind === chosen.kind, onchange: () => again({ kind }) }),
      el("b", {}, t(`aim.${kind}`)), el("span", {}, t(`aim.${kind}.why`))))));
  const others = app.table.columns.filter((column) => column.name !== chosen.target);
  const column = (label, key, names) => choice(label, [["", t("target.none")], ...names.map((name) => [name, name])], chosen[key] || "", (value) => again({ [key]: value || null }), { "data-key": key, id: key });
  const fields = [];
  if (chosen.kind === "survival") {
    const events = app.targets.filter((own) => own.event && own.name !== chosen.target).map((own) => own.name);
    fields.push(column(t("target.event"), "event", events));
    const own = app.table.columns.find((each) => each.name === chosen.event);
    const values = own && own.picture ? (own.picture.levels || []).map(([name]) => name) : [];
    if (values.length > 1) fields.push(choice(t("target.event-value"), [["", t("target.event-auto")], ...values.map((name) => [name, name])], chosen.event_value || "", (value) => again({ event_value: value || null }), { id: "event-value" }));
  }
  const numbers = others.filter((own) => own.kind === "number").map((own) => own.name);
  if (["counts", "zeros"].includes(chosen.kind)) fields.push(column(t("target.exposure"), "exposure", numbers));
  const own = app.table.columns.find((each) => each.name === chosen.target);
  if (chosen.kind === "classes" && own.picture && own.picture.levels && own.picture.of === 2) {
    fields.push(choice(t("target.positive"), [["", t("target.positive-auto")], ...own.picture.levels.map(([name]) => [name, name])], chosen.positive || "", (positive) => again({ positive: positive || null }), { "data-key": "positive", id: "positive" }));
  }
  const more = el("details", { open: Boolean(chosen.weights || chosen.groups) }, el("summary", {}, t("target.more")),
    el("div", { class: "fields" }, column(t("target.weights"), "weights", numbers), column(t("target.groups"), "groups", others.map((each) => each.name))));
  const result = el("div", { id: "aimed" });
  box.append(el("div", { class: "fields" }, fields), more, result);
  if (chosen.kind && (chosen.kind !== "survival" || chosen.event)) settle(app, result);
}

/* Tell the session, and show what it makes of the choice. */
async function settle(app, result) {
  const { target, kind, ...more } = app.chosen;
  const given = Object.fromEntries(["event", "event_value", "exposure", "positive", "weights", "groups"].map((key) => [key, more[key] || null]));
  const aim = await app.attempt(() => ask("aim", { kind, target, ...given }));
  if (!aim) return;
  app.aim = aim;
  app.bar();
  const sentence = t(`said.${kind}`, { target, event: given.event, exposure: given.exposure || "" });
  result.replaceChildren(el("p", { class: "lead" }, sentence), el("div", { class: "target-picture" }, picture(aim.picture)),
    aim.missing ? el("p", { class: "said" }, t("target.missing", { n: aim.missing.toLocaleString("en") })) : "",
    el("p", {}, t("target.features", { n: aim.features.length })),
    el("p", { class: "next" }, el("button", { type: "button", class: "primary", onclick: () => app.go("tune") }, t("target.next"))));
}
