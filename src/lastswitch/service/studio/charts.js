// Small pictures drawn by hand: a line or two, and points with their intervals.

import { colour, number, svg } from "./dom.js";

const WIDTH = 340, HEIGHT = 150, LEFT = 34, RIGHT = 10, TOP = 10, BOTTOM = 24;
const across = (share) => LEFT + share * (WIDTH - LEFT - RIGHT);

function frame(label, low, high, more = "") {
  const up = (value) => TOP + (1 - (value - low) / (high - low || 1)) * (HEIGHT - TOP - BOTTOM);
  const grid = [low, (low + high) / 2, high].map((at) => svg("g", {},
    svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: up(at), y2: up(at) }),
    svg("text", { class: "tick", x: LEFT - 5, y: up(at) + 3.5, "text-anchor": "end" }, number(at, 2))));
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: `chart ${more}`, role: "img", "aria-label": label }, grid);
  return { picture, up };
}

// Lines over rounds; ``lines`` is [{ name, look, values }], values null where nothing is known.
export function lineChart(label, places, lines, level = null) {
  const all = lines.flatMap((line) => line.values).filter((value) => value !== null);
  if (level !== null) all.push(level);
  const low = Math.min(0, ...all);
  const high = Math.ceil(Math.max(0.1, ...all) * 10) / 10;
  const { picture, up } = frame(label, low, high);
  const x = (at) => across(places.length > 1 ? at / (places.length - 1) : 0.5);
  for (const { look, values } of lines) {
    let path = "";
    let pen = "M";
    values.forEach((value, at) => {
      if (value === null) { pen = "M"; return; }
      path += `${pen}${x(at)} ${up(value)}`;
      pen = "L";
      if (values[at - 1] == null && values[at + 1] == null) {
        picture.append(svg("circle", { class: `dot ${look}`, cx: x(at), cy: up(value), r: 3 }));
      }
    });
    picture.append(svg("path", { class: `curve ${look}`, d: path || "M0 0" }));
  }
  if (level !== null) {
    picture.append(svg("line", { class: "level", x1: LEFT, x2: WIDTH - RIGHT, y1: up(level), y2: up(level) }));
  }
  for (const [at, anchor] of [[0, "start"], [places.length - 1, "end"]]) {
    picture.append(svg("text", { class: "tick", x: x(at), y: HEIGHT - 8, "text-anchor": places.length > 1 ? anchor : "middle" }, places[at]));
  }
  return picture;
}

// What is known of an arm's states: means with intervals, and what is hoped for.
export function stateChart(label, arm, states, span = [0, 1]) {
  const { picture, up } = frame(label, ...span, colour(arm));
  const deepest = Math.max(1, ...states.map((state) => -state.tau));
  const rested = Math.max(1, ...states.map((state) => state.tau));
  const x = (tau) => across((tau + deepest + 0.5) / (deepest + rested + 1));
  const every = Math.ceil((deepest + rested) / 16);
  picture.append(svg("line", { class: "axis", x1: x(0), x2: x(0), y1: TOP, y2: HEIGHT - BOTTOM }));
  for (const state of states) {
    const at = x(state.tau);
    const many = Math.abs(state.tau);
    const where = state.tau < 0 ? `${many}× in a row` : `${many} of rest`;
    const words = `${where}: ${number(state.mean)} (${number(state.low)} to ${number(state.high)}), seen ${number(state.seen)} times`;
    const mark = svg("g", {}, svg("title", {}, words),
      svg("line", { class: "interval", x1: at, x2: at, y1: up(state.low), y2: up(state.high) }));
    if (state.hoped !== undefined) {
      mark.append(svg("line", { class: "hoped", x1: at - 5, x2: at + 5, y1: up(state.hoped), y2: up(state.hoped) }));
    }
    if (state.mean !== null) mark.append(svg("circle", { class: "dot", cx: at, cy: up(state.mean), r: 4 }));
    picture.append(mark);
    if (many % every === 0 || every === 1) {
      picture.append(svg("text", { class: "tick", x: at, y: HEIGHT - 8, "text-anchor": "middle" },
        state.tau < 0 ? `${many}×` : String(many)));
    }
  }
  return picture;
}
