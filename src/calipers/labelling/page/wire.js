// Talks to the server that the page came from.

/** An answer that is an error; `status` is HTTP's, 0 if there was no answer. */
export class Refused extends Error {
  constructor(message, status, body = {}) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

/** @param {"next" | "previous"} what @param {string | null} token */
export function fetchGroup(what, token) {
  return ask(token === null ? what : `${what}?token=${encodeURIComponent(token)}`);
}

/** @param {"label" | "undo"} what @param {Record<string, unknown>} body */
export function send(what, body) {
  return ask(what, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function ask(path, options = {}) {
  let reply;
  try {
    reply = await fetch(path, options);
  } catch {
    throw new Refused("the server does not answer", 0);
  }
  const text = await reply.text();
  let body = null;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Refused(text.trim() || `the server answered ${reply.status}`, reply.status);
  }
  if (!reply.ok) throw new Refused(body.error ?? `the server answered ${reply.status}`, reply.status, body);
  return body;
}
