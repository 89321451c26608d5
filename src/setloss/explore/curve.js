// A cost curve through knots [share, cost], sampled at k wrong of p, and its two parts.

/** The curve at k / p for k = 0..p, and its p steps; a straight piece has equal steps, to the last digit. */
function sample(knots, p) {
  const place = Array.from({ length: p + 1 }, (_, k) => k / p);
  const values = place.map((share) => interpolate(knots, share));
  const steps = place.slice(0, -1).map((share, k) => {
    const piece = pieceOf(knots, share);
    const [[r0, c0], [r1, c1]] = [knots[piece], knots[piece + 1]];
    return place[k + 1] > r1 ? exactStep(knots, k, p) : (c1 - c0) / (r1 - r0) / p;
  });
  return { values, steps };
}

/** The piece a share lies on; a knot belongs to the piece on its right. */
function pieceOf(knots, share) {
  let piece = 0;
  while (piece < knots.length - 2 && knots[piece + 1][0] <= share) piece++;
  return piece;
}

function interpolate(knots, share) {
  const piece = pieceOf(knots, share);
  const [[r0, c0], [r1, c1]] = [knots[piece], knots[piece + 1]];
  if (share === r0) return c0;
  if (share >= r1) return c1;
  return ((c1 - c0) / (r1 - r0)) * (share - r0) + c0;
}

/** l = f + g: g(0) = g(1) = 0 and g'' = max(0, l''), where curvature below rounding error is none. */
function split({ values, steps }) {
  const climb = [0];
  const rest = [0];
  for (let k = 1; k < steps.length; k++) {
    const bend = steps[k] - steps[k - 1];
    const required = bend <= allowed(0, largest(values.slice(k - 1, k + 2))) ? 0 : bend;
    climb.push(climb[k - 1] + required);
    rest.push(rest[k - 1] + (bend - required));
  }
  const descent = rest.map((sum) => steps[0] + sum);
  // f is the sum of its own bends: l - g would have the rounding errors of l, which may be larger than f.
  const [f, g] = [sums(descent), sums(climb)];
  return {
    submodular: { values: values.map((value, k) => (g[k] === 0 ? value : f[k])), steps: descent },
    supermodular: { values: g, steps: climb },
  };
}

function sums(steps) {
  const totals = [0];
  steps.forEach((step, k) => totals.push(totals[k] + step));
  return totals;
}

function largest(values) {
  return values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
}

// ---------------------------------------------------------------- steps across a knot, in rational arithmetic

/** l(k + 1) - l(k), rounded once; subtracting two floats would leave a curvature that is not there. */
function exactStep(knots, k, p) {
  return toNumber(minus(exactCost(knots, k + 1, p), exactCost(knots, k, p)));
}

/** The curve at k / p; a knot at the float k / p is meant to be there. */
function exactCost(knots, k, p) {
  const right = knots.findIndex(([r], i) => i > 0 && r >= k / p);
  const [[r0, c0], [r1, c1]] = [knots[right - 1], knots[right]].map((knot) => knot.map(toRatio));
  if (knots[right][0] === k / p) return c1;
  const part = over(minus([BigInt(k), BigInt(p)], r0), minus(r1, r0));
  const climb = minus(c1, c0);
  return minus(c0, [-climb[0] * part[0], climb[1] * part[1]]);
}

function minus([a, b], [c, d]) {
  return [a * d - c * b, b * d];
}

function over([a, b], [c, d]) {
  return c < 0n ? [-a * d, -b * c] : [a * d, b * c];
}

/** A float as the fraction of whole numbers that it is. */
function toRatio(value) {
  let bottom = 1n;
  while (!Number.isInteger(value)) [value, bottom] = [value * 2, bottom * 2n];
  return [BigInt(value), bottom];
}

/** The nearest float: 64 digits or more of the quotient, and one that says whether anything is left. */
function toNumber([above, under]) {
  const size = above < 0n ? -above : above;
  const shift = Math.max(0, 64 + under.toString(2).length - size.toString(2).length);
  const quotient = (size << BigInt(shift)) / under;
  const left = (size << BigInt(shift)) % under === 0n ? 0n : 1n;
  const value = Number(quotient | left) / 2 ** shift;
  return above < 0n ? -value : value;
}
