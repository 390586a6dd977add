// Talking to the service. What it refuses becomes an error in the service's own words.

const KEPT = "lastswitch-key";

export class Refused extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export function key() {
  return sessionStorage.getItem(KEPT) || "";
}

export function useKey(given) {
  if (given) sessionStorage.setItem(KEPT, given);
  else sessionStorage.removeItem(KEPT);
}

function headers(more = {}) {
  return key() ? { authorization: `Bearer ${key()}`, ...more } : more;
}

async function send(path, settings = {}) {
  let found;
  try {
    found = await fetch(path, { credentials: "omit", cache: "no-store", ...settings });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "the service does not answer; is it still running?");
  }
  if (!found.ok) {
    const problem = await found.json().catch(() => ({}));
    throw new Refused(found.status, problem.detail || `the service answered ${found.status}.`);
  }
  return found;
}

export async function get(path) {
  return (await send(path, { headers: headers() })).json();
}

export async function text(path) {
  return (await send(path, { headers: headers() })).text();
}

// Whether to ask at all: there is a key, or the service asks for none.
export async function mayAsk() {
  return Boolean(key()) || (await get("/health")).keys === false;
}

export async function post(path, body, settings = {}) {
  const type = { "content-type": settings.type || "application/json" };
  const content = settings.type ? body : JSON.stringify(body);
  return send(path, {
    method: settings.method || "POST",
    headers: headers(type),
    body: content,
    signal: settings.signal,
  });
}

// Server-sent events, read by hand because an EventSource cannot carry a key.
export async function* events(path, signal) {
  const found = await send(path, { headers: headers(), signal });
  const reader = found.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const parts = text.split("\n\n");
    text = parts.pop();
    for (const part of parts) {
      const data = part.split("\n").filter((line) => line.startsWith("data: "));
      if (data.length) yield JSON.parse(data.map((line) => line.slice(6)).join("\n"));
    }
  }
}
