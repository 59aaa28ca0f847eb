/* Step 1: a file in, its columns with what was understood of each. */
import { choice, el } from "./dom.js";
import { t } from "./words.js";
import { ask, percent, picture, upload } from "./parts.js";

export function showTable(box, app) {
  const input = el("input", { type: "file", id: "file", accept: ".csv,.tsv,.txt,.gz,.xlsx,.xlsm,.parquet", onchange: (event) => take(event.target.files[0]) });
  const drop = el("label", { class: "drop", for: "file" }, el("b", {}, t("table.drop")), el("span", { class: "soft" }, t("table.stays")), input);
  const over = (on) => (event) => { event.preventDefault(); drop.classList.toggle("over", on); };
  drop.addEventListener("dragover", over(true));
  drop.addEventListener("dragleave", over(false));
  drop.addEventListener("drop", (event) => { over(false)(event); take(event.dataTransfer.files[0]); });

  async function take(file) {
    if (!file) return;
    drop.classList.add("busy");
    await app.attempt(async () => {
      const table = await upload(file, app.most);
      Object.assign(app, { table, targets: (await ask("state")).targets, aim: null, list: null, front: null, chosen: {}, directions: {}, signing: {} });
      app.go("table");
    });
    drop.classList.remove("busy");
  }
  if (app.table) drop.classList.add("small");
  box.append(drop);
  if (app.table) showColumns(box, app);
}

function showColumns(box, app) {
  const { table } = app;
  const missing = table.columns.reduce((sum, column) => sum + column.missing, 0);
  box.append(el("p", { class: "lead" }, t("table.lead", { rows: table.rows.toLocaleString("en"), columns: table.columns.length, missing: missing.toLocaleString("en") })));
  if (table.said.length) box.append(el("div", { class: "said", role: "note" }, table.said.map((text) => el("p", { lang: "en" }, text))));
  const heads = ["column", "picture", "kind", "missing", "use"].map((name) => el("th", { scope: "col" }, t(`table.${name}`)));
  const rows = table.columns.map((column) => row(column, app));
  box.append(el("div", { class: "scroll" }, el("table", { class: "columns" }, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rows))),
    el("p", { class: "next" }, el("button", { type: "button", class: "primary", onclick: () => app.go("target") }, t("table.next"))));
}

function row(column, app) {
  const now = !column.used ? "leave out" : column.forced ? "categories" : "auto";
  const kinds = [["auto", column.kind === "ignored" ? t("use.ignored") : t("use.auto")], ["categories", t("use.categories")], ["leave out", t("use.leave out")]]
    .filter(([key]) => key !== "categories" || column.can_be_categories);
  const use = choice(t("table.use-of", { name: column.name }), kinds, now, (value) => app.attempt(async () => {
    const told = await ask("column", { name: column.name, use: value });
    Object.assign(app, { table: told.table, targets: told.targets });
    app.again();
  }));
  use.classList.add("bare");
  const notes = [column.why, column.becomes && column.becomes.length ? t("table.becomes", { names: column.becomes.join(", ") }) : ""].filter(Boolean);
  return el("tr", { class: now === "leave out" || column.kind === "ignored" ? "out" : "" }, el("th", { scope: "row" }, column.name, notes.map((note) => el("small", {}, note))),
    el("td", {}, picture(column.picture)), el("td", {}, t(`kind.${column.kind}`)),
    el("td", { class: "number" }, column.missing ? `${column.missing.toLocaleString("en")} (${percent(column.missing / app.table.rows)})` : "–"), el("td", {}, use));
}
