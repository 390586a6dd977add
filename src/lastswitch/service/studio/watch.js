// Watch: decisions as they come, what is learned, and what that is worth against the holdout.

import { events, get, mayAsk } from "./api.js";
import { lineChart, stateChart } from "./charts.js";
import { colour, el, field, number, options } from "./dom.js";

const SHOWN = 60;
let going = null;
let chosen = "";

export function leave() {
  if (going) going.abort();
  going = null;
}

export async function show(place) {
  leave();
  const title = el("h1", { id: "watch-title" }, "Watch");
  if (!(await mayAsk())) {
    place.replaceChildren(title, el("p", { class: "empty" },
      "Watching needs a key: what people were shown is nobody else's business. Give one at the top of the page; ",
      "lastswitch serve prints the first, and lastswitch serve --new-key read makes more."));
    return;
  }
  let names;
  let learned;
  try {
    const found = await get("/v1/rotations");
    names = found.map((entry) => entry.name);
    learned = found.find((entry) => entry.decide === "learner");
  } catch (error) {
    place.replaceChildren(title, el("p", { class: "empty wrong" }, error.message));
    return;
  }
  if (!names.length) {
    place.replaceChildren(title, el("p", { class: "empty" }, "There is no rotation yet: make one under Edit, and put it into service."));
    return;
  }
  if (!names.includes(chosen)) chosen = learned ? learned.name : names[0];
  const figures = el("div", { class: "figures" });
  const feed = el("tbody", {}, el("tr", { class: "none" }, el("td", { colspan: 8 }, "Nothing yet: decisions appear here as they are made.")));
  const state = el("p", { class: "status", role: "status" });
  place.replaceChildren(title,
    el("div", { class: "toolbar" },
      field("Rotation", el("select", { onchange: (event) => { chosen = event.target.value; show(place); } }, options(names, chosen))),
      state),
    figures,
    el("section", { class: "card wide", "aria-labelledby": "feed-title" },
      el("h2", { id: "feed-title" }, "Decisions as they come"),
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Decisions" },
        el("table", {}, el("thead", {}, el("tr", {},
          ["Time", "Subject", "Round", "What", "Arms", "Found", "By", "Paid"].map((head) => el("th", { scope: "col" }, head)))), feed))));
  follow(chosen, figures, feed, state);
}

async function follow(name, figures, feed, state) {
  const mine = going = new AbortController();
  const path = `/v1/rotations/${encodeURIComponent(name)}`;
  let news = true;
  const refresh = async () => {
    if (mine.signal.aborted) return;
    if (news) {
      news = false;
      try {
        draw(figures, await get(`${path}/watch`));
      } catch (error) {
        state.textContent = error.message;
      }
    }
    setTimeout(refresh, 2000);
  };
  try {
    const first = await get(`${path}/watch`);
    draw(figures, first);
    news = false;
    setTimeout(refresh, 2000);
    state.textContent = "watching";
    for await (const line of events(`${path}/events?after=${Math.max(0, first.seq - SHOWN)}`, mine.signal)) {
      feed.querySelector(".none")?.remove();
      feed.prepend(row(line));
      while (feed.children.length > SHOWN) feed.lastChild.remove();
      news = true;
    }
    state.textContent = "the service ended; open the page again when it is back";
  } catch (error) {
    if (error.name !== "AbortError") state.textContent = error.message;
  }
}

const WHAT = { play: "played", reward: "paid", offer: "offered", cancel: "cancelled", lapse: "lapsed" };

function row(line) {
  const time = new Date(1000 * line.at).toLocaleTimeString([], { hour12: false });
  const found = line.taus.map((tau) => (tau < 0 ? `${-tau}× in a row` : `${tau} of rest`)).join(", ");
  const paid = line.reward === null ? "" : line.reward.map((value) => number(value)).join(", ");
  return el("tr", { class: line.kind },
    [time, line.subject, String(line.round), WHAT[line.kind] || line.kind, line.arms.join(", ") || "silence", found, line.by,
      line.told === false ? `${paid} (booked: it never came)` : paid].map((text) => el("td", {}, text)));
}

function draw(place, view) {
  const learned = view.beliefs.length ? beliefs(view) : null;
  place.replaceChildren(...[gain(view), series(view), shares(view), punctual(view), due(view)], learned ?? "");
}

function card(title, ...content) {
  return el("section", { class: "card" }, el("h2", {}, title), content);
}

function seconds(value) {
  if (value === null) return "–";
  for (const [unit, many] of [["d", 86400], ["h", 3600], ["min", 60]]) if (value >= 2 * many) return `${Math.round(value / many)} ${unit}`;
  return `${number(value, 2)} s`;
}

