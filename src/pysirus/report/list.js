/* A model file and what was asked of its list in, the model file with that list out. Every way to weigh rules says its
   terms, their effects and its file in the same words. */
import { isLine } from "./ridge.js";

/* The terms that can be chosen from: those that the sums are of. */
export const candidates = (model) => model.tuning && model.tuning.rules.length >= model.rules.length ? model.tuning.rules : model.rules;

/* What is asked of a term: its place, and the term as it is in the list then, with the effect that somebody fixed. */
function wanted(model, term, at, fixed) {
  if (term.effect) return { at, term, effect: term.effect };
  if (fixed === undefined) return { at, term };
  const own = { ...term, given: true, stage: 1, inside: fixed, effect: { adds: fixed } };
  if (isLine(term)) return { at, term: { ...own, slope: fixed }, effect: own.effect };
  own.outside = 0;
  if (model.link === "log") Object.assign(own, { inside: Math.log(fixed), effect: { times: fixed } });
  if (model.classes) {
    const sign = model.classes.map((_, k) => k === positiveOf(model) ? 1 : -1);
    Object.assign(own, { inside: sign.map((side) => side * fixed / 2), outside: [0, 0], effect: { adds: fixed, for: model.classes[positiveOf(model)] } });
  }
  return { at, term: own, effect: own.effect };
}

/* Terms in the order of a model file: those with a fixed effect first. */
export function askedOf(model, terms, kept, fixed) {
  const all = terms.map((term, at) => wanted(model, term, at, fixed[at])).filter(({ at }) => kept[at]);
  return [...all.filter((own) => own.effect), ...all.filter((own) => !own.effect)];
}

/* Of two classes the one that scores are about. */
export const positiveOf = (model) => {
  const at = (model.classes || []).findIndex((label) => label === model.positive_class);
  return at < 0 ? 1 : at;
};

/* Whether somebody can fix what a term adds: it must be of the first stage, and of two classes at most. */
export const canFix = (model, term) => !term.effect && term.stage === 1 && !((model.classes || []).length > 2);

/* What a unit of a sloped column adds: rounded as it is printed, and used so. */
function roundSlope(term, weight) {
  const raw = weight * term.inside, told = raw * term.step, digits = term.decimals;
  if (digits === null || digits === undefined || raw === 0) return raw;
  return (digits >= 0 ? Number(told.toFixed(digits)) : Number((told * 10 ** digits).toFixed(0)) / 10 ** digits) / term.step;
}

/* The model file with another list, and what was done to it. */
export function edited(model, engine, asked, found, entry) {
  const terms = candidates(model), rules = asked.map(({ at, term, effect }, i) => {
    const { returned: _, ...rest } = term, own = { ...rest, weight: found.weights[i] };
    if (effect) return terms[at].effect ? own : { ...own, observed: engine.observed(at) };
    return isLine(term) ? { ...own, slope: roundSlope(term, own.weight) } : own;
  });
  const { out_of_fold: _, n_pruned: __, approximate_weights: ___, ...facts } = model.facts;
  facts.ridge_penalty = found.penalty;
  if (found.nPruned) facts.n_pruned = found.nPruned;
  if (facts.n_stages !== undefined) facts.n_stages = Math.max(1, ...rules.map((rule) => rule.stage));
  if (entry.removed.length) facts.removed_rules = [...(facts.removed_rules || []), ...entry.removed];
  facts.edits = [...(facts.edits || []), entry];
  const { tuning: ____, ...rest } = model;
  return { ...rest, intercept: found.intercept, rules, facts, ...engine.keeps(asked, found) };
}
