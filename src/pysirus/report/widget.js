/* The editor in a cell of a notebook (anywidget): the same as in a report. It stands in a root of its own, so that neither
   takes the style of the other; what somebody does is told to Python, and is there again where the cell is shown again. */
import { el } from "./dom.js";
import { editor } from "./edit.js";
import { speak } from "./words.js";

const DARK = '[data-jp-theme-light="false"], [data-theme="dark"], [data-bs-theme="dark"], .vscode-dark, .vscode-high-contrast, .dark, .dark-theme';
const LIGHT = '[data-jp-theme-light="true"], [data-theme="light"], .vscode-light, .light, .light-theme';
const WAIT = 60;  /* milliseconds after a change, so that typing is told once */

function render({ model, el: place }) {
  const host = el("div", { "data-lm-suppress-shortcuts": "true" }), box = el("section", { "aria-labelledby": "edit-title" }), root = host.attachShadow({ mode: "open" });
  const dress = () => {
    const [page, body] = [document.documentElement, document.body], has = (names) => page.matches(names) || body.matches(names);
    if (has(DARK)) host.dataset.theme = "dark";
    else if (has(LIGHT)) host.dataset.theme = "light";
    else delete host.dataset.theme;
  };
  const watch = new MutationObserver(dress);
  for (const node of [document.documentElement, document.body]) watch.observe(node, { attributes: true });
  dress();
  root.append(el("style", {}, model.get("_style")), box);
  root.addEventListener("keydown", (event) => event.stopPropagation());  /* keys that are typed here are no shortcuts of the notebook */
  place.append(host);

  let timer = null, ready = false;
  const tell = (edit) => {
    if (!ready) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      const done = edit.wasEdited();
      model.set("state", edit.state());
      model.set("file", done ? edit.file() : "");
      model.set("decisions", done ? edit.log() : "");
      model.save_changes();
    }, WAIT);
  };
  speak(model.get("language"));
  const edit = editor(box, model.get("_document"), model.get("_patterns"), tell);
  const take = () => { const state = model.get("state"); if (state && JSON.stringify(state) !== JSON.stringify(edit.state())) edit.take(state); };
  take();
  ready = true;
  model.on("change:state", take);
  return () => { watch.disconnect(); clearTimeout(timer); model.off("change:state", take); };
}
