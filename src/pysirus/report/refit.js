/* The sums that a model file keeps in, the weights of any part of its list out: what _weights/weighted.py and _use/edit.py
   do, in the browser. Squared error only; no row is needed, and none is there. Every sum is of one of ten folds. */
import { gridOf, isLine, negligible, nonnegative, positive, total } from "./ridge.js";

const numbers = (line) => line === "" ? [] : line.split(" ").map(Number);

/* The sums of a model file, each fold by itself. */
function sumsOf(model) {
  const own = model.moments, size = numbers(own.size), ySum = numbers(own.sum), ySquare = numbers(own.square);
  const folds = size.map((weight, f) => {
    const triangle = numbers(own.pair[f]), ruleSum = numbers(own.rule_sum[f]), n = ruleSum.length, pair = [];
    for (let i = 0, at = 0; i < n; i++) {
      pair.push(new Float64Array(n));
      for (let j = 0; j <= i; j++, at++) pair[i][j] = pair[j][i] = triangle[at];
    }
    const hold = own.value ? numbers(own.value[f]) : pair.map((row, i) => row[i]);
    return { weight, ySum: ySum[f], ySquare: ySquare[f], pair, ruleSum, hold };
  });
  return { folds, centre: own.centre };
}

/* The sums of all folds but one, or of all. */
function others(all, left) {
  const minus = (name) => left ? all[name] - left[name] : all[name];
  const each = (name) => all[name].map((value, i) => left ? value - left[name][i] : value);
  const pair = all.pair.map((row, i) => row.map((value, j) => left ? value - left.pair[i][j] : value));
  return { weight: minus("weight"), ySum: minus("ySum"), ySquare: minus("ySquare"), pair, ruleSum: each("ruleSum"), hold: each("hold") };
}

function added(folds) {
  return folds.slice(1).reduce((sum, own) => ({
    weight: sum.weight + own.weight, ySum: sum.ySum + own.ySum, ySquare: sum.ySquare + own.ySquare,
    pair: sum.pair.map((row, i) => row.map((value, j) => value + own.pair[i][j])),
    ruleSum: sum.ruleSum.map((value, i) => value + own.ruleSum[i]), hold: sum.hold.map((value, i) => value + own.hold[i]),
  }), folds[0]);
}

/* Covariances of the outputs of some terms with each other and with the target, and the variance of that; deviations are
   from the means of `mean`. */
function covariances(sums, mean, terms, divisor) {
  const m = terms.map((term) => mean.hold[term.at] / mean.weight), y = mean.ySum / mean.weight;
  const { weight, ySum, ySquare, pair, ruleSum, hold } = sums;
  const gram = terms.map((a, i) => Float64Array.from(terms, (b, j) =>
    (pair[a.at][b.at] - m[i] * hold[b.at] - m[j] * hold[a.at] + weight * m[i] * m[j]) * a.gap * b.gap / divisor));
  const cross = terms.map((a, i) => (ruleSum[a.at] - m[i] * ySum - y * hold[a.at] + weight * m[i] * y) * a.gap / divisor);
  return { gram, cross, square: (ySquare - 2 * y * ySum + weight * y * y) / divisor };
}

/* The same of the terms after those with a fixed effect, and of the target less what these add. */
function lessFixed({ gram, cross, square }, n) {
  const first = cross.slice(0, n), rest = cross.slice(n);
  return {
    gram: gram.slice(n).map((row) => row.slice(n)), cross: rest.map((value, i) => value - total([...gram[n + i].slice(0, n)])),
    square: square - 2 * total(first) + total(first.map((_, i) => total([...gram[i].slice(0, n)]))),
  };
}

const partOf = ({ gram, cross, square }, places) =>
  ({ gram: places.map((i) => Float64Array.from(places, (j) => gram[i][j])), cross: places.map((i) => cross[i]), square });

function squaredError({ gram, cross, square }, weights) {
  const used = positive(weights);
  return square + total(used.map((i) => weights[i] * (total(used.map((j) => gram[i][j] * weights[j])) - 2 * cross[i])));
}

/* Weights at the penalty with the least cross-validated error, and that error. */
function ridge(whole, folds, multiples, least) {
  if (whole.cross.length < least) return { weights: whole.cross.map(() => 1), penalty: 0, error: null };
  const largest = Math.max(...whole.cross.map((_, i) => whole.gram[i][i]));
  const grid = multiples.map((times) => times * largest), errors = new Float64Array(grid.length);
  for (const { train, test } of folds) {
    let start = [];
    grid.forEach((penalty, p) => {
      const weights = nonnegative(train, penalty, start);
      errors[p] += squaredError(test, weights);
      start = positive(weights);
    });
  }
  const best = errors.indexOf(Math.min(...errors));
  return { weights: [...nonnegative(whole, grid[best], [])], penalty: grid[best], error: errors[best] };
}

