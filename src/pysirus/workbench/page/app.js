/* The page: one state, six steps, and a footer with the code of what was done. */
import { button, byId, el, switchTheme } from "./dom.js";
import { SAY } from "./charts.js";
import { speak, spoken, t } from "./words.js";
import { ask, codeBox, marked, taken } from "./parts.js";
import { showTable } from "./table.js";
import { showTarget } from "./target.js";
import { showTune } from "./tune.js";
import { showRules } from "./rules.js";
import { showDecide } from "./decide.js";
import { showShip } from "./ship.js";

const STEPS = [
  ["table", showTable, () => true],
  ["target", showTarget, () => app.table],
  ["tune", showTune, () => app.aim],
  ["rules", showRules, () => app.list],
  ["decide", showDecide, () => app.list],
  ["ship", showShip, () => app.list],
];
let working = 0;

export const app = {
  step: "table", table: null, targets: [], aim: null, list: null, front: null, chosen: {}, by: "", most: Infinity, signing: {},

  /* Show a step; the title is focused so that a reader hears where it is. */
  go(step) {
    app.step = step;
    app.clear();
    const box = byId("main");
    box.replaceChildren(el("h2", { tabindex: "-1", id: "step-title" }, t(`${step}.title`)), el("p", { class: "note" }, t(`${step}.note`)));
    STEPS.find(([name]) => name === step)[1](box, app);
    app.bar();
    byId("step-title").focus({ preventScroll: true });
    scrollTo(0, 0);
  },

  /* The step again, after a change: where somebody was is where they are, and what happened is told. */
  again(told = "") {
    const place = marked(document.activeElement), top = scrollY;
    app.go(app.step);
    scrollTo(0, top);
    taken(place, byId("main"));
    byId("told").textContent = told;
  },

  bar() {
    byId("steps").replaceChildren(...STEPS.map(([name, , ready], i) => button(
      el("span", {}, el("b", {}, `${i + 1}`), ` ${t(`${name}.name`)}`), () => app.go(name),
      { "aria-current": name === app.step ? "step" : false, disabled: !ready(), "data-step": name })));
    byId("title").textContent = app.table ? app.table.name : "pysirus workbench";
    document.title = app.table ? `${app.table.name} · pysirus` : "pysirus workbench";
    const code = app.list ? app.list.code : app.aim ? [app.aim.code] : [];
    byId("code").hidden = !code.length || app.step === "ship";
    byId("code").replaceChildren(codeBox(code));
  },

  /* Do something that may be refused: the message is shown, and whoever asked goes on as before. */
  async attempt(work, where = null) {
    app.clear();
    if (where) where.disabled = true;
    working += 1;
    byId("main").setAttribute("aria-busy", "true");
    try {
      return await work();
    } catch (error) {
      app.complain(error.message);
      return null;
    } finally {
      if (where) where.disabled = false;
      working -= 1;
      byId("main").setAttribute("aria-busy", String(working > 0));
    }
  },

  complain(message) {
    const box = byId("problem");
    box.hidden = false;
    box.replaceChildren(...message.split("\n").map((line) => el("p", /^\s/.test(line) ? { class: "mono" } : {}, line)), button(t("close"), app.clear));
    box.scrollIntoView({ block: "nearest" });
  },

  clear() { byId("problem").hidden = true; },
};

async function begin() {
  const found = await ask("state");
  Object.assign(app, { table: found.table, targets: found.targets, aim: found.aim, most: found.most });
  if (found.learned) Object.assign(app, await ask("rules"));
  app.go(app.list ? "rules" : app.aim ? "tune" : "table");
}

function dress() {
  const kept = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
  const keep = (name, value) => { try { localStorage.setItem(name, value); } catch { /* a private window */ } };
  speak(kept("language") || (navigator.language || "en").slice(0, 2));
  byId("language").value = spoken();
  byId("language").addEventListener("change", (event) => { speak(event.target.value); keep("language", event.target.value); label(); app.go(app.step); });
  if (kept("theme")) document.documentElement.dataset.theme = kept("theme");
  byId("theme").addEventListener("click", () => keep("theme", switchTheme()));
  label();
}

function label() {
  for (const name of ["stability", "ideal", "rule", "rules", "missing", "prediction", "not"]) SAY[name] = t(`chart.${name}`);
  SAY.against = (error) => t("chart.against", { error, stability: SAY.stability });
  SAY.steps = (start, end) => t("chart.steps", { start, end });
  document.documentElement.lang = spoken();
  byId("theme").setAttribute("aria-label", t("theme"));
  byId("steps").setAttribute("aria-label", t("steps"));
  document.querySelector(".skip").textContent = t("skip");
}

dress();
begin().catch((error) => app.complain(error.message));
