/* Patterns of rules in, the weights of any part of a list by penalised likelihood out: what cpp/weights/likelihood.hpp,
   newton.hpp and families.hpp do, in the browser. A pattern says which rules hold together and, for each of ten folds, with
   how much weight and response. Rules alone: a list with slopes has a pattern for each row. */
import { candidates } from "./list.js";
import { gridOf, negligible, nonnegative, positive, total } from "./ridge.js";

const LONGEST = 2, SURE = 1e-3, TOL = 0.25, N_FOLDS = 10;
const SMALLEST_SHARE = 2 ** -20, SMALLEST_MEAN = 2 ** -1000;
const logOfMean = ([sum], weight) => [Math.log(Math.max(sum / weight, SMALLEST_MEAN))];

/* Losses of one score: at a score, value, slope and curvature of the weight (a) and of the sum of responses (b). */
const LOSSES = {
  logistic: {
    curve: (eta) => {
      const t = Math.exp(-Math.abs(eta)), big = 1 / (1 + t), small = t * big;
      return [Math.max(eta, 0) + Math.log1p(t), eta < 0 ? small : big, small * big, -eta, -1, 0];
    },
    constant: ([sum], weight) => { const share = Math.min(Math.max(sum / weight, SMALLEST_SHARE), 1 - SMALLEST_SHARE); return [Math.log(share) - Math.log(1 - share)]; },
    hasMinimum: ([some, rest]) => some > 0 && rest > 0,
  },
  poisson: { curve: (eta) => { const mu = Math.exp(eta); return [mu, mu, mu, -eta, -1, 0]; }, constant: logOfMean, hasMinimum: ([some]) => some > 0 },
  gamma: { curve: (eta) => { const inverse = Math.exp(-eta); return [eta, 1, 0, inverse, -inverse, inverse]; }, constant: logOfMean, hasMinimum: ([some]) => some > 0 },
  tweedie: {
    curve: (eta, p) => {
      const first = Math.exp((1 - p) * eta), second = Math.exp((2 - p) * eta);
      return [second / (2 - p), second, (2 - p) * second, first / (p - 1), -first, (p - 1) * first];
    },
    constant: logOfMean, hasMinimum: ([some]) => some > 0,
  },
  softmax: {
    constant: (sums, weight) => {
      const scores = sums.map((sum) => Math.log(Math.max(sum / weight, SMALLEST_SHARE))), mean = total(scores) / scores.length;
      return scores.map((score) => score - mean);
    },
    hasMinimum: (shown) => shown.slice(0, -1).every((n) => n > 0),
  },
};

/* ------------------------------------------------------------------------------------------------------ the patterns */

/* What a page has of the rows: cells of (rules that hold, fold, weight, responses), weights in units of all of them. */
function read({ n_scores: C, total: all, cells }) {
  return cells.map(([hex, ...numbers]) => {
    const holds = [];
    [...hex].reverse().forEach((digit, k) => { for (let bit = 0; bit < 4; bit++) if (parseInt(digit, 16) >> bit & 1) holds.push(4 * k + bit); });
    const own = [];
    for (let i = 0; i < numbers.length; i += 2 + C) own.push({ fold: numbers[i], weight: numbers[i + 1] / all, sums: numbers.slice(i + 2, i + 2 + C).map((sum) => sum / all) });
    return { holds, cells: own };
  });
}

/* The patterns of some of the rules, in their order: what tells no rows apart any more is added up. */
function onto(patterns, places) {
  const place = new Map(places.map((at, i) => [at, i])), found = new Map();
  for (const { holds, cells } of patterns) {
    const own = holds.map((at) => place.get(at)).filter((i) => i !== undefined).sort((a, b) => a - b), key = own.join();
    if (!found.has(key)) found.set(key, { holds: own, folds: new Map() });
    const { folds } = found.get(key);
    for (const { fold, weight, sums } of cells) {
      const known = folds.get(fold);
      if (!known) folds.set(fold, { fold, weight, sums: [...sums] });
      else { known.weight += weight; sums.forEach((sum, c) => { known.sums[c] += sum; }); }
    }
  }
  return [...found.values()].map(({ holds, folds }) => {
    const cells = [...folds.values()];
    return { holds, cells, whole: { weight: total(cells.map(({ weight }) => weight)), sums: cells[0].sums.map((_, c) => total(cells.map(({ sums }) => sums[c]))) } };
  });
}

