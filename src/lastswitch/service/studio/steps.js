// Steps of editing: back and forth again, and the last one kept while the tab is open.

const KEPT = "lastswitch draft";
const MOST = 200;
const TOGETHER = 700; // milliseconds between two changes that are one step: a drag, say

let steps = [];
let at = 0;
let noted = 0;

export function begin(draft, edited = false) {
  steps = [JSON.stringify(draft)];
  at = 0;
  noted = 0;
  keep(edited ? steps[0] : null);
}

export function note(draft) {
  const text = JSON.stringify(draft);
  if (text === steps[at]) return;
  const now = performance.now();
  const goesOn = now - noted < TOGETHER && at > 0 && at === steps.length - 1;
  steps = [...steps.slice(0, goesOn ? at : at + 1), text].slice(-MOST);
  at = steps.length - 1;
  noted = now;
  keep(text);
}

export const canStep = (by) => at + by >= 0 && at + by < steps.length;

export function step(by) {
  at += by;
  noted = 0;
  keep(steps[at]);
  return JSON.parse(steps[at]);
}

// A draft of before the page was loaded again, if it was edited.
export function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT));
  } catch {
    return null; // no storage, or nothing that can be read
  }
}

function keep(text) {
  try {
    if (text === null) sessionStorage.removeItem(KEPT);
    else sessionStorage.setItem(KEPT, text);
  } catch {
    // A browser without storage keeps nothing, and edits all the same.
  }
}
