// Edit: curves and rules on one side, the plan that follows from them on the other.

import { get, mayAsk, post } from "./api.js";
import { curveEditor } from "./curve.js";
import { colour, el, field, notice, options, set } from "./dom.js";
import { planPanel } from "./plan.js";
import { picker, ruleForm } from "./rules.js";
import { settingsForm } from "./settings.js";
import { begin, canStep, kept, note, step } from "./steps.js";

let draft = null; // { name, spec }
let panel = null;
let place = null;
let known = { rotations: [], starters: [] };

export async function show(section) {
  place = section;
  if (!draft) {
    if (!(await mayAsk())) {
      place.replaceChildren(el("h1", { id: "edit-title" }, "Edit"), el("p", { class: "empty" },
        "Editing needs a key: give one at the top of the page; lastswitch serve prints the first, ",
        "and lastswitch serve --new-key write makes more."));
      return;
    }
    try {
      known = await get("/studio/rotations");
    } catch (error) {
      place.replaceChildren(el("h1", { id: "edit-title" }, "Edit"), el("p", { class: "empty" }, error.message));
      return;
    }
    const before = kept();
    const first = known.rotations[0];
    if (before) {
      open(before.name, before.spec, true);
      notice("Here is what you edited before the page was loaded again.");
    } else if (first) open(first.name, structuredClone(first.spec));
    else open("radio", await get("/studio/starters/radio"));
  }
  build();
}

export function open(name, spec, edited = false) {
  spec.rules ||= [];
  spec.groups ||= {};
  draft = { name, spec };
  begin(draft, edited);
}

// After a key came or went, what can be seen may differ.
export function forget() {
  draft = null;
}

function build() {
  panel = planPanel(draft, told);
  place.replaceChildren(
    el("h1", { id: "edit-title" }, "Edit"),
    toolbar(),
    el("div", { class: "columns" },
      el("div", { class: "left" }, curves(), rules(), groups(), more()),
      panel.node),
  );
  changed();
}

function changed() {
  remember();
  panel.replan();
}

function remember() {
  note(draft);
  for (const [by, button] of Object.entries(stepButtons)) set(button, { disabled: !canStep(Number(by)) });
}

// Undo and redo.

let stepButtons = {};

function stepButton(by, label, keys) {
  stepButtons[by] = el("button", { type: "button", "aria-keyshortcuts": keys, onclick: () => go(by) }, label);
  return stepButtons[by];
}

function go(by) {
  if (!canStep(by)) return;
  draft = step(by);
  notice("");
  build();
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select"); // which undo by themselves
  if (typing || !place || place.hidden || !(event.ctrlKey || event.metaKey)) return;
  const pressed = event.key.toLowerCase();
  const by = pressed === "y" || (pressed === "z" && event.shiftKey) ? 1 : pressed === "z" ? -1 : 0;
  if (!by) return;
  event.preventDefault();
  go(by);
});

function toolbar() {
  const list = [
    ...known.rotations.map((entry) => [`served ${entry.name}`, `${entry.name} (version ${entry.version})`]),
    ...known.starters.map((name) => [`starter ${name}`, `${name}, a file to start from`]),
  ];
  const chosen = el("select", { onchange: (event) => load(event.target.value) },
    options([["", "choose …"], ...list], ""));
  const file = el("input", { type: "file", accept: ".toml", onchange: () => openFile(file) });
  const name = el("input", {
    type: "text", value: draft.name, maxlength: 64, spellcheck: "false",
    oninput: () => { draft.name = name.value; remember(); },
  });
  return el("div", { class: "toolbar" },
    field("Open", chosen), field("or a TOML file", file), field("Name", name),
    el("div", { class: "row" }, stepButton(-1, "Undo", "Control+Z"), stepButton(1, "Redo", "Control+Shift+Z")),
    el("button", { type: "button", onclick: put }, "Put into service"));
}