/* ------------------------------------------------------------------------------------------- sums of loss and slopes */

const empty = (n) => ({ n, size: 0, value: 0, slope: new Float64Array(n), curvature: new Float64Array(n * n) });

function add(sum, other, sign) {
  sum.size += sign * other.size;
  sum.value += sign * other.value;
  for (let i = 0; i < sum.n; i++) sum.slope[i] += sign * other.slope[i];
  for (let i = 0; i < sum.n * sum.n; i++) sum.curvature[i] += sign * other.curvature[i];
  return sum;
}

/* What intercepts and rules add to each score at a point, and the scores of a pattern from it. */
const partsOf = ({ gap, C }, point) => gap.map((own, i) => own.map((step, c) => point[C + i] * step)).concat([Array.from({ length: C }, (_, c) => point[c])]);
function scoresOf(parts, holds, eta) {
  const base = parts[parts.length - 1];
  for (let c = 0; c < eta.length; c++) {
    let score = base[c];
    for (let k = 0; k < holds.length; k++) score += parts[holds[k]][c];
    eta[c] = score;
  }
  return eta;
}

function shares(eta) {
  const top = Math.max(...eta), p = eta.map((score) => Math.exp(score - top)), sum = total(p);
  return { p: p.map((own) => own / sum), logSum: top + Math.log(sum) };
}

/* The loss of a cell at a score of its own. */
function lossOf({ loss, power, C }, eta, weight, sums) {
  if (C > 1) return weight * shares(eta).logSum - total(sums.map((sum, c) => sum * eta[c]));
  const [a, , , b] = loss.curve(eta[0], power);
  return weight * a + sums[0] * b;
}

/* Loss, slopes and curvatures (lower triangle) at a point. `goes` says which of the sums a fold adds to, -1 is none;
   without it all go to the first. */
function addUp(problem, point, goes, models) {
  const { patterns, gap, C, loss, power } = problem, n = C + gap.length, parts = partsOf(problem, point), eta = new Array(C);
  for (const { holds, cells, whole } of patterns) {
    scoresOf(parts, holds, eta);
    const curve = C > 1 ? shares(eta) : loss.curve(eta[0], power);
    for (const cell of goes ? cells : [whole]) {
      const to = goes ? goes(cell.fold) : 0;
      if (to < 0) continue;
      if (C > 1) addSeveral(models[to], curve, eta, holds, gap, C, cell.weight, cell.sums);
      else addOne(models[to], curve, holds, n, cell.weight, cell.sums[0]);
    }
  }
  if (C > 1) return;
  for (const { slope, curvature } of models) {
    for (let i = 1; i < n; i++) {
      slope[i] *= gap[i - 1][0];
      curvature[i * n] *= gap[i - 1][0];
      for (let j = 1; j <= i; j++) curvature[i * n + j] *= gap[i - 1][0] * gap[j - 1][0];
    }
  }
}

function addOne(sum, [a, a1, a2, b, b1, b2], holds, n, weight, y) {
  const slope = weight * a1 + y * b1, bend = weight * a2 + y * b2, { curvature } = sum;
  sum.size += weight;
  sum.value += weight * a + y * b;
  sum.slope[0] += slope;
  curvature[0] += bend;
  for (let k = 0; k < holds.length; k++) {
    const row = (1 + holds[k]) * n;
    sum.slope[1 + holds[k]] += slope;
    curvature[row] += bend;
    for (let j = 0; j <= k; j++) curvature[row + 1 + holds[j]] += bend;
  }
}

