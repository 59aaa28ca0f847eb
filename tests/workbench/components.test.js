/* Components of the workbench, each by itself. */
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";
import { page } from "./small_dom.js";

const body = page();
const { button, choice, el } = await import("./dom.js");
const { format, minus } = await import("./charts.js");
const { LANGUAGES, WORDS, speak, spoken, t } = await import("./words.js");
const { ask, codeBox, marked, percent, picture, sized, taken, upload } = await import("./parts.js");
const { completions, done, effectNote, reasons, sentence, shownAs } = await import("./rules.js");
const { amount, ends, scale } = await import("./decide.js");
const { direction } = await import("./tune.js");
const { showTable } = await import("./table.js");
const { showTarget } = await import("./target.js");
const { showShip } = await import("./ship.js");

const FRONT = { errorName: "unexplained variance", ideal: 0.9, chosen: 1, sizes: [
  { nRules: 1, nPositive: 1, error: 0.6, stability: 0.5 }, { nRules: 5, nPositive: 4, error: 0.3, stability: 0.75 }, { nRules: 9, nPositive: 8, error: 0.25, stability: 0.6 }] };

test("every text is there in every language, with the same values in it", () => {
  const values = (text) => [...text.matchAll(/\{(\w+)\}/g)].map((found) => found[1]).sort().join();
  for (const [key, texts] of Object.entries(WORDS)) {
    assert.equal(texts.length, LANGUAGES.length, key);
    assert.ok(texts.every((text) => text.trim()), key);
    assert.equal(new Set(texts.map(values)).size, 1, key);
  }
});

test("every text that a component asks for is there", () => {
  const files = readdirSync(new URL(".", import.meta.url)).filter((name) => name.endsWith(".js") && !name.includes("test"));
  let n = 0;
  for (const name of files) {
    const source = readFileSync(new URL(name, import.meta.url), "utf8");
    for (const [, key] of source.matchAll(/\bt\("([^"]+)"/g)) { assert.ok(key in WORDS, `${name}: ${key}`); n++; }
    for (const [, start] of source.matchAll(/\bt\(`([^`$]*)\$\{/g)) { assert.ok(Object.keys(WORDS).some((key) => key.startsWith(start)), `${name}: ${start}`); n++; }
  }
  assert.ok(n > 150);
});

test("no text is there that nobody asks for", () => {
  const files = readdirSync(new URL(".", import.meta.url)).filter((name) => name.endsWith(".js") && name !== "words.js");
  const all = files.map((name) => readFileSync(new URL(name, import.meta.url), "utf8")).join("\n"), starts = [...all.matchAll(/`([a-z]+[.-][^`$]*)\$\{/g)].map((found) => found[1]);
  const steps = /^(table|target|tune|rules|decide|ship)\.(name|title|note)$/;  /* asked for by the step that is shown */
  const idle = Object.keys(WORDS).filter((key) => !steps.test(key) && !all.includes(`"${key}"`) && !starts.some((start) => key.startsWith(start)));
  assert.deepEqual(idle, []);
});

test("a language that is not there is English, values are filled in", () => {
  speak("fr");
  assert.equal(spoken(), "en");
  assert.equal(t("more", { n: 3 }), "and 3 more");
  speak("de");
  assert.equal(t("more", { n: 3 }), "und 3 weitere");
  assert.equal(t("nothing"), "nothing");
  speak("en");
});

test("what is put on the page is text, never markup", () => {
  const node = el("p", { class: "x", title: "<b>", hidden: false, disabled: true }, "<img src=x onerror=alert(1)>", null, ["a", false]);
  assert.deepEqual(node.childNodes, ["<img src=x onerror=alert(1)>", "a"]);
  assert.deepEqual(node.attributes, { class: "x", title: "<b>", disabled: "" });
});

test("numbers and their minus signs", () => {
  assert.equal(format(-0.01234), "−0.0123");
  assert.equal(format(null), "");
  assert.equal(minus("if a-1 < -2 then -3"), "if a-1 < −2 then −3");
  assert.deepEqual([percent(0), percent(0.001), percent(0.126)], ["0%", "< 1%", "13%"]);
});

