// The surrogate as heat and contours over two margins, with a point to move.

const SPAN = [-1, 2];
const CELLS = 72;

/** Draws into `box`; `change` gets the margins of the point. */
function marginMap(box, change) {
  const canvas = document.createElement("canvas");
  box.append(canvas);
  const svg = draw(box, "svg", { class: "above", role: "group", "aria-label": "Surrogate over two margins" });
  const back = draw(svg, "g", { "aria-hidden": "true" });
  let [state, scales, from] = [null, null, null];
  const dot = handle(draw(svg, "g"), "point", 7, dragged);
  dot.addEventListener("keydown", (event) => {
    const steps = direction(event);
    if (!steps) return;
    change(state.point.map((margin, k) => withinSpan(margin + steps[k] / 100)));
    event.preventDefault();
  });

  function dragged(pixel, phase) {
    if (phase === "down") from = { pixel, point: state.point };
    if (phase !== "move") return;
    const climb = [scales.x, scales.y].map(({ at, back: inverse }, k) => inverse(at(from.point[k]) + pixel[k] - from.pixel[k]));
    change(climb.map(withinSpan));
  }

  function render(next) {
    state = next;
    const width = Math.max(box.clientWidth, 240);
    const side = Math.min(width - EDGE.left - EDGE.right, 460);
    const left = EDGE.left + Math.max(0, (width - EDGE.left - EDGE.right - side) / 2);
    const frame = { left, top: EDGE.top, side, width, height: side + EDGE.top + EDGE.bottom };
    setAll(svg, { width, height: frame.height, viewBox: `0 0 ${width} ${frame.height}` });
    scales = { x: axis(SPAN, [left, left + side]), y: axis(SPAN, [EDGE.top + side, EDGE.top]) };
    const grid = gridOf(state.value);
    drawHeat(canvas, frame, grid);
    back.replaceChildren();
    drawContours(back, scales, grid);
    drawMarginAxes(back, scales, frame);
    setAll(dot, {
      transform: `translate(${scales.x.at(state.point[0]).toFixed(2)} ${scales.y.at(state.point[1]).toFixed(2)})`,
      "aria-label": "Point on the map; left and right change the first margin, up and down the second",
      "aria-valuemin": SPAN[0],
      "aria-valuemax": SPAN[1],
      "aria-valuenow": state.point[0],
      "aria-valuetext": `margins ${state.point.map((m) => general(m, 3)).join(" and ")}, surrogate ${general(state.value(state.point), 4)}`,
    });
  }

  return { render };
}

function withinSpan(margin) {
  return Math.min(SPAN[1], Math.max(SPAN[0], Math.round(margin * 100) / 100));
}

/** Values on a square grid, rows upwards. */
function gridOf(value) {
  const place = Array.from({ length: CELLS + 1 }, (_, k) => SPAN[0] + (k / CELLS) * (SPAN[1] - SPAN[0]));
  const rows = place.map((second) => place.map((first) => value([first, second])));
  return { place, rows, most: Math.max(1e-9, ...rows.flat()) };
}

function drawHeat(canvas, { left, top, side }, { rows, most }) {
  canvas.width = canvas.height = CELLS + 1;
  // A pixel is as wide as a cell and lies around its grid point: half of the outer ones is out of the frame.
  const half = side / CELLS / 2;
  const size = `${side + 2 * half}px`;
  Object.assign(canvas.style, { left: `${left - half}px`, top: `${top - half}px`, width: size, height: size });
  canvas.style.clipPath = `inset(${half}px)`;
  const context = canvas.getContext("2d");
  const image = context.createImageData(CELLS + 1, CELLS + 1);
  const colour = heatScale();
  rows.forEach((row, j) => {
    row.forEach((value, i) => image.data.set([...colour(value / most), 255], 4 * ((CELLS - j) * (CELLS + 1) + i)));
  });
  context.putImageData(image, 0, 0);
}

/** From 0..1 to a colour between the stops of the style sheet; small values get more of the scale. */
function heatScale() {
  const stops = getComputedStyle(document.documentElement).getPropertyValue("--heat").trim().split(/\s+/);
  const colours = stops.map((stop) => [1, 3, 5].map((k) => parseInt(stop.slice(k, k + 2), 16)));
  return (share) => {
    const along = Math.min(1, Math.max(0, share)) ** 0.6 * (colours.length - 1);
    const k = Math.min(colours.length - 2, Math.floor(along));
    return colours[k].map((channel, c) => Math.round(channel + (along - k) * (colours[k + 1][c] - channel)));
  };
}

function drawContours(layer, { x, y }, grid) {
  for (const level of levels(grid.most)) {
    const pieces = contour(grid, level).map((ends) => ends.map(([a, b]) => [x.at(a), y.at(b)]));
    if (!pieces.length) continue;
    draw(layer, "path", { class: "contour", d: pieces.map(path).join("") });
    const diagonal = pieces.reduce((best, piece) => (offDiagonal(piece) < offDiagonal(best) ? piece : best));
    const [a, b] = diagonal[0];
    draw(layer, "text", { class: "level", x: a.toFixed(1), y: (b + 4).toFixed(1), "text-anchor": "middle" }, general(level, 3));
  }

  function offDiagonal([[a, b]]) {
    return Math.abs(x.back(a) - y.back(b));
  }
}

/** Round numbers below the highest, closer together where they are small. */
function levels(most) {
  const squares = ticks(0, Math.sqrt(most), 8).map((root) => Number((root * root).toPrecision(2)));
  return squares.filter((level) => level > 0 && level < most);
}

/** Marching over triangles: on each of them a surrogate is nearly affine, and the level set is one segment. */
function contour({ place, rows }, level) {
  const pieces = [];
  for (let j = 0; j < CELLS; j++) {
    for (let i = 0; i < CELLS; i++) {
      const [a, b, c, d] = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
      for (const triangle of [[a, b, c], [a, c, d]]) {
        const ends = crossings(triangle, place, rows, level);
        if (ends.length === 2) pieces.push(ends);
      }
    }
  }
  return pieces;
}

function crossings(triangle, place, rows, level) {
  const ends = [];
  triangle.forEach(([i, j], k) => {
    const [s, t] = triangle[(k + 1) % 3];
    const [here, there] = [rows[j][i], rows[t][s]];
    if (here < level === there < level) return;
    const part = (level - here) / (there - here);
    ends.push([place[i] + part * (place[s] - place[i]), place[j] + part * (place[t] - place[j])]);
  });
  return ends;
}

function drawMarginAxes(layer, { x, y }, { left, top, side, height }) {
  draw(layer, "line", { class: "zero", x1: x.at(0), x2: x.at(0), y1: top, y2: top + side });
  draw(layer, "line", { class: "zero", x1: left, x2: left + side, y1: y.at(0), y2: y.at(0) });
  draw(layer, "rect", { class: "cube", x: x.at(0), y: y.at(1), width: x.at(1) - x.at(0), height: y.at(0) - y.at(1) });
  for (const margin of [-1, 0, 1, 2]) {
    draw(layer, "text", { x: x.at(margin), y: top + side + 18, "text-anchor": "middle" }, String(margin));
    draw(layer, "text", { x: left - 8, y: y.at(margin) + 4, "text-anchor": "end" }, String(margin));
  }
  draw(layer, "text", { x: left + side / 2, y: height - 4, "text-anchor": "middle" }, "margin m₁");
  const [a, b] = [left - 30, top + side / 2];
  draw(layer, "text", { x: a, y: b, "text-anchor": "middle", transform: `rotate(-90 ${a} ${b})` }, "margin m₂");
}