/* A list of terms of a model file, fixed effects first: `at` is the place of each among the sums. */
function prepared(terms) {
  return terms.map(({ at, term, effect }) => {
    const gap = term.inside - (term.outside ?? 0), range = isLine(term) ? term.upper - term.lower : 1;
    return { at, term, gap, outside: term.outside ?? 0, moves: Math.abs(gap) * range, fixed: effect !== undefined, given: Boolean(term.given) };
  });
}

/* Weights, intercept and errors of a list. `asked`: [{at, term, effect}], in order, those with an effect first. */
function fit(sums, asked) {
  const terms = prepared(asked), every = added(sums.folds), held = terms.filter((term) => term.fixed).length;
  const full = covariances(every, every, terms, every.weight), whole = lessFixed(full, held);
  const folds = sums.folds.filter((own) => own.weight > 0 && own.weight < every.weight).map((own) => {
    const rest = others(every, own);
    return {
      train: lessFixed(covariances(rest, rest, terms, rest.weight), held), test: lessFixed(covariances(own, rest, terms, every.weight), held),
    };
  });
  const grid = gridOf(asked.map(({ term }) => term)), free = terms.slice(held), given = terms.map((term) => term.given);
  const variance = full.square, sd = Math.sqrt(Math.max(variance, 0));
  const alone = terms.length === 1 && !held && !isLine(terms[0].term);
  let places = [...free.keys()], own = ridge(whole, folds, grid, held ? 1 : 2), nPruned = 0;
  let weights = [...own.weights];
  while (sd > 0) {
    const now = [...terms.slice(0, held).map(() => 1), ...weights];
    const gone = negligible(terms.map((term, i) => term.moves / sd * now[i]), now, given);
    if (!gone.size) break;
    nPruned += gone.size;
    places = places.filter((i) => !gone.has(held + i));
    own = ridge(partOf(whole, places), folds.map(({ train, test }) => ({ train: partOf(train, places), test: partOf(test, places) })), grid, 1);
    weights = free.map(() => 0);
    places.forEach((i, k) => { weights[i] = own.weights[k]; });
  }
  const all = [...terms.slice(0, held).map(() => 1), ...weights], y = sums.centre + every.ySum / every.weight;
  const outputs = terms.map((term) => term.outside + term.gap * every.hold[term.at] / every.weight);
  const inTraining = squaredError(full, all);
  const heldOut = own.error === null ? total(folds.map(({ test }) => squaredError(test, own.weights))) : own.error;
  return {
    weights: all, intercept: alone ? 0 : y - total(all.map((weight, i) => weight * outputs[i])), penalty: own.penalty, nPruned,
    unexplained: variance > 0 ? heldOut / variance : null, inTraining: variance > 0 ? inTraining / variance : null,
  };
}

/* The mean target where a rule applies and where it does not. */
function observed(sums, at) {
  const every = added(sums.folds), inside = every.hold[at];
  return [sums.centre + every.ruleSum[at] / inside, sums.centre + (every.ySum - every.ruleSum[at]) / (every.weight - inside)];
}

/* Sums of some of the terms, as a model file keeps them. */
function taken(moments, places, lines) {
  const some = (line) => { const values = line.split(" "); return places.map((at) => values[at]).join(" "); };
  const triangle = (line) => {
    const values = line.split(" "), found = [];
    places.forEach((a, i) => places.slice(0, i + 1).forEach((b) => { const [low, high] = a < b ? [a, b] : [b, a]; found.push(values[high * (high + 1) / 2 + low]); }));
    return found.join(" ");
  };
  const kept = { ...moments, rows: some(moments.rows), pair: moments.pair.map(triangle), rule_sum: moments.rule_sum.map(some) };
  delete kept.value;
  return lines ? { ...kept, value: moments.value.map(some) } : kept;
}

/* What fits the lists of a model again. */
export function bySums(model) {
  const sums = sumsOf(model);
  return {
    fit: (asked) => fit(sums, asked),
    observed: (at) => observed(sums, at),
    keeps: (asked) => ({ moments: taken(model.moments, asked.map(({ at }) => at), asked.some(({ term }) => isLine(term))) }),
  };
}
