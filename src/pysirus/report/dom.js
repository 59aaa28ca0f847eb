/* Elements of a page. Data is put on it as text, never as markup. */

export const byId = (id) => document.getElementById(id);
export const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

/* An element; attributes that begin with "on" are listeners, true sets an attribute without a value, false leaves it out. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value") node.value = value;
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const button = (label, onclick, more = {}) => el("button", { type: "button", onclick, ...more }, label);

export function choice(label, options, value, onchange, more = {}) {
  const box = el("select", { onchange: (event) => onchange(event.target.value), ...more },
    options.map(([key, text]) => el("option", { value: key, selected: key === value }, text)));
  return el("label", { class: "field" }, el("span", {}, label), box);
}

export function field(label, value, oninput, more = {}) {
  return el("label", { class: "field" }, el("span", {}, label), el("input", { type: "text", value: value ?? "", oninput: (event) => oninput(event.target.value), ...more }));
}

/* Hand a text over as a file. */
export function saveAs(name, type, text) {
  const href = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href, download: name }).click();
  URL.revokeObjectURL(href);
}

/* From light to dark and back; what it is then. */
export function switchTheme() {
  const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  return root.dataset.theme = dark ? "light" : "dark";
}
