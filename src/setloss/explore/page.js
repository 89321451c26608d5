// The page: one state, drawn again after every change.

const $ = (id) => document.getElementById(id);
const NAMES = { bd: "B<sub>D</sub>", slack: "slack", margin: "margin", lovasz: "Lovász" };
const PRESETS = [...SETTINGS.presets, { title: "any mistake costs all", knots: null }];

const state = { knots: [[0, 0], [1, 1]], p: 12, snap: true, operator: "bd", scale: 2, halves: false, point: [0.4, -0.3], past: [] };

const editor = curveEditor($("curve"), (knots, { dragging = false, before = null }) => {
  if (before && JSON.stringify(before) !== JSON.stringify(knots)) remember(before);
  show({ knots }, dragging);
});
const map = marginMap($("map"), (point) => show({ point }));

/** The knots of a preset; a single mistake is a different share in every set size. */
function presetKnots({ knots }, p) {
  return knots ?? [[0, 0], [1 / p, 1], [1, 1]];
}

function remember(knots) {
  state.past = [...state.past.slice(-99), knots];
}

/** Change the state and draw everything that follows from it. */
function show(change = {}, dragging = false) {
  Object.assign(state, change);
  const loss = sample(state.knots, state.p);
  const parts = split(loss);
  editor.render({ ...state, loss, parts });
  showNumbers(loss, parts);
  const judged = judge(loss, parts);
  showVerdicts(judged);
  if (!dragging) speak(judged);
  showSurrogate();
  showControls();
  showTexts();
}

// ---------------------------------------------------------------- the loss and its parts

function showNumbers(loss, parts) {
  const rows = loss.values.map((value, k) => {
    const cells = [value, parts.submodular.values[k], parts.supermodular.values[k]].map((x) => `<td>${general(x)}</td>`);
    return `<tr><th scope="row">${k}</th>${cells.join("")}</tr>`;
  });
  $("numbers").innerHTML = rows.join("");
}

/** The laws of l, then what the parts say of B_D. */
function judge(loss, parts) {
  const start = { law: "l(∅) = 0", holds: true, words: "a cost curve starts at (0, 0)" };
  const part = parts.submodular.values;
  const rises = verdict("increasing", part);
  const extends_ = verdict("non-negative", part);
  return {
    loss: [...LAWS.map((law) => verdict(law, loss.values)), start],
    parts: [
      { law: "f increasing", holds: rises.holds, words: rises.words || "the Lovász hinge of f is an upper bound of f" },
      { law: "f non-negative", holds: extends_.holds, words: extends_.words || "so B<sub>D</sub> is an extension of l" },
    ],
  };
}

function showVerdicts({ loss, parts }) {
  const row = ({ law, holds, words, excess }) => {
    const by = holds || excess === undefined ? "" : `by ${general(excess, 3)}: `;
    return `<dt>${law} <span class="answer ${holds ? "yes" : "no"}">${holds ? "yes" : "no"}</span></dt><dd>${by}${words}</dd>`;
  };
  $("verdicts").innerHTML = `${loss.map(row).join("")}<dt class="heading">the submodular part</dt>${parts.map(row).join("")}`;
}

let pause = 0;

/** Verdicts for those who listen, once the curve has come to rest. */
function speak({ loss, parts }) {
  clearTimeout(pause);
  pause = setTimeout(() => {
    const told = [...loss, ...parts].map(({ law, holds, words }) => (holds ? `${law}: yes` : `${law}: no, ${words}`));
    $("spoken").textContent = `${told.join(". ")}.`;
  }, 400);
}

// ---------------------------------------------------------------- the surrogate

/** The elements the map speaks of, and their margins for a point of the plane. */
function spanned() {
  if (!state.halves) return { p: 2, margins: (point) => point };
  const first = Math.ceil(state.p / 2);
  return { p: state.p, margins: ([a, b]) => Array.from({ length: state.p }, (_, i) => (i < first ? a : b)) };
}

function showSurrogate() {
  const { p, margins } = spanned();
  const blocked = obstacle(state.operator, state.knots, p);
  const cutAt = surrogate(blocked ? "bd" : state.operator, state.knots, p, state.scale);
  map.render({ point: state.point, value: (point) => cutAt(margins(point)).value });
  const name = NAMES[blocked ? "bd" : state.operator];
  const where = state.halves ? `all ${p} elements, the first ${Math.ceil(p / 2)} with margin m₁, the others m₂` : "two elements";
  const instead = blocked ? ` Shown instead of the Lovász hinge: ${blocked}.` : "";
  $("map-caption").innerHTML = `${name} of this curve on ${where}.${instead}`;
  showReadings(name, cutAt(margins(state.point)), margins(state.point), p);
}

