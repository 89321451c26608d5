// The figure of l, f and g, with the knots to drag.

const EDGE = { left: 52, right: 14, top: 10, bottom: 40 };

/** Draws into `box`; `change` gets new knots and whether a drag is still under way. */
function curveEditor(box, change) {
  const svg = draw(box, "svg", { role: "group", "aria-label": "Cost curve with knots to move", "aria-describedby": "curve-hint" });
  const clip = draw(draw(svg, "clipPath", { id: "frame" }), "rect");
  const back = draw(svg, "g");
  const curves = draw(svg, "g", { "clip-path": "url(#frame)" });
  const front = draw(svg, "g");
  const handles = [];
  let [state, scales, held] = [null, null, null];

  function dragged(i, pixel, phase) {
    if (phase === "down") held = { knots: state.knots, from: pixel, scales };
    if (phase === "move") change(toKnots(i, pixel), { dragging: true });
    if (phase === "up" && held) {
      const before = held.knots;
      held = null;
      change(state.knots, { dragging: false, before });
    }
  }

  function toKnots(i, [x, y]) {
    const [share, cost] = held.knots[i];
    const [right, up] = [x - held.from[0], y - held.from[1]];
    const inner = i > 0 && i < held.knots.length - 1;
    const free = inner ? places(held.knots[i - 1][0], held.knots[i + 1][0], state.p, state.snap) : [];
    const wanted = share + held.scales.x.back(held.scales.x.at(0) + right);
    const target = Math.abs(right) < 4 || !free.length ? share : nearest([...free, share], wanted);
    const climb = held.scales.y.back(held.scales.y.at(0) + up);
    return movedKnot(held.knots, i, [target, up === 0 ? cost : rounded(Math.round((cost + climb) * 100) / 100)]);
  }

  function pressed(i, event) {
    const steps = direction(event);
    if (steps) change(steppedKnot(state.knots, i, steps, state.p, state.snap), { before: state.knots });
    else if (event.key === "Delete" || event.key === "Backspace") remove(i);
    else if (event.key === "Enter" || event.key === "+") add(widestGap(state.knots, i));
    else return;
    event.preventDefault();
  }

  function remove(i) {
    const left = removedKnot(state.knots, i);
    if (left === state.knots) return;
    change(left, { before: state.knots });
    handles[Math.min(i, left.length - 1) - 1].focus();
  }

  function add(share) {
    const added = addedKnot(state.knots, share, state.p, state.snap);
    if (!added) return;
    change(added.knots, { before: state.knots });
    handles[added.index - 1].focus();
  }

  svg.addEventListener("dblclick", (event) => {
    const box = svg.getBoundingClientRect();
    if (!event.target.closest(".knot")) add(scales.x.back(event.clientX - box.left));
  });

  function render(next) {
    state = next;
    const width = Math.max(box.clientWidth, 240);
    const height = Math.round(Math.min(430, Math.max(260, width * 0.52)));
    setAll(svg, { width, height, viewBox: `0 0 ${width} ${height}` });
    const range = held ? [held.scales.y.low, held.scales.y.high] : costRange(state);
    scales = {
      x: axis([0, 1], [EDGE.left, width - EDGE.right]),
      y: axis(range, [height - EDGE.bottom, EDGE.top]),
    };
    setAll(clip, { x: 0, y: EDGE.top - 8, width, height: height - EDGE.bottom - EDGE.top + 16 });
    drawGrid(back, scales, state.p, width, height);
    drawCurves(curves, scales, state);
    syncHandles();
  }

  function syncHandles() {
    while (handles.length < state.knots.length - 1) {
      const i = handles.length + 1;
      const made = handle(front, "", 7, (pixel, phase) => dragged(i, pixel, phase));
      made.addEventListener("keydown", (event) => pressed(i, event));
      handles.push(made);
    }
    while (handles.length > state.knots.length - 1) handles.pop().remove();
    handles.forEach((made, k) => {
      const [share, cost] = state.knots[k + 1];
      setAll(made, {
        transform: `translate(${scales.x.at(share).toFixed(2)} ${scales.y.at(cost).toFixed(2)})`,
        "aria-label": `Knot ${k + 1} of ${handles.length}`,
        "aria-orientation": "vertical",
        "aria-valuemin": 0,
        "aria-valuemax": HIGHEST,
        "aria-valuenow": cost,
        "aria-valuetext": `cost ${general(cost, 4)} at share ${spelled(share)}, ${general(share * state.p, 3)} of ${state.p} wrong`,
      });
    });
  }

  return { render, add: () => add(widestGap(state.knots)) };
}

/** From the lowest to the highest value drawn, with room to drag upwards. */
function costRange({ knots, loss, parts }) {
  const drawn = [...knots.map(([, cost]) => cost), ...loss.values, ...parts.submodular.values, ...parts.supermodular.values];
  const [low, high] = [Math.min(0, ...drawn), Math.max(0.2, ...drawn)];
  const room = (high - low) * 0.12;
  return [low < 0 ? low - room / 2 : 0, high + room];
}

function drawGrid(layer, { x, y }, p, width, height) {
  layer.replaceChildren();
  for (const cost of ticks(y.low, y.high, 7)) {
    const level = y.at(cost).toFixed(1);
    draw(layer, "line", { class: cost === 0 ? "axis" : "grid", x1: EDGE.left, x2: width - EDGE.right, y1: level, y2: level });
    draw(layer, "text", { x: EDGE.left - 8, y: Number(level) + 4, "text-anchor": "end" }, general(cost, 4));
  }
  const every = [1, 2, 4, 5, 10].find((step) => (width - 60) / (p / step) >= 30 && p / step <= 20) ?? 10;
  for (let k = 0; k <= p; k += every) {
    draw(layer, "text", { x: x.at(k / p), y: height - EDGE.bottom + 18, "text-anchor": "middle" }, String(k));
  }
  const middle = (EDGE.left + width - EDGE.right) / 2;
  draw(layer, "text", { x: middle, y: height - 4, "text-anchor": "middle" }, `wrong elements of ${p}`);
  const [a, b] = [12, (EDGE.top + height - EDGE.bottom) / 2];
  draw(layer, "text", { x: a, y: b, "text-anchor": "middle", transform: `rotate(-90 ${a} ${b})` }, "cost");
}

const MARKS = {
  l: (x, y) => `M${x - 5} ${y}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0`,
  f: (x, y) => `M${x - 3} ${y - 3}h6v6h-6z`,
  g: (x, y) => `M${x} ${y - 4}l4 7h-8z`,
};

function drawCurves(layer, { x, y }, { knots, loss, parts, p }) {
  layer.replaceChildren();
  const dots = (values) => values.map((value, k) => [x.at(k / p), y.at(value)]);
  const lines = { l: knots.map(([share, cost]) => [x.at(share), y.at(cost)]), f: dots(parts.submodular.values), g: dots(parts.supermodular.values) };
  for (const [name, points] of [["l", dots(loss.values)], ["f", lines.f], ["g", lines.g]]) {
    draw(layer, "path", { class: `line ${name}`, d: path(lines[name]) });
    draw(layer, "path", { class: `mark ${name}`, d: points.map(([a, b]) => MARKS[name](Number(a.toFixed(2)), Number(b.toFixed(2)))).join("") });
  }
}