function addSeveral(sum, { p, logSum }, eta, holds, gap, C, weight, sums) {
  const slope = p.map((own, c) => weight * own - sums[c]), { curvature, n } = sum;
  sum.size += weight;
  sum.value += weight * logSum;
  for (let c = 0; c < C; c++) {
    sum.value -= sums[c] * eta[c];
    sum.slope[c] += slope[c];
    curvature[c * n + c] += weight * p[c];
    for (let d = 0; d <= c; d++) curvature[c * n + d] -= weight * p[c] * p[d];
  }
  const bent = holds.map((i) => { const mean = total(gap[i].map((step, c) => p[c] * step)); return gap[i].map((step, c) => p[c] * (step - mean)); });
  holds.forEach((i, k) => {
    const row = (C + i) * n;
    for (let c = 0; c < C; c++) { sum.slope[C + i] += gap[i][c] * slope[c]; curvature[row + c] += weight * bent[k][c]; }
    for (let j = 0; j <= k; j++) {
      let pair = 0;
      for (let c = 0; c < C; c++) pair += bent[k][c] * gap[holds[j]][c];
      curvature[row + C + holds[j]] += weight * pair;
    }
  });
}

/* ----------------------------------------------------------------------------------------------------- Newton's steps */

/* Upper Cholesky factor, row by row; the diagonal has inverses. */
function factorise(a, n, least) {
  for (let j = 0; j < n; j++) {
    const inverse = a[j * n + j] = 1 / Math.sqrt(Math.max(a[j * n + j], least));
    for (let k = j + 1; k < n; k++) a[j * n + k] *= inverse;
    for (let i = j + 1; i < n; i++) for (let k = i; k < n; k++) a[i * n + k] -= a[j * n + i] * a[j * n + k];
  }
}

function solveFactored(a, n, x) {
  for (let j = 0; j < n; j++) {
    x[j] *= a[j * n + j];
    for (let k = j + 1; k < n; k++) x[k] -= a[j * n + k] * x[j];
  }
  for (let j = n - 1; j >= 0; j--) {
    for (let k = j + 1; k < n; k++) x[j] -= a[j * n + k] * x[k];
    x[j] *= a[j * n + j];
  }
}

/* Curvatures and slopes of the weights where the intercepts follow. */
function reduce({ n, size, slope, curvature }, C) {
  const k = n - C, unit = 1 / size, top = new Float64Array(C * C), free = Float64Array.from({ length: C }, (_, c) => slope[c] * unit);
  let trace = 0;
  for (let c = 0; c < C; c++) trace += curvature[c * n + c] * unit;
  for (let c = 0; c < C; c++) for (let d = c; d < C; d++) top[c * C + d] = curvature[d * n + c] * unit + (C > 1 ? trace / C : 0);
  factorise(top, C, Math.max(1e-15 * trace, 1e-300));
  solveFactored(top, C, free);
  const answers = Array.from({ length: k }, (_, i) => {
    const answer = Float64Array.from({ length: C }, (_, c) => curvature[(C + i) * n + c] * unit);
    solveFactored(top, C, answer);
    return answer;
  });
  const slopes = new Float64Array(k), gram = Array.from({ length: k }, () => new Float64Array(k));
  for (let i = 0; i < k; i++) {
    const row = (C + i) * n;
    slopes[i] = slope[C + i] * unit;
    for (let c = 0; c < C; c++) slopes[i] -= curvature[row + c] * unit * free[c];
    for (let j = 0; j <= i; j++) {
      let value = curvature[row + C + j] * unit;
      for (let c = 0; c < C; c++) value -= curvature[row + c] * unit * answers[j][c];
      gram[i][j] = gram[j][i] = value;
    }
  }
  return { free, answers, slopes, gram };
}

/* Where a Newton step leads, within weights that are not negative; the first `held` stay. */
function newton(sums, C, penalty, point, held) {
  const { free, answers, slopes, gram } = reduce(sums, C), k = gram.length, w = point.slice(C), to = Float64Array.from(point);
  const places = Array.from({ length: k - held }, (_, i) => held + i);
  const cross = places.map((i) => { let sum = -slopes[i]; for (const j of places) sum += gram[i][j] * w[j]; return sum; });
  const own = places.map((i) => gram[i].slice(held));
  nonnegative({ gram: own, cross }, penalty, positive(w.slice(held))).forEach((weight, i) => { to[C + held + i] = weight; });
  for (let c = 0; c < C; c++) {
    let change = -free[c];
    for (let i = 0; i < k; i++) change -= answers[i][c] * (to[C + i] - w[i]);
    to[c] = point[c] + change;
  }
  return to;
}