function showReadings(name, cut, margins, p) {
  const wrong = margins.filter((margin) => !(margin > 0)).length;
  const loss = sample(state.knots, p).values[wrong];
  const first = state.halves ? Math.ceil(p / 2) : 1;
  const slopes = [cut.slope.slice(0, first), cut.slope.slice(first)].map((part) => part.reduce((sum, a) => sum + a, 0));
  const terms = slopes.map((slope, k) => `${slope < 0 ? "+" : "−"} ${general(Math.abs(slope), 4)} m${"₁₂"[k]}`).join(" ");
  $("readings").innerHTML =
    `<dt>${name} at (${state.point.map((m) => m.toFixed(2)).join(", ")})</dt><dd class="value" id="value">${general(cut.value)}</dd>` +
    `<dt>the prediction there</dt><dd>${wrong} of ${p} wrong, loss ${general(loss, 4)}</dd>` +
    `<dt>the cut that touches there</dt><dd>${general(cut.offset, 4)} ${terms}</dd>`;
}

// ---------------------------------------------------------------- controls and texts

function showControls() {
  $("size").value = state.p;
  $("size-shown").textContent = state.p;
  $("scale").value = state.scale;
  $("scale-shown").textContent = general(state.scale, 3);
  $("scale").disabled = state.operator === "lovasz";
  $("undo").disabled = state.past.length === 0;
  const same = (preset) => JSON.stringify(presetKnots(preset, state.p)) === JSON.stringify(state.knots);
  for (const button of $("presets").children) button.setAttribute("aria-pressed", same(PRESETS[button.dataset.place]));
  const { p } = spanned();
  for (const button of $("operators").children) {
    const blocked = obstacle(button.dataset.name, state.knots, p);
    button.disabled = blocked !== "";
    button.title = blocked;
    button.setAttribute("aria-pressed", button.dataset.name === state.operator);
  }
}

function knotsText() {
  return state.knots.map((knot) => knot.map(spelled).join(":")).join(",");
}

/** The operator of the map as the command line calls it. */
function trainedWith() {
  return obstacle(state.operator, state.knots, state.p) ? "slack" : state.operator;
}

function showTexts() {
  const pairs = state.knots.map((knot) => `(${knot.map(spelled).join(", ")})`).join(", ");
  $("command").textContent = `setloss decompose --knots "${knotsText()}" --size ${state.p}`;
  $("train").textContent =
    `setloss train tracks.csv --knots "${knotsText()}" --method ${trainedWith()} --scale ${general(state.scale, 3)} ` +
    "--rule sign --model model.skops";
  $("python").textContent =
    "from setloss import CostCurve, decompose\nfrom setloss.operators import B_D\n\n" +
    `curve = CostCurve([${pairs}])\nparts = decompose(curve.on_counts(${state.p}, 0))\n` +
    `surrogate = B_D(curve.on_counts(${state.p}, 0), scale=${general(state.scale, 3)})`;
}

async function copy(button) {
  const source = $(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(source.textContent);
  } catch {
    getSelection().selectAllChildren(source);
    document.execCommand("copy");
  }
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = "Copy"), 1200);
}

function addButton(parent, text, data, clicked) {
  const button = document.createElement("button");
  Object.assign(button, { type: "button", innerHTML: text, onclick: clicked });
  Object.assign(button.dataset, data);
  parent.append(button);
}

function resized(p) {
  const any = PRESETS.at(-1);
  const follows = JSON.stringify(presetKnots(any, state.p)) === JSON.stringify(state.knots);
  show({ p, knots: follows ? presetKnots(any, p) : state.knots });
}

function undo() {
  if (state.past.length) show({ knots: state.past.at(-1), past: state.past.slice(0, -1) });
}

const dark = matchMedia("(prefers-color-scheme: dark)");

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  show();
}

PRESETS.forEach((preset, place) => {
  addButton($("presets"), preset.title, { place }, () => {
    remember(state.knots);
    show({ knots: presetKnots(preset, state.p) });
  });
});
Object.entries(NAMES).forEach(([name, title]) => addButton($("operators"), title, { name }, () => show({ operator: name })));
$("size").oninput = (event) => resized(Number(event.target.value));
$("scale").oninput = (event) => show({ scale: Number(event.target.value) });
$("snap").onchange = (event) => show({ snap: event.target.checked });
$("add").onclick = () => editor.add();
$("undo").onclick = undo;
$("theme").onclick = () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
document.querySelectorAll("[name=span]").forEach((radio) => (radio.onchange = () => show({ halves: radio.value === "halves" && radio.checked })));
document.querySelectorAll("[data-copy]").forEach((button) => (button.onclick = () => copy(button)));
document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "z") undo();
});
dark.onchange = () => setTheme(dark.matches ? "dark" : "light");
new ResizeObserver(() => show()).observe(document.querySelector("main"));

window.setloss = { state, show, sample, split, verdict, surrogate, obstacle, knotsText, general };
state.knots = PRESETS[0].knots;
setTheme(dark.matches ? "dark" : "light");
