// One arm's curve: points that are dragged, moved by arrow keys, or typed as numbers.

import { colour, el, field, number, set, svg } from "./dom.js";

const WIDTH = 340, HEIGHT = 150, LEFT = 30, RIGHT = 12, TOP = 12, BOTTOM = 26;

export function curveEditor(arm, place, changed) {
  const points = [];
  const line = svg("path", { class: "curve" });
  const marks = svg("g");
  const axis = svg("g", { "aria-hidden": "true" });
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: `chart ${colour(place)}`, role: "group" },
    axis, line, marks,
  );
  const rest = typed("rested 1, 2, … rounds", "rest");
  const streak = typed("in a row", "streak");
  const fields = el("div", { class: "typed" }, rest.label, streak.label);

  function typed(label, side) {
    const input = el("input", { type: "text", inputmode: "decimal", autocomplete: "off" });
    input.addEventListener("change", () => {
      const values = input.value.split(/[\s,;]+/).filter(Boolean).map(Number);
      const good = values.length > 0 && values.every((pay) => pay >= 0 && pay <= 1);
      set(input, { "aria-invalid": !good && "true" });
      if (!good) return;
      arm[side] = values;
      if (side === "streak") keepFalling(0);
      build();
      changed();
    });
    return { input, label: field(label, input) };
  }

  // A longer streak never pays more: points on the far side come along.
  function keepFalling(moved) {
    if (arm.monotone === false) return;
    const pays = arm.streak;
    for (let k = moved + 1; k < pays.length; k += 1) pays[k] = Math.min(pays[k], pays[k - 1]);
    for (let k = moved - 1; k >= 0; k -= 1) pays[k] = Math.max(pays[k], pays[k + 1]);
  }

  function x(tau) {
    const many = arm.rest.length + arm.streak.length + 1;
    const step = (WIDTH - LEFT - RIGHT) / many;
    return LEFT + step * (tau < 0 ? arm.streak.length + tau + 0.5 : arm.streak.length + tau + 0.5);
  }
  const y = (pay) => TOP + (1 - pay) * (HEIGHT - TOP - BOTTOM);

  function pay(tau) {
    return tau < 0 ? arm.streak[-tau - 1] : arm.rest[tau - 1];
  }

  function move(tau, value) {
    const kept = Math.round(Math.min(1, Math.max(0, value)) * 100) / 100;
    if (kept === pay(tau)) return;
    if (tau < 0) {
      arm.streak[-tau - 1] = kept;
      keepFalling(-tau - 1);
    } else {
      arm.rest[tau - 1] = kept;
    }
    draw();
    changed();
  }

  function build() {
    const taus = [...arm.streak.keys()].map((k) => -(k + 1)).reverse();
    taus.push(...[...arm.rest.keys()].map((k) => k + 1));
    points.length = 0;
    for (const tau of taus) points.push(point(tau));
    marks.replaceChildren(...points.map((entry) => entry.node));
    points.forEach((entry, at) => set(entry.node, { tabindex: at === arm.streak.length ? 0 : -1 }));
    axes(taus);
    draw();
  }

  function point(tau) {
    const node = svg(
      "g",
      { class: "point", role: "slider", "aria-orientation": "vertical", "aria-valuemin": 0, "aria-valuemax": 1 },
      svg("circle", { class: "reach", r: 13 }), svg("circle", { class: "dot", r: 5 }),
      svg("text", { class: "pay", "text-anchor": "middle", dy: -10 }),
    );
    node.addEventListener("pointerdown", (event) => {
      node.setPointerCapture(event.pointerId);
      node.focus();
      event.preventDefault();
    });
    node.addEventListener("pointermove", (event) => {
      if (!node.hasPointerCapture(event.pointerId)) return;
      const box = picture.getBoundingClientRect();
      const at = ((event.clientY - box.top) / box.height) * HEIGHT;
      move(tau, 1 - (at - TOP) / (HEIGHT - TOP - BOTTOM));
    });
    node.addEventListener("keydown", (event) => press(event, tau));
    return { tau, node };
  }

  function press(event, tau) {
    const steps = { ArrowUp: 0.01, ArrowDown: -0.01, PageUp: 0.1, PageDown: -0.1 };
    const sides = { ArrowLeft: -1, ArrowRight: 1 };
    if (event.key in steps) move(tau, pay(tau) + steps[event.key] * (event.shiftKey ? 5 : 1));
    else if (event.key === "Home") move(tau, 0);
    else if (event.key === "End") move(tau, 1);
    else if (event.key in sides) {
      const at = points.findIndex((entry) => entry.tau === tau) + sides[event.key];
      if (!points[at]) return;
      for (const entry of points) set(entry.node, { tabindex: -1 });
      set(points[at].node, { tabindex: 0 });
      points[at].node.focus();
    } else return;
    event.preventDefault();
  }

  function axes(taus) {
    const middle = x(0);
    const every = Math.ceil(taus.length / 16);
    axis.replaceChildren(
      ...[0, 0.5, 1].map((at) => svg("g", {},
        svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(at), y2: y(at) }),
        svg("text", { class: "tick", x: LEFT - 6, y: y(at) + 3.5, "text-anchor": "end" }, String(at)))),
      svg("line", { class: "axis", x1: middle, x2: middle, y1: TOP, y2: HEIGHT - BOTTOM }),
      ...taus.filter((tau) => tau < 0 || (tau - 1) % every === 0).map((tau) =>
        svg("text", { class: "tick", x: x(tau), y: HEIGHT - 12, "text-anchor": "middle" },
          tau < 0 ? `${-tau}×` : `${tau}${tau === arm.rest.length && arm.tail !== "repeat" ? "+" : ""}`)),
      svg("text", { class: "tick side", x: LEFT, y: HEIGHT - 1 }, "in a row"),
      svg("text", { class: "tick side", x: WIDTH - RIGHT, y: HEIGHT - 1, "text-anchor": "end" }, "rounds of rest"),
    );
  }

  function draw() {
    const path = (side) => side.map((entry, k) => `${k ? "L" : "M"}${x(entry.tau)} ${y(pay(entry.tau))}`).join("");
    set(line, { d: path(points.filter((p) => p.tau < 0)) + path(points.filter((p) => p.tau > 0)) });
    for (const { tau, node } of points) {
      const value = pay(tau);
      const many = Math.abs(tau);
      const where = tau < 0
        ? `played ${many} ${many === 1 ? "time" : "times"} in a row`
        : `after ${many} ${many === 1 ? "round" : "rounds"} of rest`;
      set(node, {
        transform: `translate(${x(tau)} ${y(value)})`,
        "aria-label": `${arm.name}, ${where}`,
        "aria-valuenow": value,
        "aria-valuetext": `pays ${number(value)}`,
      });
      node.lastChild.textContent = number(value, 2);
      set(node.lastChild, { dy: value > 0.9 ? 20 : -10 });
    }
    set(picture, { "aria-label": `What ${arm.name} pays` });
    rest.input.value = arm.rest.map((value) => number(value)).join(", ");
    streak.input.value = arm.streak.map((value) => number(value)).join(", ");
  }

  build();
  return { node: el("div", { class: "editor" }, picture, fields), redraw: draw };
}
