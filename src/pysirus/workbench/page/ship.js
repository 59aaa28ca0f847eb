/* Step 6: who vouches for the list, and the files that leave the page. */
import { button, el, field, saveAs } from "./dom.js";
import { t } from "./words.js";
import { ask, codeBox } from "./parts.js";

export function showShip(box, app) {
  const place = el("section", {});
  box.append(sign(app), place, el("section", {}, el("h3", {}, t("ship.steps")), el("p", { class: "note" }, t("ship.steps-note")), codeBox([{ python: app.list.python, command: app.list.shell }], true)));
  ask("offered").then((told) => place.replaceChildren(el("h3", {}, t("ship.files")), el("p", { class: "note" }, t(told.signed ? "ship.is-signed" : "ship.not-signed")),
    el("ul", { class: "files" }, told.files.map((name) => el("li", {}, el("a", { href: `files/${name}`, download: true }, t(`file.${name}`)), el("small", {}, t(`file.${name}.why`))))),
    el("p", { class: "next" }, el("a", { class: "primary button", id: "all", href: "files/all", download: true }, t("ship.all"))))).catch((error) => app.complain(error.message));
}

function sign(app) {
  const given = Object.assign(app.signing, { by: app.signing.by || app.by, note: app.signing.note || "" });
  const name = el("span", { class: "soft", id: "key-said", role: "status" }, given.key ? t("ship.have-key", { name: given.file }) : t("ship.no-key"));
  const have = (key, file) => { Object.assign(given, { key, file }); name.textContent = t("ship.have-key", { name: file }); };
  const file = el("input", { type: "file", accept: ".pem", id: "key", onchange: async (event) => have(await event.target.files[0].text(), event.target.files[0].name) });
  const make = button(t("ship.make-key"), () => app.attempt(async () => {
    have((await ask("key")).key, "key.pem");
    name.textContent = t("ship.new-key");
    saveAs("key.pem", "application/x-pem-file", given.key);
  }), { id: "make-key" });
  const go = button(t("ship.sign"), () => app.attempt(async () => {
    if (!given.key) throw new Error(t("ship.need-key"));
    const told = await ask("sign", { by: given.by, note: given.note, key: given.key });
    app.by = given.by;
    app.list = (await ask("rules")).list;
    app.again(told.signatures.join(" "));
  }, go), { class: "primary", id: "sign" });
  const stamps = el("div", { id: "signed" }, app.list.signatures.map((text) => el("p", { class: "stamp" }, `✓ ${text}`)));
  return el("section", { class: "panel" }, el("h3", {}, t("ship.vouch")), el("p", { class: "note" }, t("ship.vouch-note")),
    el("div", { class: "fields" }, field(t("who"), given.by, (value) => { given.by = value; }, { id: "by" }), field(t("ship.note-label"), given.note, (value) => { given.note = value; }, { id: "note" })),
    el("div", { class: "fields" }, el("label", { class: "field" }, el("span", {}, t("ship.key")), file), make, name), go, stamps);
}
