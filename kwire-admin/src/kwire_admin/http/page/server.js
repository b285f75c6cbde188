// Requests to the server: rows of verbs, and the stream of changes.

export class NotAuthorized extends Error {}

let token = sessionStorage.getItem("token");
let lastEventId = null;

export const hasToken = () => token !== null;

export function setToken(text) {
  token = text;
  if (text === null) sessionStorage.removeItem("token");
  else sessionStorage.setItem("token", text);
}

async function request(path, headers = {}) {
  const authorization = token === null ? {} : { Authorization: `Bearer ${token}` };
  const response = await fetch(`/api/v1/${path}`, { headers: { ...headers, ...authorization } });
  if (response.status === 401) throw new NotAuthorized();
  return response;
}

// Returns the rows of a verb that reads, without the items that failed, and their number on all pages.
export async function read(verb, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const each of Array.isArray(value) ? value : [value]) query.append(name, each);
  }
  const response = await request(`${verb}?${query}`);
  const body = await response.json();
  if (!response.ok) throw Object.assign(new Error(body.detail), { name: body.name, status: response.status });
  return { rows: body.rows.filter((row) => row.error === undefined), total: body.total ?? body.rows.length };
}

// Calls `take` with the name and data of each change until the server closes the stream. EventSource cannot send
// headers, and a token must not be in an address.
export async function follow(take) {
  const response = await request("events", lastEventId === null ? {} : { "Last-Event-ID": lastEventId });
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const messages = text.split("\n\n");
    text = messages.pop();
    for (const message of messages) {
      const fields = new Map(
        message.split("\n").map((line) => [line.split(": ", 1)[0], line.slice(line.indexOf(": ") + 2)]),
      );
      if (!fields.has("data")) continue;
      lastEventId = fields.get("id") ?? lastEventId;
      take(fields.get("event"), JSON.parse(fields.get("data")));
    }
  }
}
