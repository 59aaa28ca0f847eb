/* What several steps show, and what the page asks of the session. */
import { button, el } from "./dom.js";
import { t } from "./words.js";

/* Bars of a number, or the most frequent categories. */
export function picture(shown) {
  if (!shown) return el("span", { class: "none" }, "–");
  if (shown.levels) {
    const most = Math.max(1, ...shown.levels.map(([, n]) => n));
    const rows = shown.levels.slice(0, 4).map(([name, n]) => el("span", { class: "level" }, el("span", { class: "level-name" }, name),
      el("span", { class: "bar" }, sized(el("i"), n / most)), el("span", { class: "level-n" }, n.toLocaleString("en"))));
    const more = shown.of > 4 ? [el("span", { class: "soft" }, t("more", { n: shown.of - 4 }))] : [];
    return el("div", { class: "levels-picture" }, rows, more);
  }
  const top = Math.max(1, ...shown.bars);
  const bars = shown.bars.map((n) => { const bar = el("i"); bar.style.height = `${Math.max(n ? 4 : 0, 100 * n / top)}%`; return bar; });
  return el("div", { class: "numbers-picture" }, el("div", { class: "histogram", role: "img", "aria-label": t("range", shown) }, bars),
    el("div", { class: "ends" }, el("span", {}, shown.from), el("span", { class: "soft" }, t("middle", { middle: shown.middle })), el("span", {}, shown.to)));
}

export function sized(bar, share) { bar.style.width = `${(100 * Math.max(0, Math.min(1, share || 0))).toFixed(1)}%`; return bar; }

/* Where somebody is on the page, so that they are there again when it was drawn anew: by id, or the nth thing so called. */
const called = (node) => node.id || node.getAttribute("aria-label") || node.textContent;
const things = (box) => [...box.querySelectorAll("button, input, select, summary, circle")];

export function marked(node) {
  if (!node || !node.closest || !node.closest("main")) return null;
  const name = called(node), same = things(node.closest("main")).filter((own) => called(own) === name);
  return same.includes(node) ? { name, at: same.indexOf(node) } : null;
}

export function taken(place, box) {
  const same = place ? things(box).filter((own) => called(own) === place.name && !own.disabled) : [];
  const found = same[Math.min(place ? place.at : 0, same.length - 1)];
  if (found) found.focus({ preventScroll: true });
}

/* Whether rules multiply what a list predicts, as of counts, amounts and risks. */
export const multiplies = (list) => list.link === "log" || list.is_risk;

export const percent = (share) => (share > 0 && share < 0.005 ? "< 1%" : `${Math.round(100 * share)}%`);

/* Python and the command line for a step, to copy. */
export function codeBox(code, open = false) {
  const both = (Array.isArray(code) ? code : [code]).filter((own) => own);
  const python = both.map((own) => own.python).filter(Boolean).join("\n"), command = both.map((own) => own.command).filter(Boolean).join("\n");
  return el("details", { class: "code", open }, el("summary", {}, t("code")), ...[["Python", python], [t("command"), command]].filter(([, text]) => text).map(([name, text]) =>
    el("div", {}, el("div", { class: "code-head" }, el("b", {}, name), button(t("copy"), (event) => copy(text, event.target))), el("pre", { tabindex: "0" }, text))));
}

async function copy(text, where) {
  await navigator.clipboard.writeText(text);
  where.textContent = t("copied");
}

/* Ask the session for something; a refusal is an error with its message. */
export async function ask(action, given = {}) {
  return answer(await fetch(`api/${action}`, { method: "POST", headers: { "X-Workbench": "1", "Content-Type": "application/json" }, body: JSON.stringify(given) }));
}

export async function upload(file, most = Infinity) {
  if (file.size > most) throw new Error(t("table.too-large", { name: file.name, size: Math.ceil(file.size / 2 ** 20), most: most / 2 ** 20 }));
  return answer(await fetch("upload", { method: "POST", headers: { "X-Workbench": "1", "X-Name": encodeURIComponent(file.name) }, body: file }));
}

async function answer(response) {
  const told = await response.json();
  if (told.error) throw new Error(told.error);
  return told;
}
