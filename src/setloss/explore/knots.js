// Moving, adding and removing knots; every function returns a new list, always one that CostCurve accepts.

const HIGHEST = 10;
const NEAR = 1e-9;

/** Shares at which a knot may stand strictly between two others. */
function places(low, high, p, snap) {
  const parts = snap ? p : 100;
  const all = Array.from({ length: parts - 1 }, (_, k) => (k + 1) / parts);
  return all.filter((share) => share > low + NEAR && share < high - NEAR);
}

function nearest(values, wanted) {
  return values.reduce((best, value) => (Math.abs(value - wanted) < Math.abs(best - wanted) ? value : best));
}

function rounded(cost) {
  return Math.min(HIGHEST, Math.max(0, Math.round(cost * 1e6) / 1e6));
}

/** Knot i at another share (the ends keep theirs) and cost. */
function movedKnot(knots, i, [share, cost]) {
  const inner = i > 0 && i < knots.length - 1;
  return knots.map((knot, k) => (k === i ? [inner ? share : knot[0], i ? cost : 0] : knot));
}

/** Knot i moved by keys: `right` places along the curve, `up` hundredths of cost. */
function steppedKnot(knots, i, [right, up], p, snap) {
  const [share, cost] = knots[i];
  const free = right && i < knots.length - 1 ? places(knots[i - 1][0], knots[i + 1][0], p, snap) : [];
  const ahead = free.filter((place) => (right > 0 ? place > share + NEAR : place < share - NEAR));
  if (right < 0) ahead.reverse();
  const target = ahead[Math.min(Math.abs(right), ahead.length) - 1] ?? share;
  return movedKnot(knots, i, [target, up ? rounded(cost + up / 100) : cost]);
}

/** A knot more, on the curve, near a share; null where there is no room. */
function addedKnot(knots, wanted, p, snap) {
  const piece = pieceOf(knots, wanted);
  const free = places(knots[piece][0], knots[piece + 1][0], p, snap);
  if (!free.length) return null;
  const share = nearest(free, wanted);
  const knot = [share, rounded(interpolate(knots, share))];
  return { knots: [...knots.slice(0, piece + 1), knot, ...knots.slice(piece + 1)], index: piece + 1 };
}

/** The middle of the wider gap beside knot i, or of the widest of all. */
function widestGap(knots, i = null) {
  const gaps = knots.slice(1).map(([share], k) => ({ k, width: share - knots[k][0], middle: (share + knots[k][0]) / 2 }));
  const beside = i === null ? gaps : gaps.filter(({ k }) => k === i || k === i - 1);
  return beside.reduce((best, gap) => (gap.width > best.width + NEAR ? gap : best)).middle;
}

function removedKnot(knots, i) {
  return i > 0 && i < knots.length - 1 ? knots.filter((_, k) => k !== i) : knots;
}
