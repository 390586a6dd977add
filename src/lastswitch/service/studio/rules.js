// Rules: a form in the order of their sentences, and the sentence as the library says it.

import { post } from "./api.js";
import { debounced, el, field, options } from "./dom.js";

const WORDS = [
  ["at_most", "… at most so many plays"],
  ["at_least", "… at least so many plays"],
  ["rest", "… each arm's plays so many rounds apart"],
  ["apart", "… any two plays so many rounds apart"],
  ["never_after", "… never right after …"],
  ["only", "… only on some days or rounds"],
  ["never", "… never on some days or rounds"],
  ["pinned", "… played on a day or in a round"],
];
const WINDOWS = [
  ["within", "in any so many rounds"],
  ["every", "in every period of so many rounds"],
  ["per", "in every day, week or month"],
];

// Boxes to tick, one per arm and group; ``chosen`` is changed in place.
export function picker(label, names, chosen, changed) {
  const boxes = names.map((name) => {
    const box = el("input", { type: "checkbox", checked: chosen.includes(name) });
    box.addEventListener("change", () => {
      const at = chosen.indexOf(name);
      if (at < 0) chosen.push(name);
      else chosen.splice(at, 1);
      changed();
    });
    return el("label", { class: "chip" }, box, el("span", {}, name));
  });
  return el("fieldset", { class: "picker" }, el("legend", {}, label), boxes);
}

export function ruleForm(names, given, done, cancel) {
  const start = given || { rule: "at_most", who: [], plays: 1, within: 7 };
  const state = {
    rule: start.rule,
    who: [start.who ?? []].flat().slice(),
    whom: [start.whom ?? []].flat().slice(),
    plays: start.plays ?? 1,
    window: ["within", "every", "per"].find((way) => start[way] !== undefined) || "within",
    span: start.within ?? start.every ?? 7,
    per: start.per ?? "week",
    rounds: start.rule === "rest" || start.rule === "apart" ? start.rounds ?? 3 : 3,
    way: start.when === undefined && (start.rounds ?? start.round) !== undefined ? "rounds" : "when",
    when: start.when ?? "sun",
    list: [start.rounds ?? start.round ?? 0].flat().join(", "),
    soft: start.cost !== undefined,
    cost: start.cost ?? 0.2,
    each: start.each ?? false,
    kept: start.name,
  };
  const sentence = el("output", { class: "sentence", "aria-live": "polite" });
  const blanks = el("div", { class: "blanks" });
  const ok = el("button", { type: "submit", class: "main" }, given ? "Change the rule" : "Add the rule");
  const form = el("form", { class: "ruleform", "aria-label": "A rule" },
    field("The rule says", el("select", { onchange: (event) => { state.rule = event.target.value; build(); } },
      options(WORDS, state.rule))),
    blanks,
    sentence,
    el("div", { class: "row" }, ok, el("button", { type: "button", onclick: cancel }, "Cancel")),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    done(written());
  });

  function written() {
    const one = (list) => (list.length === 1 ? list[0] : list.slice());
    const rule = { rule: state.rule, who: one(state.who) };
    const rounds = state.list.split(/[\s,;]+/).filter(Boolean).map(Number);
    if (state.rule === "at_most" || state.rule === "at_least") {
      rule.plays = state.plays;
      rule[state.window] = state.window === "per" ? state.per : state.span;
      if (state.each) rule.each = true;
    } else if (state.rule === "rest" || state.rule === "apart") rule.rounds = state.rounds;
    else if (state.rule === "never_after") rule.whom = one(state.whom);
    else if (state.way === "when") rule.when = state.when;
    else rule[state.rule === "pinned" ? "round" : "rounds"] = rounds;
    if (state.soft) rule.cost = state.cost;
    if (state.kept) rule.name = state.kept;
    return rule;
  }

  const say = debounced(async () => {
    const found = await post("/studio/rule", { rule: written() })
      .then((answer) => answer.json())
      .catch((error) => ({ wrong: error.message }));
    sentence.textContent = found.wrong || `“${found.sentence}”`;
    sentence.className = found.wrong ? "sentence wrong" : "sentence";
    ok.disabled = Boolean(found.wrong);
  }, 150);

  const counted = (name, least) => el("input", {
    type: "number", min: least, max: 1000, value: state[name],
    oninput: (event) => { state[name] = Number(event.target.value); say(); },
  });
  const text = (name, hint) => el("input", {
    type: "text", placeholder: hint, value: state[name],
    oninput: (event) => { state[name] = event.target.value; say(); },
  });
  const choice = (name, list) => el("select", {
    onchange: (event) => { state[name] = event.target.value; build(); },
  }, options(list, state[name]));

  function build() {
    const parts = [picker("Who", names, state.who, say)];
    if (state.rule === "at_most" || state.rule === "at_least") {
      parts.push(field(state.rule === "at_most" ? "at most, plays" : "at least, plays", counted("plays", 0)));
      parts.push(field("counted", choice("window", WINDOWS)));
      parts.push(state.window === "per"
        ? field("in every", choice("per", ["day", "week", "month"]))
        : field("rounds", counted("span", 1)));
      parts.push(tick("each", "each arm by itself"));
    } else if (state.rule === "rest" || state.rule === "apart") {
      parts.push(field("at least so many rounds apart", counted("rounds", 1)));
    } else if (state.rule === "never_after") {
      parts.push(picker("never right after", names, state.whom, say));
    } else {
      parts.push(field("said by", choice("way", [["when", "days and hours"], ["rounds", "numbers of rounds"]])));
      parts.push(state.way === "when"
        ? field("on", text("when", "sun, sat-sun, 2024-06-16, 22:00-06:00"))
        : field("in rounds, from 0", text("list", "6, 13")));
    }
    parts.push(tick("soft", "may be broken at a cost", build));
    if (state.soft) {
      parts.push(field("each time costs", el("input", {
        type: "number", min: 0.01, step: 0.01, value: state.cost,
        oninput: (event) => { state.cost = Number(event.target.value); say(); },
      })));
    }
    blanks.replaceChildren(...parts);
    say();
  }

  function tick(name, label, after = say) {
    const box = el("input", { type: "checkbox", checked: state[name] });
    box.addEventListener("change", () => { state[name] = box.checked; after(); });
    return el("label", { class: "chip alone" }, box, el("span", {}, label));
  }

  build();
  return form;
}
