// Pieces of SVG that both figures are made of.

const SVG = "http://www.w3.org/2000/svg";

function draw(parent, kind, attributes = {}, text = "") {
  const element = document.createElementNS(SVG, kind);
  setAll(element, attributes);
  if (text) element.textContent = text;
  parent.append(element);
  return element;
}

function setAll(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
}

/** A straight map from numbers to pixels, with its inverse. */
function axis([low, high], [start, stop]) {
  const rate = (stop - start) / (high - low);
  return { low, high, at: (value) => start + (value - low) * rate, back: (pixel) => low + (pixel - start) / rate };
}

/** Round numbers from low to high, about so many of them. */
function ticks(low, high, about) {
  const rough = (high - low) / about;
  const ten = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * ten).find((size) => size >= rough * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: Math.max(count, 0) }, (_, k) => Number(((first + k) * step).toPrecision(12)));
}

function path(points) {
  return points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(2)} ${y.toFixed(2)}`).join("");
}

/** A slider in the plane that can be focused and dragged; `moved` gets the pixel it was dragged to. */
function handle(parent, kind, radius, moved) {
  const group = draw(parent, "g", { class: `knot ${kind}`, tabindex: 0, role: "slider" });
  draw(group, "circle", { class: "hit", r: 20 });
  draw(group, "circle", { class: "ring", r: radius + 5 });
  draw(group, "circle", { class: "dot", r: radius });
  const place = (event) => {
    const box = parent.ownerSVGElement.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  group.addEventListener("pointerdown", (event) => {
    group.focus({ focusVisible: false });
    group.setPointerCapture(event.pointerId);
    moved(place(event), "down");
    event.preventDefault();
  });
  group.addEventListener("pointermove", (event) => {
    if (group.hasPointerCapture(event.pointerId)) moved(place(event), "move");
  });
  group.addEventListener("lostpointercapture", () => moved(null, "up"));
  return group;
}

/** What an arrow key asks for, as steps to the right and upwards; null for any other key. */
function direction(event) {
  const far = event.shiftKey ? 10 : 1;
  const moves = { ArrowLeft: [-far, 0], ArrowRight: [far, 0], ArrowUp: [0, far], ArrowDown: [0, -far], PageUp: [0, 10], PageDown: [0, -10] };
  return event.ctrlKey || event.altKey || event.metaKey ? null : (moves[event.key] ?? null);
}