test("small pictures of numbers, categories and nothing", () => {
  const bars = picture({ bars: [0, 1, 10], from: "1", to: "9", middle: "4" });
  assert.deepEqual(bars.querySelectorAll("i").map((own) => own.style.height), ["0%", "10%", "100%"]);
  assert.equal(bars.querySelector(".histogram").getAttribute("aria-label"), "from 1 to 9");
  const levels = picture({ levels: [["<b>", 8], ["c", 2]], of: 9 });
  assert.equal(levels.querySelector(".level-name").textContent, "<b>");
  assert.match(levels.textContent, /and 5 more/);
  assert.equal(picture(null).textContent, "–");
  assert.equal(sized(el("i"), 7).style.width, "100.0%");
});

test("code is shown in both forms, and copied as it is", async () => {
  const texts = [];
  Object.defineProperty(globalThis, "navigator", { value: { clipboard: { writeText: async (text) => texts.push(text) }, language: "en" }, configurable: true });
  const box = codeBox([{ python: "a = 1", command: "pysirus a" }, { python: "b", command: "pysirus b" }]);
  assert.deepEqual(box.querySelectorAll("pre").map((own) => own.textContent), ["a = 1\nb", "pysirus a\npysirus b"]);
  await box.querySelector("button").click();
  assert.deepEqual(texts, ["a = 1\nb"]);
});

test("a rule in words is completed: columns, signs, values, and on", () => {
  const columns = [{ name: "income", kind: "number", options: ["100", "200"] }, { name: "job", kind: "categories", options: ["cook", "clerk"] }], names = ["income", "job", "job title"];
  const texts = (text) => completions(text, names, columns).map(([shown]) => shown);
  assert.deepEqual(texts("jo"), ["job", "job title"]);
  assert.deepEqual(texts("income "), ["<", ">=", "is missing"]);
  assert.deepEqual(texts("job = c"), ["cook", "clerk"]);
  assert.deepEqual(completions("income < 100", names, columns), [["&", "income < 100 & "]]);
  assert.equal(completions("income < 100 & job", names, columns)[0][1], "income < 100 & job = ");
});

test("what a length means, and why it is proposed", () => {
  assert.match(sentence(FRONT.sizes[1]), /about 3 of the 4 rules/);
  assert.match(sentence(FRONT.sizes[0]), /in 50 of 100 cases/);
  assert.match(sentence({ nPositive: 0 }), /Without a rule/);
  assert.deepEqual(reasons(FRONT).length, 2);
  assert.match(reasons(FRONT)[1], /0\.250, takes 8 rules/);
});

test("what was done stands in words, with its cost and who said so", () => {
  const edits = [{ method: "with_rules", value: 5 }, { method: "without", value: "a < 1", note: "no", by: "A" }, { method: "decide", value: { good: 1, bad: 5 } }];
  const lines = done({ edits, errors: [{ before: 0.3, after: 0.31 }] }, FRONT);
  assert.deepEqual(lines[0], ["Length: 4 rules"]);
  assert.deepEqual(lines[1], ["Removed: a < 1", "unexplained variance on the training rows: 0.300 before, 0.310 after", "“no”, A"]);
  assert.deepEqual(lines[2], ["Mistakes cost good: 1, bad: 5"]);
});

test("contributions are told on the scale of the list", () => {
  const [odds, log, plain] = [{ link: "softmax" }, { link: "log", target: "visits" }, { link: "identity", target: "O3" }];
  assert.equal(scale(odds, { scale: "log-odds of good" }), "log-odds of “good”");
  assert.equal(scale(log, { scale: "logarithm of visits" }), "logarithm of visits");
  assert.equal(scale(plain, { scale: "O3" }), "O3");
  assert.deepEqual([amount(Math.log(2), log), amount(-0.5, plain)], ["×2.00", "−0.500"]);
  assert.deepEqual(ends(odds, { base: 0, score: Math.log(3), scale: "log-odds of good" }), ["50.0%", "75.0%"]);
  assert.deepEqual(ends({ is_risk: true }, { base: 0, score: 1, scale: "logarithm of the hazard" }), ["×1.00", "×2.72"]);
  const two = { link: "softmax", classes: ["bad", "good"], positive: 1 };
  assert.deepEqual([shownAs(log)(0), shownAs(two)(0), shownAs(plain)(3)], [1, 50, 3]);
  assert.match(effectNote(two), /“good” in %/);
  assert.equal(ends(plain, { base: 1, score: 2, scale: "O3" }), null);
});