/* A point that goes down to the minimum over some of the folds. */
class Descent {
  constructor(problem, held, goes = null, nModels = 1) { Object.assign(this, { problem, held, goes, nModels }); }

  start(point) {
    const n = this.problem.C + this.problem.gap.length;
    this.models = Array.from({ length: this.nModels }, () => empty(n));
    addUp(this.problem, point, this.goes, this.models);
    this.point = point;
    this.sums = this.nModels === 1 ? this.models[0] : this.models.reduce((sum, own) => add(sum, own, 1), empty(n));
    return this;
  }

  propose(penalty) {
    const { problem, point } = this;
    this.next = newton(this.sums, problem.C, penalty, point, this.held);
    const parts = partsOf(problem, this.next.map((value, i) => value - point[i])), eta = new Array(problem.C);
    let most = 0;
    for (const { holds } of problem.patterns) for (const change of scoresOf(parts, holds, eta)) most = Math.max(most, Math.abs(change));
    return most;
  }

  accept(penalty, change) {
    const from = this.point, { next } = this, before = this.objective(penalty);
    let share = change > LONGEST ? LONGEST / change : 1;
    for (let halving = 0; halving < 60; halving++, share *= 0.5) {
      this.start(share === 1 ? next : from.map((value, i) => value + share * (next[i] - value)));
      if (change < SURE || this.objective(penalty) <= before + 1e-13 * Math.abs(before)) break;
    }
  }

  advance(penalty) {
    const change = this.propose(penalty);
    this.accept(penalty, change);
    return change;
  }

  minimise(penalty, steepest) {
    let last = Infinity;
    for (let step = 0; step < 200; step++) {
      const left = this.left(penalty) / steepest;
      if (left <= 1e-14 || (left <= 1e-11 && left > 0.1 * last)) break;
      last = left;
      this.advance(penalty);
    }
  }

  objective(penalty) {
    const free = this.point.slice(this.problem.C + this.held);
    return this.sums.value / this.sums.size + 0.5 * penalty * total(free.map((weight) => weight * weight));
  }

  /* The largest slope that the point could follow. */
  left(penalty) {
    const { problem: { C }, sums, point, held } = this;
    return Math.max(0, ...[...sums.slope].map((own, i) => {
      if (i >= C && i < C + held) return 0;
      const slope = own / sums.size + (i >= C ? penalty * point[i] : 0);
      return Math.abs(i >= C && point[i] <= 0 ? Math.min(slope, 0) : slope);
    }));
  }
}

/* -------------------------------------------------------------------------------------------------- the penalty, a fit */

/* The folds that count: those with rows, where the others have a minimum. */
function usedFolds({ patterns, loss, C }) {
  const shown = Array.from({ length: N_FOLDS }, () => new Array(C + 1).fill(0)), size = new Array(N_FOLDS).fill(0);
  for (const { cells } of patterns) {
    for (const { fold, weight, sums } of cells) {
      size[fold] += weight;
      sums.forEach((sum, c) => { shown[fold][c] += sum !== 0; });
      shown[fold][C] += Math.abs(weight - total(sums)) > 1e-12 * weight;
    }
  }
  const every = shown[0].map((_, c) => total(shown.map((own) => own[c])));
  return [...shown.keys()].filter((f) => size[f] > 0 && loss.hasMinimum(every.map((n, c) => n - shown[f][c])));
}

