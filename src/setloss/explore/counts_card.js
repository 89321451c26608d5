// The card with Dice and Jaccard: a table over false negatives and false positives for the part that is asked for.

const counted = { loss: "dice", positives: 5, negatives: 4, part: "l" };
const PARTS = { l: "the loss l", f: "its submodular part f", g: "its supermodular part g" };
const VERDICTS = {
  dice: "Dice is neither submodular nor supermodular as soon as there are two positives; its g depends on the false negatives alone.",
  jaccard: "Jaccard is submodular: f is all of it, and its Lovász hinge is exact.",
};

function showCounts(change = {}) {
  Object.assign(counted, change);
  const { loss, positives, negatives, part } = counted;
  const columns = Array.from({ length: negatives + 1 }, (_, b) => b);
  const rows = Array.from({ length: positives + 1 }, (_, n) => n).map((n) => {
    const cells = columns.map((b) => `<td>${general(countLoss(loss, positives, n, b)[part], 3)}</td>`);
    return `<tr><th scope="row">${n} FN</th>${cells.join("")}</tr>`;
  });
  const heads = columns.map((b) => `<th scope="col">${b} FP</th>`);
  $("counts").innerHTML = `<thead><tr><td></td>${heads.join("")}</tr></thead><tbody>${rows.join("")}</tbody>`;
  $("counts-caption").textContent = `${PARTS[part]}, ${positives} positives and ${negatives} negatives. ${VERDICTS[loss]}`;
  $("counts-command").textContent =
    `setloss decompose --loss ${loss} --pos ${positives} --neg ${negatives}\n` +
    `setloss train data.csv --labels label_ --loss ${loss} --model model.skops`;
  for (const [id, value] of [["positives", positives], ["negatives", negatives]]) {
    $(id).value = value;
    $(`${id}-shown`).textContent = value;
  }
}

for (const id of ["positives", "negatives"]) $(id).oninput = (event) => showCounts({ [id]: Number(event.target.value) });
document.querySelectorAll("[name=counted]").forEach((radio) => (radio.onchange = () => showCounts({ loss: radio.value })));
document.querySelectorAll("[name=part]").forEach((radio) => (radio.onchange = () => showCounts({ part: radio.value })));
Object.assign(window.setloss, { countLoss, showCounts });
showCounts();