test("directions are buttons with names, of which one is pressed", async () => {
  const asked = [], box = direction("income", -1, (sign) => asked.push(sign)), buttons = box.querySelectorAll("button");
  assert.deepEqual(buttons.map((own) => own.getAttribute("aria-pressed")), ["false", "false", "true"]);
  assert.equal(buttons[0].getAttribute("aria-label"), "income: may only rise");
  await buttons[0].click();
  assert.deepEqual(asked, [1]);
});

test("who is at a control is there again when it was drawn anew", () => {
  const draw = () => el("main", {}, button("remove", () => {}), button("remove", () => {}), el("input", { id: "length" }));
  const before = draw(), second = before.querySelectorAll("button")[1], after = draw();
  taken(marked(second), after);
  assert.equal(document.activeElement, after.querySelectorAll("button")[1]);
  taken(marked(before.querySelector("#length")), after);
  assert.equal(document.activeElement, after.querySelector("#length"));
  assert.equal(marked(el("p")), null);
});

test("a refusal of the session is an error with its message; files that are too large are not sent", async () => {
  const sent = [];
  globalThis.fetch = async (...given) => { sent.push(given); return { json: async () => ({ error: "no such column" }) }; };
  await assert.rejects(ask("aim", { target: "x" }), /no such column/);
  assert.equal(sent[0][1].headers["X-Workbench"], "1");
  await assert.rejects(upload({ name: "<b>.csv", size: 300 << 20 }, 200 << 20), /<b>\.csv has 300 MB/);
  assert.equal(sent.length, 1);
});

test("the table says what was understood of each column", () => {
  const box = el("div"), column = { name: "<i>", kind: "number", missing: 1, used: true, can_be_categories: true, why: "", picture: { bars: [1], from: "0", to: "1", middle: "0" } };
  showTable(box, { table: { rows: 1000, columns: [column], said: ["careful"] }, most: 1 });
  assert.match(box.textContent, /1,000 rows, 1 columns, 1 missing values/);
  assert.match(box.textContent, /< 1%/);
  assert.deepEqual(box.querySelectorAll("option").map((own) => own.value), ["auto", "categories", "leave out"]);
});

test("the target offers the questions that its values allow", () => {
  const box = el("div"), app = { chosen: { target: "claims" }, targets: [{ name: "claims", kinds: ["number", "counts"], event: false }], table: { columns: [{ name: "claims", kind: "number" }, { name: "km", kind: "number" }] }, go() {}, attempt: async () => null };
  showTarget(box, app);
  assert.deepEqual(box.querySelectorAll("input").map((own) => own.value), ["number", "counts"]);
  assert.match(box.textContent, /How many\?/);
});

test("nothing is signed without a key", async () => {
  globalThis.fetch = async () => ({ json: async () => ({ files: ["model"], signed: false }) });
  const said = [], box = el("div"), app = { by: "A", signing: {}, list: { signatures: [], python: "p", shell: "s" }, attempt: async (work) => work().catch((error) => said.push(error.message)), complain() {} };
  showShip(box, app);
  await box.querySelector("#sign").click();
  assert.deepEqual(said, ["Choose a key file or make a key first."]);
});

test("a choice has a name, and tells what was chosen", async () => {
  const told = [], box = choice("Which?", [["a", "A"], ["b", "B"]], "b", (value) => told.push(value));
  assert.equal(box.querySelector("span").textContent, "Which?");
  assert.deepEqual(box.querySelectorAll("option").map((own) => own.getAttribute("selected")), [null, ""]);
  const select = box.querySelector("select");
  select.value = "a";
  await select.fire("change");
  assert.deepEqual(told, ["a"]);
  assert.ok(body);
});