async function load(what) {
  const [kind, ...rest] = what.split(" ");
  const name = rest.join(" ");
  if (!name) return;
  try {
    const found = kind === "served"
      ? structuredClone(known.rotations.find((entry) => entry.name === name).spec)
      : await get(`/studio/starters/${encodeURIComponent(name)}`);
    open(name, found);
    notice("");
    build();
  } catch (error) {
    notice(error.message, "wrong");
  }
}

async function openFile(input) {
  const [file] = input.files;
  if (!file) return;
  try {
    const found = await (await post("/studio/open", { text: await file.text() })).json();
    open(file.name.replace(/\.[^.]*$/, ""), found);
    notice("");
    build();
  } catch (error) {
    notice(error.message, "wrong");
  }
}

async function put() {
  if (!(await mayAsk())) {
    notice("Putting a rotation into service needs a key that writes: give it at the top of the page.", "wrong");
    return;
  }
  try {
    const path = `/v1/rotations/${encodeURIComponent(draft.name)}`;
    const { rules: said, groups: named, ...spec } = draft.spec; // left out where there are none
    if (said.length) spec.rules = said;
    if (Object.keys(named).length) spec.groups = named;
    const found = await (await post(path, spec, { method: "PUT" })).json();
    known = await get("/studio/rotations");
    notice(`${found.name} is in service, version ${found.version}.`, "good");
  } catch (error) {
    notice(error.message, "wrong");
  }
}

// Curves.

function curves() {
  const cards = draft.spec.arms.map((arm, at) => card(arm, at));
  return el("section", { "aria-labelledby": "curves-title" },
    el("h2", { id: "curves-title" }, "Curves"),
    el("p", { class: "hint" }, "What each arm pays, from 0 to 1. Drag a point, move it with the arrow keys, or type."),
    el("div", { class: "cards" }, cards),
    el("button", { type: "button", onclick: addArm }, "Add an arm"));
}

function card(arm, at) {
  const editor = curveEditor(arm, at, changed);
  const name = el("input", { type: "text", value: arm.name, maxlength: 200, "aria-label": `Name of arm ${at + 1}` });
  name.addEventListener("change", () => {
    const taken = draft.spec.arms.some((other) => other !== arm && other.name === name.value);
    if (!name.value || taken) {
      name.value = arm.name;
      return;
    }
    rename(arm, name.value);
    build();
  });
  const remove = el("button", {
    type: "button", class: "quiet", "aria-label": `Remove ${arm.name}`,
    disabled: draft.spec.arms.length < 2, onclick: () => removeArm(at),
  }, "Remove");
  return el("article", { class: "card" },
    el("div", { class: "head" }, el("span", { class: `swatch ${colour(at)}` }), name, remove), editor.node);
}

function addArm() {
  const taken = draft.spec.arms.map((arm) => arm.name);
  let number = taken.length + 1;
  while (taken.includes(`arm ${number}`)) number += 1;
  draft.spec.arms.push({ name: `arm ${number}`, rest: [0.3, 0.5, 0.6], streak: [0.2] });
  if (Array.isArray(draft.spec.initial)) draft.spec.initial.push(1);
  forgetPrior();
  build();
}

function removeArm(at) {
  const [gone] = draft.spec.arms.splice(at, 1);
  if (Array.isArray(draft.spec.initial)) draft.spec.initial.splice(at, 1);
  const { groups: all, rules: said } = draft.spec;
  for (const [name, arms] of Object.entries(all)) {
    all[name] = arms.filter((arm) => arm !== gone.name);
    if (!all[name].length) delete all[name];
  }
  const names = new Set([...draft.spec.arms.map((arm) => arm.name), ...Object.keys(all), "everyone"]);
  const kept = (who) => [who].flat().filter((name) => names.has(name));
  draft.spec.rules = said
    .map((rule) => ({ ...rule, who: kept(rule.who), ...(rule.whom ? { whom: kept(rule.whom) } : {}) }))
    .filter((rule) => rule.who.length && (!rule.whom || rule.whom.length));
  forgetPrior();
  build();
}

// The counts of a fit are by number of arm: they are no good for other arms.
function forgetPrior() {
  if (draft.spec.serve && typeof draft.spec.serve.prior === "object") delete draft.spec.serve.prior;
}

