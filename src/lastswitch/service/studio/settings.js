// The calendar of a rotation, its plays, and how the service decides.

import { el, field, options, set } from "./dom.js";

export function settingsForm(spec, changed) {
  const table = (name) => spec[name] || {};

  function put(name, key, value) {
    const now = { ...table(name) };
    if (value === "" || value === null || Number.isNaN(value)) delete now[key];
    else now[key] = value;
    if (Object.keys(now).length) spec[name] = now;
    else delete spec[name];
    changed();
  }

  const text = (name, key, hint) => el("input", {
    type: "text", placeholder: hint, value: table(name)[key] ?? "",
    onchange: (event) => put(name, key, event.target.value.trim()),
  });
  const share = (key) => el("input", {
    type: "number", min: 0, max: 1, step: 0.05, value: table("serve")[key] ?? "",
    onchange: (event) => put("serve", key, event.target.valueAsNumber),
  });
  const [least, most] = Array.isArray(spec.plays) ? spec.plays : [spec.plays ?? 1, spec.plays ?? 1];
  const plays = { least, most };
  const count = (key) => el("input", {
    type: "number", min: 0, max: 50, value: plays[key],
    onchange: (event) => {
      plays[key] = event.target.valueAsNumber;
      spec.plays = [plays.least, Math.max(plays.least, plays.most)];
      changed();
    },
  });
  return el("div", { class: "settings" },
    group("Calendar",
      field("First round", text("calendar", "start", "2024-06-03")),
      field("A round lasts", text("calendar", "every", "1d")),
      field("Zone", text("calendar", "zone", "Europe/Rome")),
      field("Skip", text("calendar", "skip", "sat-sun"))),
    group("Plays",
      field("At least, a round", count("least")),
      field("At most, a round", count("most")),
      field("A silent round pays", el("input", {
        type: "number", min: 0, max: 1, step: 0.01, value: spec.silence ?? 0,
        onchange: (event) => { spec.silence = event.target.valueAsNumber || 0; changed(); },
      })),
      field("Rested before its first round", initialField(spec, changed))),
    group("In service",
      field("Decides by", el("select", { onchange: (event) => put("serve", "decide", event.target.value) },
        options([["learner", "learning what arms pay"], ["plan", "planning on these curves"], ["cycle", "a cycle"]],
          table("serve").decide ?? "learner"))),
      field("Holdout, a share", share("holdout")),
      field("A reward may take", text("serve", "window", "7d"))));
}

// One number for every arm, or one for each: rounds of rest, or plays in a row as -1, -2, …
function initialField(spec, changed) {
  const input = el("input", {
    type: "text", placeholder: "1", inputmode: "numeric", value: [spec.initial ?? ""].flat().join(", "),
    title: "Rounds of rest, one number or one per arm; -2 is an arm just played twice in a row.",
  });
  input.addEventListener("change", () => {
    const states = input.value.split(/[\s,;]+/).filter(Boolean).map(Number);
    const fits = states.length <= 1 || states.length === spec.arms.length;
    const good = fits && states.every((tau) => Number.isInteger(tau) && tau !== 0);
    set(input, { "aria-invalid": !good && "true" });
    if (!good) return;
    if (states.length) spec.initial = states.length === 1 ? states[0] : states;
    else delete spec.initial;
    changed();
  });
  return input;
}

function group(name, ...fields) {
  return el("fieldset", {}, el("legend", {}, name), fields);
}
