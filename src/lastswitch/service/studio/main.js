// The page: which part is shown, and the key.

import { key, useKey } from "./api.js";
import * as edit from "./edit.js";
import * as tryIt from "./try.js";
import * as watch from "./watch.js";
import { notice } from "./dom.js";

const PAGES = { edit: edit.show, watch: watch.show, try: tryIt.show };

function takeKey() {
  // A link may bring the key behind its #, which no server sees; it is not left in the address.
  const found = /[#&]key=([^&]+)/.exec(location.hash);
  if (!found) return;
  useKey(decodeURIComponent(found[1]));
  history.replaceState(null, "", location.pathname);
}

async function route() {
  takeKey();
  const name = location.hash.slice(1);
  const page = name in PAGES ? name : "edit";
  if (name === "main") return;
  watch.leave();
  notice("");
  for (const other of Object.keys(PAGES)) document.getElementById(other).hidden = other !== page;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${page}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${{ edit: "Edit", watch: "Watch", try: "Try it" }[page]} · lastswitch studio`;
  await PAGES[page](document.getElementById(page));
}

const field = document.getElementById("key");
document.getElementById("keyform").addEventListener("submit", (event) => {
  event.preventDefault();
  useKey(field.value.trim());
  edit.forget();
  route();
});
window.addEventListener("hashchange", route);
takeKey();
field.value = key();
route();
