"use strict";
// A certificate, checked from its witnesses in whole numbers alone, in the steps of check_certificate.py, whose text
// begins with the theorem. `need` refuses in words; decimals are of exact.js.

const NOTE = (each) =>
  `Each row holds for a ${each} fixed before the data were seen, not for one chosen after a look at the rows.`;
const N = "(-?[0-9]+(?:\\.[0-9]+)?(?:e[+-][0-9]+)?)";
const START = `With confidence ${N}: `;
const AT_LEAST = `the (?:expected return|probability of success) is at least ${N}`;
const NEW = `${START}on a new task from the same distribution, ${AT_LEAST} with`;
const LISTED = `${START}on (?:at least ([0-9]+) of these|all of these) ([0-9]+) tasks, ${AT_LEAST}\\.`;
const NOTHING_SAID =
  `${START}nothing is certified about (?:how many of these [0-9]+ tasks have )?` +
  `an? (?:expected return|probability of success) of at least ${N}\\.`;
const COLUMNS = new Set([
  ...["threshold", "safety", "epsilon", "num_violations", "num_valid", "safety_upper", "num_below", "num_good"],
  ...["beta", "status", "sentence", "witness", "advice"],
]);

/** Whether prod_j (1 - l + l (X_j - a) / (B - a)) >= 1/beta; each factor times the same whole number. */
function wins(bet, returns, low, threshold, beta) {
  const k = returns.reduce((most, x) => Math.max(most, x.k), finest(low, threshold));
  const [least, width, one] = [scaled(low, k), scaled(threshold, k) - scaled(low, k), tens(bet.k)];
  const won = returns.reduce((product, x) => product * ((one - bet.n) * width + bet.n * (scaled(x, k) - least)), 1n);
  return won * beta.n >= (one * width) ** BigInt(returns.length) * tens(beta.k);
}

/** Whether P[at most k heads] <= delta, of coins, a list of [probability, how many]. */
function rarely(k, coins, delta) {
  need(coins.every(([p]) => atMost(ZERO, p) && atMost(p, ONE)), "a risk or a level is no probability");
  const n = coins.reduce((sum, [, count]) => sum + count, 0);
  if (k < 0 || k >= n) return k < 0;
  const digits = finest(...coins.map(([p]) => p));
  const [unit, total] = [tens(digits), (coins.length === 1 ? ofAlike : ofOthers)(k, coins, n, digits)];
  return total * tens(delta.k) <= delta.n * unit ** BigInt(n);
}

/** The sum over j <= k of C(n, j) heads**j tails**(n - j), for coins that are alike. */
function ofAlike(k, [[p]], n, digits) {
  const heads = scaled(p, digits);
  const tails = tens(digits) - heads;
  let [term, total] = [1n, 1n];
  for (let j = 1; j <= k; j += 1) {
    term = (term * heads * BigInt(n - j + 1)) / BigInt(j);
    total = total * tails + term;
  }
  return total * tails ** BigInt(n - k);
}

/** The same, coin by coin, from the weights of 0, ..., k heads. */
function ofOthers(k, coins, n, digits) {
  let ways = [1n];
  for (const [p, count] of coins) {
    const heads = scaled(p, digits);
    const tails = tens(digits) - heads;
    for (let i = 0; i < count; i += 1) {
      const longer = Array.from({ length: Math.min(ways.length, k) + 1 }, (_, j) => j);
      ways = longer.map((j) => (ways[j] ?? 0n) * tails + (j > 0 ? ways[j - 1] : 0n) * heads);
    }
  }
  return ways.reduce((sum, x) => sum + x, 0n);
}

/** How many coins there are of each probability. */
function counted(probabilities) {
  const found = new Map();
  for (const p of probabilities) found.set(key(p), [p, (found.get(key(p))?.[1] ?? 0) + 1]);
  return [...found.values()];
}

