// Is it submodular? The library's verdicts on a function of |A|, with the same witnesses in the same words.

/** A law is a list of inequalities `entry <= 0`, so many cells of them, and words for the one that fails most. */
const JUDGES = {
  submodular: { entries: bends, lost: 2, words: bendWords },
  supermodular: { entries: (values) => negated(bends(values)), lost: 2, words: bendWords },
  modular: { entries: (values) => [...bends(values), ...negated(bends(values))], lost: 2, words: bendWords },
  increasing: { entries: (values) => negated(differences(values)), lost: 1, words: fallWords },
  "non-negative": { entries: negated, lost: 0, words: negativeWords },
};

const LAWS = Object.keys(JUDGES);

/** Whether a law holds for the function of |A| with these values, by how much, and where it fails most. */
function verdict(law, values) {
  const { entries, lost, words } = JUDGES[law];
  const all = entries(values);
  const excess = Math.max(...all) + 0;
  const unit = law === "non-negative" ? largest(values) : largest(differences(values));
  const tolerance = Math.max(SETTINGS.relativeTolerance * unit, SETTINGS.rounding * largest(values));
  const holds = !(excess > tolerance);
  return { law, holds, excess, tolerance, words: holds ? "" : words(values, all.indexOf(excess) % (values.length - lost)) };
}

function negated(values) {
  return values.map((value) => -value);
}

function differences(values) {
  return values.slice(1).map((value, k) => value - values[k]);
}

function bends(values) {
  return differences(differences(values));
}

function bendWords(values, k) {
  const [before, after] = apart(values[k + 1] - values[k], values[k + 2] - values[k + 1]);
  return `adding ${k + 1} to ${firstElements(k)} gains ${before}, to ${firstElements(k + 1)} gains ${after}`;
}

function fallWords(values, k) {
  const [before, after] = apart(values[k], values[k + 1]);
  return `adding ${k} to ${firstElements(k)} lowers the value from ${before} to ${after}`;
}

function negativeWords(values, k) {
  return `the value of ${firstElements(k)} is ${general(values[k])}`;
}

/** {0, ..., n - 1}, abridged where it is long. */
function firstElements(n) {
  const shown = Array.from({ length: n > 12 ? 6 : n }, (_, i) => i).join(", ");
  return n > 12 ? `{${shown}, ... ${n} elements}` : `{${shown}}`;
}