/* The mean loss of held-out rows: each fold takes a step of its own from where the list would go. */
function heldOutLoss(problem, list, used, penalty, held) {
  const { C } = problem, folds = new Descent(problem, held, (fold) => fold, N_FOLDS).start(list.next);
  list.point = folds.point;
  list.sums = folds.sums;
  const n = C + problem.gap.length, points = new Map(), changes = new Float64Array(N_FOLDS);
  for (const f of used) points.set(f, newton(add(add(empty(n), folds.sums, 1), folds.models[f], -1), C, penalty, list.point, held));
  const all = partsOf(problem, list.point), eta = new Array(C), whole = new Array(C);
  const partsOfFolds = () => new Map(used.map((f) => [f, partsOf(problem, points.get(f))]));
  let parts = partsOfFolds();
  for (const { holds, cells } of problem.patterns) {
    scoresOf(all, holds, whole);
    for (const { fold } of cells) {
      if (!parts.has(fold)) continue;
      scoresOf(parts.get(fold), holds, eta);
      for (let c = 0; c < C; c++) changes[fold] = Math.max(changes[fold], Math.abs(eta[c] - whole[c]));
    }
  }
  for (const f of used.filter((fold) => changes[fold] > TOL)) {
    const own = new Descent(problem, held, (fold) => fold === f ? -1 : 0).start(changes[f] > LONGEST ? list.point : points.get(f));
    for (let step = 0; step < 100; step++) if (own.advance(penalty) <= TOL) break;
    points.set(f, own.point);
  }
  parts = partsOfFolds();
  let loss = 0, size = 0;
  for (const { holds, cells } of problem.patterns) {
    for (const { fold, weight, sums } of cells) {
      if (!parts.has(fold)) continue;
      loss += lossOf(problem, scoresOf(parts.get(fold), holds, eta), weight, sums);
      size += weight;
    }
  }
  return loss / (size || 1);
}

/* Intercepts and weights of a list at the penalty of the least held-out loss; those of the first `held` rules are 1. */
function fitList(problem, multiples, held) {
  const { gap, C, patterns, loss } = problem, n = gap.length, used = usedFolds(problem);
  const cells = patterns.flatMap((own) => own.cells), size = total(cells.map(({ weight }) => weight));
  const constant = loss.constant(Array.from({ length: C }, (_, c) => total(cells.map(({ sums }) => sums[c]))), size);
  const list = new Descent(problem, n).start(Float64Array.from([...constant, ...gap.map((_, i) => i < held ? 1 : 0)]));
  const bend = () => total(Array.from({ length: C }, (_, c) => list.sums.curvature[c * list.sums.n + c])) / list.sums.size;
  if (held > 0 && bend() > 0) list.minimise(0, bend());
  list.held = held;
  const { gram } = reduce(list.sums, C), free = gram.slice(held);
  const scale = Math.max(0, ...free.map((row, i) => row[held + i]));
  const steepest = Math.max(1e-3 * Math.sqrt(scale * bend()), ...free.map((_, i) => Math.abs(list.sums.slope[C + held + i] / list.sums.size)));
  let penalty = 0, heldOut = null;
  if (scale > 0) {
    const points = [], losses = multiples.map((times) => {
      for (let step = 0; step < 100; step++) {
        const change = list.propose(times * scale);
        if (change <= 2 * TOL) break;
        list.accept(times * scale, change);
      }
      points.push(list.next);
      return heldOutLoss(problem, list, used, times * scale, held);
    });
    heldOut = Math.min(...losses);
    const best = losses.indexOf(heldOut);
    penalty = multiples[best] * scale;
    list.start(points[best]).minimise(penalty, steepest);
  } else {
    heldOut = heldOutLoss(problem, Object.assign(new Descent(problem, n), { next: list.point }), used, 0, n);
  }
  return { point: list.point, constant, penalty, heldOut, value: list.sums.value / list.sums.size };
}

/* ------------------------------------------------------------------------------------------------------ of a model file */

