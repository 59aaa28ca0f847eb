"use strict";
/* The list as something to edit: how long it is, which rules it has, which effects are fixed, and what that costs. A state
   (kept, fixed), its history, and functions that show it. Every text of the model is put on the page as text. */

const editing = (() => {
  const box = document.getElementById("edit");
  if (!box) return null;
  const model = JSON.parse(document.getElementById("model").textContent), sums = refit.sumsOf(model);
  const all = refit.candidates(model), keys = all.map((term) => JSON.stringify(term.conditions ?? term.feature));
  const own = new Set(model.rules.map((term) => JSON.stringify(term.conditions ?? term.feature)));
  const original = { kept: keys.map((key) => own.has(key)), fixed: {} };
  const past = [], undone = [];
  let now = original, found = null;
  const before = weigh(original);

  const three = (share) => share === null ? "–" : share.toFixed(3);
  const signed = (value) => `${value < 0 ? "−" : "+"}${format(Math.abs(value), 3)}`;
  const condition = (term) => term.kind === "slope" ? `slope of ${term.feature}` : term.text.split(" then ")[0].replace(/^if /, "");
  const unit = (term) => term.kind === "slope" ? " per unit" : "";
  const plain = (value) => `${value < 0 ? "" : "+"}${value}`;  /* as rules are written */
  const fixedText = (at) => all[at].kind === "slope" ? `${plain(now.fixed[at])} per unit of ${all[at].feature}` : `${plain(now.fixed[at])} if ${condition(all[at])}`;

  /* The terms of a state in the order of a model file: fixed effects first. */
  function asked(state) {
    const terms = all.map((term, at) => ({ at, term, effect: state.fixed[at] ?? (term.effect ? term.effect.adds : undefined) }));
    const kept = terms.filter(({ at }) => state.kept[at]);
    return [...kept.filter((term) => term.effect !== undefined), ...kept.filter((term) => term.effect === undefined)];
  }

  function weigh(state) {
    const list = asked(state), own = refit.fit(sums, list), moves = {};
    list.forEach(({ at, term, effect }, i) => { moves[at] = own.weights[i] * ((effect ?? term.inside) - (effect === undefined ? term.outside ?? 0 : 0)); });
    return { ...own, list, moves };
  }

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

  const removed = () => all.map((_, at) => at).filter((at) => original.kept[at] && !now.kept[at]);
  const came = () => all.map((_, at) => at).filter((at) => !original.kept[at] && now.kept[at]);

  /* What was done, as a line of the trail of a model file. */
  function entry() {
    const fixed = Object.keys(now.fixed).map(Number).filter((at) => now.kept[at]);
    const trail = { removed: [...removed(), ...fixed.filter((at) => original.kept[at])].map((at) => condition(all[at])), added: [...came().filter((at) => !(at in now.fixed)).map((at) => condition(all[at])), ...fixed.map(fixedText)] };
    for (const name of ["note", "by"]) {
      const text = document.getElementById(`edit-${name}`).value.trim();
      if (text) trail[name] = text;
    }
    trail.date = new Date().toISOString().slice(0, 10);
    if (before.unexplained !== null) trail.error = { name: "unexplained variance over ten folds, of the same rules", before: before.unexplained, after: found.unexplained };
    return trail;
  }

  function save(name, type, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  const file = () => JSON.stringify(refit.edited(model, found.list, found, entry()), null, 1);

  function log() {
    const trail = entry(), lines = [`# Decisions about the rules for ${model.target}`, "", `${trail.date}${trail.by ? `, ${trail.by}` : ""}`, ""];
    if (trail.note) lines.push(trail.note, "");
    const listed = (title, texts) => { if (texts.length) lines.push(`## ${title}`, "", ...texts.map((text) => `- ${text}`), ""); };
    listed("Removed", trail.removed);
    listed("Added or fixed", trail.added);
    if (trail.error) lines.push(`Unexplained variance over ten folds, of the same rules: ${three(trail.error.before)} before, ${three(trail.error.after)} after.`, "");
    listed("The list", found.list.filter(({ at }) => found.moves[at]).map(({ at, term }) => `${condition(term)}: ${signed(found.moves[at])}${unit(term)}`));
    lines.push(`Intercept: ${format(found.intercept, 4)}`, "");
    return lines.join("\n");
  }

  function row(term, at, number) {
    const kept = now.kept[at], check = element("input", { type: "checkbox", "aria-label": `Keep rule ${number}` });
    check.checked = kept;
    check.addEventListener("change", () => change({ ...now, kept: now.kept.map((value, i) => i === at ? check.checked : value) }));
    const effect = element("input", { type: "text", inputmode: "decimal", size: "7", placeholder: "fitted", "aria-label": `Fixed effect of rule ${number}${unit(term)}` });
    effect.value = now.fixed[at] ?? (term.effect ? term.effect.adds : "");
    effect.disabled = !kept || Boolean(term.effect) || term.stage > 1;
    if (term.stage > 1) effect.title = "A correction of a later stage cannot have a fixed effect";
    effect.addEventListener("change", () => {
      const text = effect.value.trim().replace(",", ".").replace("−", "-"), value = Number(text);
      const fixed = { ...now.fixed };
      delete fixed[at];
      if (text && Number.isFinite(value) && value !== 0) fixed[at] = value;
      change({ ...now, fixed });
    });
    const was = before.moves[at], is = found.moves[at];
    const cell = (text, kind = "amount") => element("td", { class: kind }, text);
    return element("tr", kept ? {} : { class: "out" }, element("td", {}, check), cell(number, "amount"),
      element("td", { class: "what" }, condition(term)), cell(String(term.n_inside)), cell(was === undefined ? "–" : was === 0 ? "0" : signed(was) + unit(term)),
      cell(is === undefined ? "–" : is === 0 ? "0" : signed(is) + unit(term)), element("td", {}, effect));
  }

  function show() {
    found = weigh(now);
    const focus = document.activeElement && document.activeElement.getAttribute("aria-label");
    const head = ["Keep", "#", "Rule", "Rows", "Before", "Now", "Fixed effect"];
    const table = element("table", { class: "edit-table" }, element("thead", {}, element("tr", {}, ...head.map((text) => element("th", { scope: "col" }, text)))),
      element("tbody", {}, ...all.map((term, at) => row(term, at, at + 1))));
    document.getElementById("edit-list").replaceChildren(table);
    if (focus) for (const node of table.querySelectorAll("input")) if (node.getAttribute("aria-label") === focus) node.focus();
    const n = now.kept.filter(Boolean).length, used = found.weights.filter((weight) => weight > 0).length;
    const slider = document.getElementById("edit-length");
    slider.max = all.length;
    slider.value = n;
    document.getElementById("edit-length-value").textContent = n;
    const text = (id, value) => { document.getElementById(id).textContent = value; };
    text("edit-error", three(found.unexplained));
    text("edit-error-before", three(before.unexplained));
    text("edit-training", three(found.inTraining));
    text("edit-used", `${used} of ${n}`);
    const cost = found.unexplained - before.unexplained;
    text("edit-sentence", now === original ? "This is the list as it was fitted." : `${plural(removed().length, "rule")} removed, ${came().length} added, ${Object.keys(now.fixed).length} fixed: ` +
      (Math.abs(cost) < 5e-4 ? "the error stays as it was." : cost > 0 ? `the unexplained variance rises by ${cost.toFixed(3)}.` : `the unexplained variance falls by ${(-cost).toFixed(3)}.`));
    document.getElementById("edit-undo").disabled = !past.length;
    document.getElementById("edit-redo").disabled = !undone.length;
    document.getElementById("edit-original").disabled = now === original;
  }

  const on = (id, kind, act) => document.getElementById(id).addEventListener(kind, act);
  on("edit-length", "change", (event) => change({ ...now, kept: all.map((_, at) => at < Number(event.target.value)) }));
  on("edit-undo", "click", () => move(past, undone));
  on("edit-redo", "click", () => move(undone, past));
  on("edit-original", "click", () => change(original));
  on("edit-save", "click", () => save("edited.json", "application/json", file()));
  on("edit-log", "click", () => save("decisions.md", "text/markdown", log()));
  show();
  return { file, log, state: () => now, found: () => found };
})();