function rename(arm, name) {
  const swap = (who) => (Array.isArray(who) ? who.map(swap) : who === arm.name ? name : who);
  for (const rule of draft.spec.rules) {
    rule.who = swap(rule.who);
    if (rule.whom) rule.whom = swap(rule.whom);
  }
  for (const [group, arms] of Object.entries(draft.spec.groups)) draft.spec.groups[group] = arms.map(swap);
  arm.name = name;
}

// Rules. Their sentences and costs come with the plan.

let ruleList = null;
let editing = null; // the number of the rule in the form; -1 for a new one

function rules() {
  ruleList = el("ol", { class: "rules" });
  editing = null;
  const add = el("button", { type: "button", onclick: () => { editing = -1; drawRules(); } }, "Add a rule");
  drawRules();
  return el("section", { "aria-labelledby": "rules-title" }, el("h2", { id: "rules-title" }, "Rules"), ruleList, add);
}

let said = { rules: [], costs: [], conflicting: [] };

function told(news) {
  said = { ...said, ...news };
  if (editing === null) drawRules();
}

function drawRules() {
  const items = draft.spec.rules.map((rule, at) => (at === editing ? el("li", {}, form(rule, at)) : ruleItem(at)));
  if (editing === -1) items.push(el("li", {}, form(null, -1)));
  if (!items.length) items.push(el("li", { class: "empty" }, "No rules: the best schedule may do anything."));
  ruleList.replaceChildren(...items);
}

function ruleItem(at) {
  const sentence = said.rules[at] || "…";
  const conflicts = said.conflicting.includes(at);
  return el("li", { class: conflicts ? "conflicting" : "" },
    el("p", { class: "sentence" }, sentence),
    conflicts ? el("p", { class: "cost wrong" }, "cannot hold together with others: see the plan") : null,
    said.costs[at] && !conflicts ? el("p", { class: "cost" }, said.costs[at]) : null,
    el("span", { class: "row" },
      el("button", { type: "button", class: "quiet", "aria-label": `Change: ${sentence}`, onclick: () => { editing = at; drawRules(); } }, "Change"),
      el("button", { type: "button", class: "quiet", "aria-label": `Remove: ${sentence}`, onclick: () => {
        draft.spec.rules.splice(at, 1);
        said = { rules: said.rules.toSpliced(at, 1), costs: [], conflicting: [] };
        drawRules();
        changed();
      } }, "Remove")));
}

function form(rule, at) {
  const names = [...draft.spec.arms.map((arm) => arm.name), ...Object.keys(draft.spec.groups), "everyone"];
  const close = () => { editing = null; drawRules(); };
  return ruleForm(names, rule, (made) => {
    if (at < 0) draft.spec.rules.push(made);
    else draft.spec.rules[at] = made;
    close();
    changed();
  }, close);
}

// Groups, calendar and the rest.

function groups() {
  const body = el("div", { class: "groups" });
  const draw = () => {
    const names = draft.spec.arms.map((arm) => arm.name);
    const rows = Object.entries(draft.spec.groups).map(([name, arms]) => el("div", { class: "group" },
      picker(name, names, arms, () => arms.length && changed()),
      el("button", { type: "button", class: "quiet", "aria-label": `Remove the group ${name}`, onclick: () => {
        delete draft.spec.groups[name];
        draw();
        changed();
      } }, "Remove")));
    const fresh = el("input", { type: "text", maxlength: 200 });
    const add = el("button", { type: "button", onclick: () => {
      const taken = names.includes(fresh.value) || fresh.value in draft.spec.groups;
      if (!fresh.value || taken) return;
      draft.spec.groups[fresh.value] = [names[0]];
      draw();
      changed();
    } }, "Add a group");
    body.replaceChildren(...rows, el("div", { class: "row" }, field("A new group", fresh), add));
  };
  draw();
  return el("details", {}, el("summary", {}, "Groups of arms, for rules to speak of"), body);
}

function more() {
  return el("details", {}, el("summary", {}, "Calendar, plays and how it decides"),
    settingsForm(draft.spec, () => { panel.refresh(); changed(); }));
}
