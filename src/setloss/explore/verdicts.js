// Is it submodular? The library's verdicts on a function of |A|, with the same witnesses in the same words.

/** A law is a list of inequalities `excess <= 0`, each with what measures it, and words for the one that fails. */
const JUDGES = {
  submodular: { entries: (values) => bendEntries(values, 1), words: bendWords },
  supermodular: { entries: (values) => bendEntries(values, -1), words: bendWords },
  modular: { entries: (values) => [...bendEntries(values, 1), ...bendEntries(values, -1)], words: bendWords },
  increasing: { entries: fallEntries, words: fallWords },
  "non-negative": { entries: negativeEntries, words: negativeWords },
};

const LAWS = Object.keys(JUDGES);

/** Whether a law holds for the function of |A| with these values, by how much, and where it fails most. */
function verdict(law, values) {
  const { entries, words } = JUDGES[law];
  const all = entries(values).map((entry) => ({ ...entry, tolerance: allowed(entry.unit, entry.size) }));
  const broken = all.filter(({ excess, tolerance }) => excess > tolerance);
  const none = { excess: 0, tolerance: 0 };
  const worst = (broken.length ? broken : all).reduce((most, entry) => (entry.excess > most.excess ? entry : most), { excess: -Infinity });
  const { excess, tolerance, k } = worst.excess === -Infinity ? none : worst;
  return { law, holds: !broken.length, excess: excess + 0, tolerance, words: broken.length ? words(values, k) : "" };
}

/** How much an inequality may fail by: a share of its unit, but no less than the rounding of its largest value. */
function allowed(unit, size) {
  return Math.max(SETTINGS.relativeTolerance * unit, SETTINGS.rounding * size, 4 * Number.MIN_VALUE);
}

function bendEntries(values, sign) {
  const steps = differences(values);
  return bends(values).map((bend, k) => ({
    k, excess: sign * bend, unit: largest(steps.slice(k, k + 2)), size: largest(values.slice(k, k + 3)),
  }));
}

function fallEntries(values) {
  return differences(values).map((step, k) => {
    const size = largest(values.slice(k, k + 2));
    return { k, excess: -step, unit: size, size };
  });
}

function negativeEntries(values) {
  let size = 0;
  return values.map((value, k) => {
    size = Math.max(size, Math.abs(value));
    return { k, excess: -value, unit: size, size };
  });
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
