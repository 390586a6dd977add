// A plan as a calendar: weeks of days, days of hours, or numbered rounds.

import { colour, el } from "./dom.js";

const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

export function calendarOf(plan) {
  if (!plan.rounds.length) return el("p", {}, "no rounds");
  return plan.rounds[0].day ? weeks(plan) : numbered(plan);
}

function played(plan, round) {
  if (!round.arms.length) return [el("span", { class: "silent" }, "silence")];
  return round.arms.map((arm) => el(
    "span",
    { class: `play ${colour(arm)}`, title: plan.names[arm] },
    plan.names[arm],
    (round.pinned || []).includes(arm) ? el("span", { class: "pin" }, "pinned") : null,
  ));
}

function numbered(plan) {
  const cells = plan.rounds.map((round) => el(
    "li", { class: "cell" }, el("span", { class: "when" }, `round ${round.round + 1}`), played(plan, round),
  ));
  return el("ol", { class: "calendar rounds" }, cells);
}

function weeks(plan) {
  const days = new Map();
  for (const round of plan.rounds) {
    if (!days.has(round.day)) days.set(round.day, []);
    days.get(round.day).push(round);
  }
  const cells = [...days].map(([day, rounds], at) => {
    const date = new Date(`${day}T12:00:00Z`);
    const column = (date.getUTCDay() + 6) % 7;
    const month = at === 0 || date.getUTCDate() === 1;
    const label = `${date.getUTCDate()}${month ? ` ${MONTHS[date.getUTCMonth()]}` : ""}`;
    return el(
      "li", { class: `cell day${column}` },
      el("span", { class: "when" }, el("span", { class: "weekday" }, DAYS[column]), ` ${label}`),
      rounds.map((round) => (round.time
        ? el("span", { class: "hour" }, el("span", { class: "clock" }, round.time), played(plan, round))
        : played(plan, round))),
    );
  });
  if (plan.rounds[0].time) return el("ol", { class: "calendar hours" }, cells);
  const heads = DAYS.map((day) => el("span", {}, day));
  return el("div", {}, el("div", { class: "heads", "aria-hidden": "true" }, heads), el("ol", { class: "calendar" }, cells));
}