/** Which tasks pass, each witness checked; the level of each, at most one that is stated; the share of delta. */
function witnessed(witness, theCase, threshold, stated = null) {
  need(witness?.levels, "it has no witness");
  const [levels, chosen, byBets] = [witness.levels, whole(witness.chosen), "bets" in witness];
  const shares = levels.map((each) => number(each.share));
  const spent = shares.reduce(plus, ZERO);
  const positive = shares.every((share) => less(ZERO, share));
  need(positive && atMost(spent, theCase.delta), "shares of the levels are not positive, or exceed delta");
  const betas = theCase.settings.betas;
  const alike = (one, other) => one instanceof Written && other instanceof Written && one.text === other.text;
  const unset = betas === undefined || betas === null;
  const equal = shares.every((share) => same(share, shares[0])) && theCase.settings.beta !== "auto";
  const ofList = () => unset || (betas.length === levels.length && betas.every((x, i) => alike(x, levels[i].beta)));
  const ofBets = () => equal && ofList(); // at one level, or at several that have equal shares
  const settled = byBets ? ofBets() : theCase.binary;
  need(settled, "it has other levels than the settings, or successes of returns other than 0 and 1");
  const [given, level] = [witness[byBets ? "bets" : "successes"], levels[chosen]];
  need(given.length === theCase.tasks.length, `it has ${given.length} witnesses, of ${theCase.tasks.length} tasks`);
  const isOne = !byBets && theCase.settings.beta instanceof Written; // level, of which the number of successes follows
  const limits = new Map(theCase.tasks.map((task) => [task.length, null]));
  for (const m of limits.keys()) limits.set(m, limit(level, m, byBets, threshold, stated, isOne));
  theCase.tasks.forEach((task, i) => passes(given[i], task, limits.get(task.length), byBets, theCase, threshold, i + 1));
  const found = theCase.tasks.map((task) => limits.get(task.length).beta);
  return { passed: given.map((held) => held !== null), betas: found, share: shares[chosen] };
}

/** The level of tasks with m returns, and how many successes one needs to pass. */
function limit(level, m, byBets, threshold, stated, isOne) {
  need(!Array.isArray(level.beta) && !Array.isArray(level.enough), "its levels are no table by numbers of returns");
  const beta = number(byBets ? level.beta : level.beta[m]);
  const fits = stated === null || same(beta, stated) || (less(beta, stated) && !byBets);
  need(less(ZERO, beta) && less(beta, ONE) && fits, `a level is ${key(beta)}, another than is stated`);
  const enough = byBets ? 1 : whole(level.enough[m]);
  const rare = byBets || (enough > 0 && rarely(m - enough, [[minus(ONE, threshold), m]], beta));
  need(rare, `P[Bin(${m}, B) >= ${enough}] is larger than its level`);
  const least = !isOne || stated === null || !rarely(m - enough + 1, [[minus(ONE, threshold), m]], stated);
  need(least, `fewer than ${enough} of ${m} successes would be enough at the level that is stated`);
  return { beta, enough };
}

/** Refuse the witness of a task, if it has one that proves nothing. */
function passes(held, task, { beta, enough }, byBets, { low }, threshold, place) {
  if (held === null) return;
  const found = number(held);
  if (byBets) {
    const won = atMost(ZERO, found) && atMost(found, ONE) && wins(found, task, low, threshold, beta);
    need(won, `task ${place}: its bet is not in [0, 1], or wins less than 1/beta`);
  } else {
    const [sum, wanted] = [task.reduce(plus, ZERO), decimal(BigInt(enough))];
    need(same(sum, found) && atMost(wanted, sum), `task ${place}: it has ${sum.n} successes, needs ${enough}`);
  }
}

const ADVICE = "no more than the lower end of the support: lower the safety, or sample more tasks or rollouts";

/** The numbers in the sentence of a row after the confidence, which is checked; none if it claims nothing. */
function said(row, theCase, pattern, claims) {
  need(typeof row.sentence === "string", "its sentence is no text");
  const form = `${claims ? pattern : NOTHING_SAID}(?: \\(${ADVICE}\\))?`;
  const match = new RegExp(`^(?:${form})$`).exec(row.sentence);
  need(match, "its sentence says something else than its numbers");
  const [sure, ...numbers] = match.slice(1).filter(Boolean).map((text) => number(new Written(text)));
  const surest = minus(ONE, number(theCase.settings.delta));
  need(atMost(sure, surest), "its sentence has a confidence of more than 1 - delta");
  const ofSuccesses = row.sentence.includes("probability of success");
  need(theCase.binary || !ofSuccesses, "its sentence is about returns of 0 and 1");
  return claims ? numbers : [];
}