/* What fits the lists of a model again; `given` is what the page has of the rows. */
export function byLikelihood(model, given) {
  const C = given.n_scores, rows = read(given), loss = LOSSES[given.loss];
  const centred = (scores) => { const mean = total(scores) / C; return C > 1 ? scores.map((score) => score - mean) : scores; };
  const scores = (output) => centred(!Array.isArray(output) ? [output] : C === 1 ? [output[1] - output[0]] : output);
  const asOutput = (point) => !model.classes ? point[0] : C === 1 ? [-point[0] / 2, point[0] / 2] : centred(point);
  const problemOf = (asked) => {
    const gap = asked.map(({ term }) => { const out = scores(term.outside); return scores(term.inside).map((own, c) => own - out[c]); });
    return { patterns: onto(rows, asked.map(({ at }) => at)), gap, C, loss, power: given.power };
  };

  /* By how many standard deviations of the response, near its mean, rules of weight 1 move it. */
  function moves(gap, constant) {
    if (!model.classes) return gap.map(([step]) => given.spread > 0 ? Math.abs(step) * Math.exp(constant[0]) / given.spread : Infinity);
    const both = ([own]) => [-own / 2, own / 2], { p } = shares(C === 1 ? both(constant) : constant);
    return gap.map((own) => {
      const steps = C === 1 ? both(own) : own, mean = total(steps.map((step, c) => p[c] * step));
      return Math.max(...steps.map((step, c) => { const spread = Math.sqrt(p[c] * (1 - p[c])); return spread > 0 ? Math.abs(p[c] * (step - mean)) / spread : Infinity; }));
    });
  }

  function fit(asked) {
    const multiples = gridOf(asked.map(({ term }) => term)), held = asked.filter(({ effect }) => effect).length;
    const isGiven = asked.map(({ term }) => Boolean(term.given));
    let places = [...asked.keys()], nPruned = 0;
    for (;;) {
      const list = places.map((i) => asked[i]), problem = problemOf(list), found = fitList(problem, multiples, held);
      const weights = asked.map(() => 0), moved = asked.map(() => 0), steps = moves(problem.gap, found.constant);
      places.forEach((i, k) => { weights[i] = found.point[C + k]; moved[i] = weights[i] * steps[k]; });
      const gone = negligible(moved, weights, isGiven);
      if (gone.size) { nPruned += gone.size; places = places.filter((i) => !gone.has(i)); continue; }
      const base = [...found.point.slice(0, C)];
      asked.forEach(({ term }, i) => { const out = scores(term.outside); for (let c = 0; c < C; c++) base[c] -= weights[i] * out[c]; });
      const share = (value) => (value - given.least) / (given.most - given.least);
      return { weights, intercept: asOutput(base), base, constant: found.constant, penalty: found.penalty, nPruned, unexplained: share(found.heldOut), inTraining: share(found.value) };
    }
  }

  /* The loss near the fitted point, as model files keep it: slopes there, curvatures halfway from the constant. */
  function near(asked, found) {
    const problem = problemOf(asked), n = C + asked.length, out = asked.map(({ term }) => scores(term.outside));
    const at = (intercepts, weights) => {
      const base = intercepts.map((own, c) => own + total(weights.map((weight, i) => weight * out[i][c])));
      const { slope, curvature } = new Descent(problem, 0).start(Float64Array.from([...base, ...weights])).sums;
      const full = (i, j) => curvature[Math.max(i, j) * n + Math.min(i, j)];
      const turn = (i) => i < C ? [[i, 1]] : [[i, 1], ...out[i - C].map((own, c) => [c, own])];  /* outputs outside move the intercepts */
      const every = [...Array(n).keys()].map(turn);
      return { slope: every.map((own) => total(own.map(([i, x]) => x * slope[i]))), curvature: every.map((own) => every.map((other) => total(own.flatMap(([i, x]) => other.map(([j, y]) => x * y * full(i, j)))))) };
    };
    const { curvature } = at(found.base.map((own, c) => (own + found.constant[c]) / 2), found.weights.map((weight) => weight / 2));
    const point = [...found.base, ...found.weights], { slope } = at(found.base, found.weights);
    const linear = slope.map((own, i) => own - total(curvature[i].map((bend, j) => bend * point[j])));
    return { linear: linear.join(" "), curvature: curvature.flatMap((row, i) => row.slice(0, i + 1)).join(" ") };
  }

  return {
    fit,
    observed: (at) => { const term = candidates(model)[at]; return term.observed ?? [term.inside, term.outside]; },
    keeps: (asked, found) => ({ likelihood: asked.length ? near(asked, found) : null }),
  };
}
