/* Step 3: directions and columns to leave out, then tuning, with progress and a way to stop it. */
import { button, el } from "./dom.js";
import { t } from "./words.js";
import { ask, marked, taken } from "./parts.js";

const SIGNS = [[1, "↗", "rises"], [0, "·", "free"], [-1, "↘", "falls"]];

/* Buttons for the direction of a column. */
export function direction(name, now, onchange) {
  return el("span", { class: "signs", role: "group", "aria-label": t("tune.direction", { name }) }, SIGNS.map(([sign, mark, word]) =>
    button(mark, () => onchange(sign), { "aria-pressed": String(sign === now), title: t(`tune.${word}`), "aria-label": `${name}: ${t(`tune.${word}`)}` })));
}

export function showTune(box, app) {
  const { aim } = app, kinds = Object.fromEntries(app.table.columns.map((column) => [column.name, column.kind]));
  const directions = app.directions || (app.directions = {});
  const rows = el("ul", { class: "features" });
  const draw = () => rows.replaceChildren(...aim.features.map((name) => el("li", { "data-name": name }, el("span", { class: "feature-name" }, name),
    kinds[name] === "number" || kinds[name] === "date" ? direction(name, directions[name] || 0, (sign) => set(name, sign)) : el("span", { class: "soft" }, t(`kind.${kinds[name]}`)),
    button(t("tune.leave"), () => leave(name), { class: "quiet", "aria-label": t("tune.leave-name", { name }) }))));
  const set = (name, sign) => app.attempt(async () => { const place = marked(document.activeElement); app.directions = Object.assign(directions, (await ask("constrain", { directions: { [name]: sign } })).directions); if (!sign) delete directions[name]; draw(); taken(place, box); });
  const after = async () => {
    const told = await ask("state");
    Object.assign(app, { table: told.table, targets: told.targets, aim: told.aim });
    app.again();
  };
  const leave = (name) => app.attempt(async () => { await ask("constrain", { drop: [name] }); await after(); });
  const use = (name) => app.attempt(async () => { await ask("column", { name, use: "auto" }); await after(); });
  const left = app.table.columns.filter((column) => !column.used).map((column) => column.name);
  const out = left.length ? el("p", { class: "left-out" }, el("span", { class: "soft" }, t("tune.left")), left.map((name) => el("span", {}, name, button("↺", () => use(name), { class: "quiet", title: t("tune.use", { name }), "aria-label": t("tune.use", { name }) })))) : "";
  draw();
  box.append(el("details", { open: true }, el("summary", {}, t("tune.known")), el("p", { class: "note" }, aim.about ? t("tune.known-class", { name: aim.about }) : t(aim.aim.kind === "survival" ? "tune.known-risk" : "tune.known-note")), rows, out));

  const bar = el("progress", { max: "1", "aria-label": t("tune.progress") }), said = el("p", { class: "soft", role: "status" });
  const stop = button(t("tune.stop"), () => ask("stop"), { hidden: true, id: "stop" });
  const start = button(app.list ? t("tune.again") : t("tune.start"), () => run(), { class: "primary", id: "start" });
  bar.hidden = true;
  box.append(el("p", { class: "next" }, start, stop), bar, said);

  async function run() {
    const began = Date.now();
    stop.hidden = bar.hidden = false;
    const timer = setInterval(() => follow(bar, said, began), 400);
    const told = await app.attempt(() => ask("tune"), start);
    clearInterval(timer);
    stop.hidden = bar.hidden = true;
    said.textContent = told && told.stopped ? t("tune.stopped") : "";
    if (!told || told.stopped) return;
    Object.assign(app, told);
    app.go("rules");
  }
}

async function follow(bar, said, began) {
  const told = await ask("progress").catch(() => ({}));
  if (told.state !== "running") return;
  const share = told.of ? Math.max(0, Math.min(1, told.done / told.of)) : 0;
  if (told.doing === "reading") bar.removeAttribute("value"); else bar.value = told.doing === "folds" ? 0.2 + 0.8 * share : 0.2 * share;
  said.textContent = t(`doing.${told.doing}`, { done: Math.round(told.done), of: Math.round(told.of) }) + ` · ${Math.round((Date.now() - began) / 1000)} s`;
}
