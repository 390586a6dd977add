// Elements from values. Text is always a text node, so no name can become markup.

const SVG = "http://www.w3.org/2000/svg";

export function el(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(node, props, children) {
  set(node, props);
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

export function set(node, props) {
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value") node.value = value;
    else if (value === false || value === null || value === undefined) node.removeAttribute(name);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  return node;
}

export function field(label, input, more = {}) {
  return el("label", { class: "field", ...more }, el("span", {}, label), input);
}

export function options(list, chosen) {
  return list.map((entry) => {
    const [value, label] = Array.isArray(entry) ? entry : [entry, entry];
    return el("option", { value, selected: value === chosen }, label);
  });
}

export function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  return String(Number(value.toPrecision(digits)));
}

export function colour(arm) {
  return `c${arm % 8}${arm >= 8 ? " again" : ""}`;
}

export function debounced(work, wait) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), wait);
  };
}

export function notice(text, kind = "") {
  const place = document.getElementById("notice");
  place.textContent = text;
  place.className = `notice ${kind}`;
  place.hidden = !text;
}

export function save(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
