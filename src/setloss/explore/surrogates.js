// Convex surrogates of a function of |A|, as cuts: B(m') >= offset - <slope, m'>, with equality at m.

const OPERATORS = { bd: cutOfBoth, slack: cutOfSlack, margin: cutOfMargin, lovasz: cutOfLovasz };

/** The surrogate of a curve on p elements: a function from margins to its cut there. */
function surrogate(operator, knots, p, scale) {
  const loss = sample(knots, p);
  const parts = split(loss);
  const elementwise = (part) => verdict("increasing", part.values).holds;
  const model = { loss, ...parts, scale, lossRises: elementwise(loss), partRises: elementwise(parts.submodular) };
  return (margins) => {
    const order = margins.map((_, i) => i).sort((i, j) => margins[i] - margins[j]);
    const cut = OPERATORS[operator](model, margins, order);
    return { ...cut, value: margins.reduce((sum, m, i) => sum - cut.slope[i] * m, cut.offset) };
  };
}

/** Why an operator does not apply to a curve on p elements; empty where it does. */
function obstacle(operator, knots, p) {
  if (operator !== "lovasz") return "";
  const judged = verdict("submodular", sample(knots, p).values);
  return judged.holds ? "" : `the Lovász hinge needs a submodular loss; here ${judged.words}`;
}

/** B_D: the Lovász hinge of f plus slack rescaling of g. */
function cutOfBoth({ submodular, supermodular, scale, partRises }, margins, order) {
  const one = lovasz(submodular, partRises, margins, order);
  const other = slack(supermodular, scale, margins, order);
  return { offset: one.offset + other.offset, slope: one.slope.map((a, i) => a + other.slope[i]) };
}

function cutOfSlack({ loss, scale }, margins, order) {
  return slack(loss, scale, margins, order);
}

function cutOfLovasz({ loss, lossRises }, margins, order) {
  return lovasz(loss, lossRises, margins, order);
}

function cutOfMargin({ loss, scale }, margins, order) {
  const best = worstCount(loss.values, margins, order, (value, sum) => value - scale * sum);
  return onWorst(best, margins, order, loss.values[best], scale);
}

function slack({ values }, scale, margins, order) {
  const best = worstCount(values, margins, order, (value, sum) => (value > 0 ? value * (1 - scale * sum) : 0));
  return onWorst(best, margins, order, values[best], scale * values[best]);
}

/** How many of the worst elements maximise an objective of l(k) and the sum of the k smallest margins. */
function worstCount(values, margins, order, objective) {
  let [best, most, sum] = [0, 0, 0];
  order.forEach((i, k) => {
    sum += margins[i];
    const reached = objective(values[k + 1], sum);
    if (reached > most) [best, most] = [k + 1, reached];
  });
  return best;
}

function onWorst(count, margins, order, offset, rate) {
  const slope = margins.map(() => 0);
  order.slice(0, count).forEach((i) => (slope[i] = rate));
  return { offset, slope };
}

/** Steps along the order of slack; the positive part is element-wise for an increasing function, else outer. */
function lovasz({ steps }, rises, margins, order) {
  const slope = margins.map(() => 0);
  order.forEach((i, k) => {
    if (!rises || margins[i] < 1) slope[i] = steps[k];
  });
  const reached = slope.reduce((sum, a, i) => sum + a * (1 - margins[i]), 0);
  if (!rises && !(reached > 0)) slope.fill(0);
  return { offset: slope.reduce((sum, a) => sum + a, 0), slope };
}
