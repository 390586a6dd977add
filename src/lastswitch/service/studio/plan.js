// The plan beside the editor: made again as one edits, with its certificate and its files.

import { post } from "./api.js";
import { calendarOf } from "./calendar.js";
import { debounced, el, field, notice, number, save, set } from "./dom.js";

export function planPanel(draft, told) {
  let length = 28;
  let cycle = false;
  let begin = "";
  let going = null;

  const rounds = el("input", { type: "number", min: 1, max: 366, value: length, oninput: () => {
    if (rounds.valueAsNumber >= 1) { length = Math.min(366, Math.round(rounds.valueAsNumber)); replan(); }
  } });
  const kind = el("select", { onchange: () => { cycle = kind.value === "cycle"; replan(); } },
    el("option", { value: "rounds" }, "the coming rounds"), el("option", { value: "cycle" }, "a cycle to repeat"));
  const from = el("input", { type: "date", onchange: () => { begin = from.value; replan(); } });
  const fromField = field("From", from);
  const proof = el("div", { class: "proof" });
  const shown = el("div", { class: "shown" });
  const files = el("div", { class: "row files" },
    el("span", {}, "Download"),
    ["toml", "csv", "ics"].map((form) => el("button", { type: "button", onclick: () => download(form) }, form.toUpperCase())));
  const node = el("aside", { class: "right", "aria-labelledby": "plan-title" },
    el("h2", { id: "plan-title" }, "Plan"),
    el("div", { class: "row" }, field("Plan", kind), field("Rounds", rounds, { class: "field short" }), fromField),
    proof, files, shown);
  // On a narrow screen the plan is below the editor: how it is doing stays in sight.
  const glance = el("button", { type: "button", class: "glance", onclick: () => node.scrollIntoView() });
  node.append(glance);

  function body() {
    const first = draft.spec.calendar ? begin || null : null;
    return { spec: draft.spec, length, cycle, begin: first, name: draft.name || "rotation" };
  }

  function refresh() {
    const start = (draft.spec.calendar || {}).start;
    fromField.hidden = !start;
    if (start && !begin) from.value = String(start).slice(0, 10);
  }

  function replan() {
    set(node, { "aria-busy": "true" });
    planSoon();
  }

  const planSoon = debounced(async () => {
    if (going) going.abort();
    const mine = going = new AbortController();
    try {
      const asked = body();
      const plan = await (await post("/studio/plan", asked, { signal: mine.signal })).json();
      draw(plan);
      told({ ...(plan.rules && { rules: plan.rules }), conflicting: plan.conflicting || [], costs: [] });
      if (plan.rounds) {
        const found = await (await post("/studio/explain", asked, { signal: mine.signal })).json();
        told({ costs: found.costs });
        odd(found.odd);
      }
    } catch (error) {
      if (error.name === "AbortError") return;
      problem(error.message);
    }
    if (going === mine) set(node, { "aria-busy": null });
  }, 250);

  function draw(plan) {
    if (plan.wrong) {
      problem(plan.wrong);
      return;
    }
    if (plan.conflict) {
      problem(plan.conflict, "These rules cannot hold together");
      return;
    }
    glance.textContent = plan.headline;
    const share = plan.bound > 0 ? Math.max(0, Math.min(1, plan.value / plan.bound)) : 1;
    const gap = plan.optimal ? "none, proven" : `at most ${number(100 * plan.gap, 2)} %`;
    proof.replaceChildren(
      el("p", { class: "headline" }, plan.headline),
      el("dl", { class: "facts" },
        fact("worth", number(plan.value, 4)), fact("a round", number(plan.per_round, 3)),
        fact("possible at most", number(plan.bound, 4)), fact("gap", gap)),
      el("meter", { min: 0, max: 1, value: share, "aria-label": "Worth as a share of the most possible" }),
    );
    proof.hidden = false;
    shown.replaceChildren(
      calendarOf(plan),
      el("ul", { class: "words" }, plan.words.map((line) => el("li", {}, line))),
    );
    files.hidden = false;
  }

  function odd(sentences) {
    if (!sentences.length) return;
    shown.append(el("div", { class: "odd" }, el("h3", {}, "Worth a second look"),
      el("ul", {}, sentences.map((line) => el("li", {}, line)))));
  }

  function problem(text, title = "This cannot be planned") {
    const [first, ...rest] = text.split("\n");
    glance.textContent = title;
    proof.hidden = true;
    files.hidden = true;
    shown.replaceChildren(el("div", { class: "conflict", role: "alert" },
      el("h3", {}, title), el("p", {}, first),
      rest.length ? el("ul", {}, rest.map((line) => el("li", {}, line.trim()))) : null));
  }

  async function download(form) {
    try {
      const found = await post(`/studio/file?form=${form}`, body());
      save(await found.blob(), `${draft.name || "rotation"}.${form}`);
      notice("");
    } catch (error) {
      notice(error.message, "wrong");
    }
  }

  refresh();
  return { node, replan, refresh };
}

function fact(name, value) {
  return el("div", {}, el("dt", {}, name), el("dd", {}, value));
}
