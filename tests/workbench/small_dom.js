/* As much of a page as the components need, for Node: elements, attributes, text, listeners, focus. */
class Element {
  constructor(tag) { Object.assign(this, { tagName: tag.toUpperCase(), attributes: {}, childNodes: [], listeners: {}, parent: null, style: {}, dataset: {}, value: "" }); }
  setAttribute(name, value) { this.attributes[name] = String(value); }
  getAttribute(name) { return this.attributes[name] ?? null; }
  get id() { return this.attributes.id || ""; }
  get disabled() { return "disabled" in this.attributes; }
  get children() { return this.childNodes.filter((own) => own instanceof Element); }
  get classList() {
    const names = new Set((this.attributes.class || "").split(" ").filter(Boolean)), keep = () => { this.attributes.class = [...names].join(" "); };
    return { add: (name) => { names.add(name); keep(); }, contains: (name) => names.has(name), toggle: (name, on = !names.has(name)) => { names[on ? "add" : "delete"](name); keep(); } };
  }
  append(...nodes) { for (const own of nodes) { if (own instanceof Element) own.parent = this; this.childNodes.push(own instanceof Element ? own : String(own)); } }
  replaceChildren(...nodes) { this.childNodes = []; this.append(...nodes); }
  get textContent() { return this.childNodes.map((own) => (own instanceof Element ? own.textContent : own)).join(""); }
  set textContent(text) { this.childNodes = [String(text)]; }
  addEventListener(name, listener) { (this.listeners[name] = this.listeners[name] || []).push(listener); }
  async fire(name, more = {}) { for (const own of this.listeners[name] || []) await own({ target: this, preventDefault() {}, ...more }); }
  click() { return this.fire("click"); }
  focus() { document.activeElement = this; }
  matches(selector) {
    return selector.split(",").some((one) => {
      const [, tag, ...rest] = /^([a-z]*\d?)((?:[#.][\w-]+)*)$/.exec(one.trim()), marks = rest[0].match(/[#.][\w-]+/g) || [];
      return (!tag || this.tagName === tag.toUpperCase()) && marks.every((mark) => (mark[0] === "#" ? this.id === mark.slice(1) : this.classList.contains(mark.slice(1))));
    });
  }
  querySelectorAll(selector) { return this.children.flatMap((own) => [...(own.matches(selector) ? [own] : []), ...own.querySelectorAll(selector)]); }
  querySelector(selector) { return this.querySelectorAll(selector)[0] ?? null; }
  closest(selector) { return this.matches(selector) ? this : this.parent && this.parent.closest(selector); }
}

export function page() {
  const body = new Element("body");
  globalThis.document = { createElement: (tag) => new Element(tag), createElementNS: (_, tag) => new Element(tag), activeElement: null, body, getElementById: (id) => body.querySelector(`#${id}`) };
  return body;
}
