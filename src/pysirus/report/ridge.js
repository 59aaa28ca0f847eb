/* Covariances, or curvatures, and a penalty in, weights that are not negative out: what every way to weigh rules shares. */

const NEGLIGIBLE = 1e-3;  /* of the standard deviation of the target */
const GRIDS = { plain: [2, -1, 13], staged: [2, -3, 21] };  /* first and last exponent of ten, and how many */
const PATIENCE = 3;

export const total = (values) => values.reduce((sum, value) => sum + value, 0);
export const isLine = (term) => term.kind === "slope";

/* The penalties that a list is tried at, as multiples of the largest curvature: the largest first. */
export function gridOf(terms) {
  const [first, last, n] = terms.every((term) => term.stage === 1) ? GRIDS.plain : GRIDS.staged;
  return Array.from({ length: n }, (_, k) => 10 ** ((first * (n - 1 - k) + last * k) / (n - 1)));
}

/* The places of rules that move a prediction too little; `moved` is in standard deviations, the largest stays. */
export function negligible(moved, weights, given) {
  const most = moved.indexOf(Math.max(...moved));
  return new Set([...moved.keys()].filter((i) => !given[i] && weights[i] > 0 && moved[i] <= NEGLIGIBLE && i !== most));
}

/* Least squares on the terms in `index`, by Cholesky's factor. */
function solve(gram, cross, penalty, index, weights) {
  const m = index.length, factor = [], half = new Float64Array(m);
  for (let i = 0; i < m; i++) {
    const row = gram[index[i]], own = new Float64Array(i + 1);
    let rest = cross[index[i]], diagonal = row[index[i]] + penalty;
    for (let j = 0; j < i; j++) {
      let sum = row[index[j]];
      for (let k = 0; k < j; k++) sum -= own[k] * factor[j][k];
      own[j] = sum * factor[j][j];
      rest -= own[j] * half[j];
      diagonal -= own[j] * own[j];
    }
    own[i] = 1 / Math.sqrt(diagonal);
    half[i] = rest * own[i];
    factor.push(own);
  }
  weights.fill(0);
  for (let i = m - 1; i >= 0; i--) {
    const value = half[i] *= factor[i][i];
    weights[index[i]] = value;
    for (let k = 0; k < i; k++) half[k] -= factor[i][k] * value;
  }
}

/* Ridge with weights that are not negative: exchange every weight on the wrong side until there is none (cpp/weights/ridge.hpp). */
export function nonnegative({ gram, cross }, penalty, start) {
  const n = cross.length, weights = new Float64Array(n), tolerance = 1e-12 * Math.max(0, ...cross.map(Math.abs));
  let index = start, fewest = n + 1, patience = PATIENCE;
  for (let step = 0; step < 100 + 10 * n; step++) {
    solve(gram, cross, penalty, index, weights);
    const inside = new Set(index);
    let wrong = [];
    for (let i = 0; i < n; i++) {
      if (inside.has(i)) {
        if (weights[i] < 0) wrong.push(i);
      } else {
        let slope = -cross[i];
        for (const k of index) slope += gram[i][k] * weights[k];
        if (slope < -tolerance) wrong.push(i);
      }
    }
    if (!wrong.length) break;
    if (wrong.length < fewest) [fewest, patience] = [wrong.length, PATIENCE];
    else if (patience-- <= 0) wrong = wrong.slice(-1);
    const out = new Set(wrong);
    index = [...index.filter((k) => !out.has(k)), ...wrong.filter((k) => !inside.has(k))];
  }
  return weights.map((weight) => Math.max(weight, 0));
}

export const positive = (weights) => [...weights.keys()].filter((i) => weights[i] > 0);
