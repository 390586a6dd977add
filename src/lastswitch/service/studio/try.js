// Try it: a log goes in, curves come out, and a rotation if one likes them.

import { post, text } from "./api.js";
import { stateChart } from "./charts.js";
import { open } from "./edit.js";
import { colour, el, field, notice, save } from "./dom.js";

let content = null;

export function show(place) {
  if (place.childElementCount) return;
  const columns = Object.fromEntries(["subject", "time", "arm", "reward"].map((name) =>
    [name, el("input", { type: "text", value: name, spellcheck: "false" })]));
  const every = el("input", { type: "text", placeholder: "an event, or 1d, 12h …" });
  const file = el("input", { type: "file", accept: ".csv,text/csv" });
  const example = el("button", { type: "button", onclick: async () => {
    await run(await text("/studio/example"));
  } }, "or take an example");
  const button = el("button", { type: "submit", class: "main" }, "Fit curves");
  const results = el("div", { class: "fit", "aria-live": "polite" });
  const form = el("form", { class: "card" },
    el("div", { class: "row" }, field("A log, as CSV", file), example),
    el("fieldset", {}, el("legend", {}, "Its columns"), el("div", { class: "row" },
      field("who", columns.subject), field("when", columns.time), field("what was played", columns.arm), field("what it paid", columns.reward))),
    field("A round lasts", every),
    button);
  place.replaceChildren(el("h1", { id: "try-title" }, "Try it"),
    el("p", { class: "hint" }, "Bring a log of what was played and what it paid. The service fits curves to it, and keeps nothing of it."),
    form, results);

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const [chosen] = file.files;
    if (chosen) await run(await chosen.text());
    else if (content !== null) await run(content);
    else notice("Choose a CSV file first, or take the example.", "wrong");
  });

  function path(more = {}) {
    const asked = new URLSearchParams(more);
    for (const [name, input] of Object.entries(columns)) asked.set(name, input.value.trim());
    if (every.value.trim()) asked.set("every", every.value.trim());
    return `/studio/fit?${asked}`;
  }

  async function run(log) {
    content = log;
    button.disabled = true;
    results.replaceChildren(el("p", { class: "status" }, "fitting …"));
    try {
      const found = await (await post(path(), content, { type: "text/csv" })).json();
      notice("");
      results.replaceChildren(...report(found));
    } catch (error) {
      results.replaceChildren(el("p", { class: "conflict", role: "alert" }, error.message));
    }
    button.disabled = false;
  }

  function report(found) {
    const make = el("button", { type: "button", class: "main", onclick: () => {
      open("from-a-log", found.spec);
      location.hash = "#edit";
    } }, "Make a rotation of it");
    const page = el("button", { type: "button", onclick: async () => {
      page.disabled = true;
      try {
        save(await (await post(path({ page: "true" }), content, { type: "text/csv" })).blob(), "fit.html");
      } catch (error) {
        notice(error.message, "wrong");
      }
      page.disabled = false;
    } }, "Download the fit as a page");
    return [
      el("p", { class: "headline" }, found.summary),
      el("div", { class: "row" }, make, page),
      found.notices.length ? el("ul", { class: "odd" }, found.notices.map((line) => el("li", {}, line))) : null,
      el("div", { class: "cards" }, found.arms.map((entry, at) => armReport(entry, at))),
      el("p", { class: "hint" }, found.caution),
    ].filter(Boolean);
  }
}

function armReport(entry, at) {
  return el("article", { class: "card" },
    el("h2", {}, el("span", { class: `swatch ${colour(at)}` }), entry.arm),
    entry.states.length
      ? stateChart(`What ${entry.arm} paid, by state`, at, entry.states.filter((state) => Math.abs(state.tau) <= 20))
      : null,
    el("ul", { class: "words" }, entry.findings.map((found) => el("li", {}, found.words))));
}