function spread(found) {
  if (found.mean === null) return "nothing yet";
  if (found.low === null) return number(found.mean);
  return `${number(found.mean)} (${number(found.low)} to ${number(found.high)})`;
}

function gain(view) {
  const { policy, holdout, difference, level, paired } = view.gain;
  const facts = [["Decided", spread(policy)], ["Holdout", spread(holdout)],
    ["At most, a round", view.bound === null ? "–" : number(view.bound)]];
  let words = "No holdout has been paid yet: set one (holdout = 0.1) to know what deciding is worth.";
  if (difference) {
    const sure = difference.low > 0 || difference.high < 0;
    const more = difference.mean >= 0 ? "more" : "less";
    words = `Deciding earns ${number(Math.abs(difference.mean), 2)} a round ${more} than the holdout `
      + `(${number(difference.low, 2)} to ${number(difference.high, 2)})${sure ? "." : ": not sure yet."}`;
  } else if (holdout.subjects) words = "Too few subjects on one side to say how sure a difference is.";
  return card("Worth, against the holdout",
    el("p", { class: "headline" }, words),
    el("dl", { class: "facts" }, facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
    el("p", { class: "hint" }, `Reward a round, means of ${policy.subjects} and ${holdout.subjects} subjects; `
      + `${100 * level} % intervals over subjects${paired ? ", each against itself" : ""}. `
      + `From the latest ${view.lines} lines of the journal.`));
}

function series(view) {
  if (!view.series.length) return card("Reward a round", el("p", { class: "empty" }, "No rewards yet."));
  const places = view.series.map((part) => (part.first === part.last ? `round ${part.first}` : `rounds ${part.first}–${part.last}`));
  const lines = [
    { look: "c0", values: view.series.map((part) => part.policy) },
    { look: "c1 dashed", values: view.series.map((part) => part.holdout) },
  ];
  const level = view.decide === "learner" && view.bound !== null ? view.bound : null;
  return card("Reward a round",
    lineChart("Reward a round, decided and held out", places, lines, level),
    el("p", { class: "legend" }, el("span", { class: "key c0" }, "decided"), el("span", { class: "key c1 dashed" }, "holdout"),
      level === null ? null : el("span", { class: "key bound" }, "the bound")));
}

function shares(view) {
  const top = Math.max(0.01, ...view.shares.map((entry) => entry.share));
  const rows = view.shares.map((entry) => {
    const bar = el("span", { class: `bar ${colour(view.arms.indexOf(entry.arm))}` });
    bar.style.width = `${(100 * entry.share) / top}%`;
    return el("li", {}, el("span", { class: "name" }, entry.arm + (entry.active ? "" : " (retired)")),
      el("span", { class: "track" }, bar), el("span", { class: "share" }, `${number(100 * entry.share, 2)} %`));
  });
  return card("Shares of the arms", el("ul", { class: "bars" }, rows));
}

function punctual(view) {
  const found = view.rewards;
  const facts = [
    ["told", String(found.told)], ["still out", String(found.out)], ["never came", String(found.missing)],
    ["half come within", seconds(found.median)], ["nine in ten within", seconds(found.slow)],
    ["out longest", seconds(found.oldest)],
  ];
  return card("Late and missing rewards",
    el("dl", { class: "facts" }, facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))));
}

function due(view) {
  const { due: found } = view;
  if (!found.subjects) return card("Who is due", el("p", { class: "empty" }, "No subjects yet."));
  if (found.count === null) {
    return card("Who is due", el("p", {}, `${found.subjects} subjects. `,
      found.round === null ? "Without a calendar a subject's next round is whenever it is asked." : ""));
  }
  const more = found.count - found.names.length;
  return card("Who is due",
    el("p", {}, `${found.count} of ${found.subjects} subjects have not been asked in round ${found.round}, the present one.`),
    found.names.length ? el("p", { class: "names" }, found.names.join(", ") + (more > 0 ? ` and ${more} more` : "")) : null);
}

function beliefs(view) {
  const charts = view.beliefs.map((entry) => el("figure", {},
    el("figcaption", {}, el("span", { class: `swatch ${colour(entry.number)}` }), entry.arm),
    entry.states.length
      ? stateChart(`What is believed of ${entry.arm}`, entry.number, entry.states)
      : el("p", { class: "empty" }, "not played yet")));
  return el("section", { class: "card wide" }, el("h2", {}, "What is believed"),
    el("p", { class: "hint" }, "By state: times played in a row on the left, rounds of rest on the right. ",
      "Dots are what was seen, lines how sure that is (95 %), bars what the learner hopes for when it plans."),
    el("div", { class: "cards" }, charts));
}
