// Tables: a cell is a text, or an object with a text and a class or a link. Texts are never parsed as HTML.

export const byId = (id) => document.getElementById(id);

export const number = (value) => ({ text: value === null ? null : value.toLocaleString("en-US"), kind: "number" });
export const size = (bytes) => ({ text: bytes === null ? null : sizeText(bytes), kind: "number" });
export const id = (value) => ({ text: value, kind: "number" });
export const bad = (text) => ({ text, kind: "bad" });
export const good = (text) => ({ text, kind: "good" });
export const link = (kind, name, text = name) => ({ text, link: `#${kind}/${encodeURIComponent(name)}` });
export const list = (values) => (values === null ? null : values.join(", ") || "none");
export const time = (text) => ({ text, kind: "time" });
export const clock = (date) => date.toLocaleTimeString([], { hour12: false });

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

function sizeText(bytes) {
  const unit = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), UNITS.length - 1);
  return `${(bytes / 1024 ** unit).toFixed(unit === 0 ? 0 : 1)} ${UNITS[unit]}`;
}

function element(name, cell) {
  const made = document.createElement(name);
  const { text, kind, link } = typeof cell === "object" && cell !== null ? cell : { text: cell };
  made.className = kind ?? "";
  if (link === undefined) {
    made.append(...breakable(text));
  } else {
    const anchor = document.createElement("a");
    anchor.href = link;
    anchor.append(...breakable(text));
    made.append(anchor);
  }
  return made;
}

// Lets long names break between their words and values, rather than anywhere. Numbers and addresses stay whole.
function breakable(text) {
  const parts = `${text ?? "-"}`.split(/(?<=[\p{L}\d][._])(?=\p{L})|(?<=,)(?=\S)|(?=:\d{4,}$)/u);
  return parts.flatMap((part, index) => (index === 0 ? [part] : [document.createElement("wbr"), part]));
}

function row(name, cells) {
  const made = document.createElement("tr");
  made.append(...cells.map((cell) => element(name, cell)));
  return made;
}

// Fills a table of the page. A table without rows is hidden, and its sentence `ID-empty` shown.
export function fill(name, lines, total = lines.length) {
  const body = byId(name).tBodies[0];
  const focused = document.activeElement?.closest?.(`#${CSS.escape(name)} a`)?.getAttribute("href");
  body.replaceChildren(...lines.map((cells) => row("td", cells)));
  // A refresh must not take the focus from a link that the keyboard has reached.
  if (focused) [...body.querySelectorAll("a")].find((each) => each.getAttribute("href") === focused)?.focus();
  byId(name).hidden = lines.length === 0;
  const empty = byId(`${name}-empty`);
  if (empty !== null) empty.hidden = lines.length !== 0;
  const count = byId(`${name}-count`);
  if (count !== null) count.textContent = total.toLocaleString("en-US");
}

// Makes a table with a heading, for the details of a thing.
export function section(title, headings, lines, empty) {
  const made = document.createElement("section");
  made.append(element("h3", title));
  made.append(lines.length === 0 ? element("p", { text: empty, kind: "empty" }) : table(headings, lines));
  return made;
}

// Makes a table that is hidden behind its title until a click.
export function folded(title, headings, lines) {
  const made = document.createElement("details");
  made.append(element("summary", title), table(headings, lines));
  return made;
}

function table(headings, lines) {
  const table = document.createElement("table");
  const head = document.createElement("thead");
  head.append(row("th", headings));
  const body = document.createElement("tbody");
  body.append(...lines.map((cells) => row("td", cells)));
  table.append(head, body);
  return table;
}

// Makes a list of names and values.
export function facts(pairs) {
  const made = document.createElement("dl");
  for (const [name, value] of pairs) made.append(element("dt", name), element("dd", value));
  return made;
}