/** Check a row with a safety at a threshold, and the upper end if it has one: P[J < B] and P[J >= B] are at most. */
function shareOfNewTasks(row, theCase) {
  const [safety, epsilon, threshold] = [row.safety, row.epsilon, row.threshold].map(number);
  const twoSided = "safety_upper" in row;
  const upper = twoSided ? number(row.safety_upper) : ONE;
  const gap = minus(plus(safety, epsilon), ONE);
  const rounding = times(decimal(1n, 20), decimal(95367431640625n)); // 2**-20
  need(less(gap, rounding) && less(minus(ZERO, gap), rounding), "safety is not 1 - epsilon");
  const end = twoSided ? ` a probability between ${N} and ${N}\\.` : ` probability at least ${N}\\.`;
  const shown = said(row, theCase, NEW + end, less(ZERO, safety) || less(upper, ONE));
  const [level = threshold, least = safety, most = upper] = shown;
  need(atMost(level, threshold) && atMost(least, safety) && atMost(upper, most), "its sentence says more");
  const part = twoSided ? { ...theCase, delta: times(theCase.delta, decimal(5n, 1)) } : theCase;
  if (less(ZERO, safety) && less(theCase.low, threshold)) {
    const risk = less(epsilon, minus(ONE, safety)) ? epsilon : minus(ONE, safety);
    const beta = theCase.settings.beta instanceof Written ? theCase.settings.beta : row.beta;
    atMostBad(row.num_violations, "num_violations", row.witness, part, risk, threshold, beta, false);
  }
  if (less(upper, ONE)) {
    const [above, ends] = [number(row.witness.upper.threshold), plus(theCase.low, theCase.high)];
    const within = atMost(above, level) && atMost(above, threshold) && less(above, theCase.high);
    need(within, "its upper end is of a larger threshold");
    const mirror = { ...part, tasks: theCase.tasks.map((task) => task.map((x) => minus(ends, x))) };
    const beta = theCase.settings.beta_upper;
    atMostBad(row.num_below, "num_below", row.witness.upper, mirror, upper, minus(ends, above), beta, true);
  }
}

/** Refuse a risk that is smaller than what the tasks that do not pass allow, and another count of tasks. */
function atMostBad(stated, name, witness, theCase, risk, threshold, beta, countsPassed) {
  const { passed, betas, share } = witnessed(witness, theCase, threshold, number(beta));
  const count = passed.filter((ok) => ok === countsPassed).length;
  need(whole(stated) === count, `${name} is ${stated.text}; of its witnesses ${count}`);
  const missed = passed.filter((ok) => !ok).length;
  const coins = counted(betas.map((level) => times(risk, minus(ONE, level))));
  need(rarely(missed, coins, share), `${name}: the risk is too small for ${missed} tasks that do not pass`);
}

/** Check a row with a number of good tasks at a threshold. */
function shareOfAList(row, theCase) {
  const [good, threshold, n] = [whole(row.num_good), number(row.threshold), theCase.tasks.length];
  const told = said(row, theCase, LISTED, good > 0);
  const [first, all, level] = told.length ? [told[0], told.at(-2), told.at(-1)] : [ZERO, decimal(BigInt(n)), threshold];
  const fits = atMost(first, decimal(BigInt(good))) && good <= n && same(all, decimal(BigInt(n)));
  need(fits && atMost(level, threshold), "its sentence claims more than its numbers");
  if (good > 0 && less(theCase.low, threshold)) {
    const { passed, betas, share } = witnessed(row.witness, theCase, threshold);
    const k = passed.filter((ok) => !ok).length;
    need(whole(row.num_violations) === k, `num_violations is ${row.num_violations.text}; of its witnesses ${k}`);
    const missed = betas.filter((_, i) => !passed[i]);
    const others = betas.filter((_, i) => passed[i]).sort((x, y) => (less(x, y) ? 1 : less(y, x) ? -1 : 0));
    const heads = [...missed, ...others].slice(0, n - good + 1).map((beta) => minus(ONE, beta));
    need(rarely(k, counted(heads), share), `${n - good} bad tasks are too few for ${k} that do not pass`);
  }
}

const STATEMENTS = new Map([
  // what is fixed beforehand, and how a row is checked
  ["safety", ["threshold", shareOfNewTasks]],
  ["interval", ["threshold", shareOfNewTasks]],
  ["safety_level", ["safety", shareOfNewTasks]],
  ["suite", ["threshold", shareOfAList]],
]);
