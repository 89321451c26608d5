// Dice and Jaccard of one example with some positives and negatives, and their parts, in closed form.

/** l, f and g at n false negatives and b false positives; with nothing there and nothing said the loss is 0. */
function countLoss(name, positives, n, b) {
  const size = name === "dice" ? 2 * positives - n + b : positives + b;
  const loss = n + b === 0 ? 0 : (n + b) / size;
  // The supermodular part of Dice is free of the false positives; Jaccard is submodular and has none.
  const g = name === "dice" && n > 1 ? (n * (n - 1)) / ((2 * positives - 1) * (2 * positives - n)) : 0;
  return { l: loss, f: loss - g, g };
}
