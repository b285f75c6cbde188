// Shows a cluster live: fetches the verbs, and again whenever an event reports a change.
"use strict";

const SHOWN_TOPICS = 200;
const SHOWN_CHANGES = 200;
const SHOWN_NAMES = 3; // of the partitions of an incident
const REFRESH_MS = 10000;
const SETTLE_MS = 300; // several brokers report the same change

const byId = (id) => document.getElementById(id);
let token = sessionStorage.getItem("token");
let topics = [];
let unreachable = new Map();
const problemsSince = new Map();
let lastEventId = null;

class NotAuthorized extends Error {}

function headers() {
  return token === null ? {} : { Authorization: `Bearer ${token}` };
}

async function rows(path) {
  const response = await fetch(`/api/v1/${path}`, { headers: headers() });
  if (response.status === 401) throw new NotAuthorized();
  const body = await response.json();
  if (body.rows === undefined) throw new Error(body.error.message);
  return body.rows;
}

function fill(id, lines) {
  const body = byId(id).tBodies[0];
  body.replaceChildren(
    ...lines.map((cells) => {
      const row = document.createElement("tr");
      row.append(
        ...cells.map((cell) => {
          const field = document.createElement("td");
          const { text, kind } = typeof cell === "object" && cell !== null ? cell : { text: cell, kind: "" };
          field.textContent = text ?? "-";
          field.className = kind ?? "";
          return field;
        }),
      );
      return row;
    }),
  );
  byId(id).hidden = lines.length === 0;
  const empty = byId(`${id}-empty`);
  if (empty !== null) empty.hidden = lines.length !== 0;
  const count = byId(`${id}-count`);
  if (count !== null) count.textContent = lines.length;
}

const list = (ids) => (ids === null ? null : ids.join(", "));
const number = (value) => ({ text: value, kind: "number" });
const clock = (date) => date.toLocaleTimeString([], { hour12: false });

async function showCluster() {
  const [cluster] = await rows("cluster/describe");
  byId("cluster-id").textContent = cluster.cluster_id ?? "";
  document.title = `kwire ${cluster.cluster_id ?? ""}`;
  const silent = new Set([...unreachable.values()].map((each) => each.broker_id));
  const listed = cluster.brokers.map((each) => [
    number(each.broker),
    `${each.host}:${each.port}`,
    each.rack,
    silent.has(each.broker)
      ? { text: "does not respond", kind: "bad" }
      : { text: each.controller && cluster.dialect === "kip4" ? "controller" : "live", kind: "good" },
  ]);
  const known = new Set(cluster.brokers.map((each) => each.broker));
  const lost = [...unreachable.values()]
    .filter((each) => each.broker_id >= 0 && !known.has(each.broker_id))
    .map((each) => [number(each.broker_id), each.endpoint, null, { text: "does not respond", kind: "bad" }]);
  fill("brokers", [...listed, ...lost]);
}

// A broker that stops leaves thousands of partitions under-replicated for the same reason, which is one incident.
function groupProblems(found) {
  const groups = new Map();
  for (const each of found) {
    const key = `${each.problem} ${each.details}`;
    if (!groups.has(key)) groups.set(key, { problem: each.problem, details: each.details, names: [] });
    groups.get(key).names.push(each.partition === null ? each.name : `${each.name}-${each.partition}`);
  }
  return [...groups.values()].map((each) => ({ ...each, where: summary(each.names) }));
}

function summary(names) {
  const more = names.length - SHOWN_NAMES;
  return names.slice(0, SHOWN_NAMES).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

const keyOf = (problem) => `${problem.problem} ${problem.details}`;

async function showIncidents() {
  const problems = groupProblems(await rows("cluster/health"));
  for (const each of unreachable.values()) {
    problems.push({ problem: "broker-unreachable", where: each.endpoint, details: each.text, since: new Date(each.at) });
  }
  const keys = new Set(problems.map(keyOf));
  for (const key of problemsSince.keys()) if (!keys.has(key)) problemsSince.delete(key);
  for (const each of problems) {
    const key = keyOf(each);
    if (!problemsSince.has(key)) problemsSince.set(key, each.since ?? new Date());
    each.since = problemsSince.get(key);
  }
  problems.sort((one, other) => one.since - other.since);
  fill(
    "incidents",
    problems.map((each) => [clock(each.since), { text: each.problem, kind: "bad" }, each.where, each.details]),
  );
}

async function showReassignments() {
  const moves = (await rows("reassign-partitions/status")).filter((each) => each.error === undefined);
  fill(
    "reassignments",
    moves.map((each) => [
      `${each.name}-${each.partition}`,
      each.status,
      list(each.replicas),
      list(each.adding),
      list(each.removing),
    ]),
  );
}

async function showTopics() {
  topics = (await rows("topics/list")).filter((each) => each.error === undefined);
  filterTopics();
}

function filterTopics() {
  const wanted = byId("topics-filter").value.toLowerCase();
  const matching = topics.filter((each) => each.name.toLowerCase().includes(wanted));
  fill(
    "topics",
    matching.slice(0, SHOWN_TOPICS).map((each) => [
      each.name,
      number(each.partitions),
      number(each.replication_factor),
    ]),
  );
  byId("topics-count").textContent = matching.length;
  byId("topics-more").hidden = matching.length <= SHOWN_TOPICS;
  byId("topics-more").textContent = `The first ${SHOWN_TOPICS} of ${matching.length} are shown.`;
}

function showChange(data) {
  const same = [...byId("changes").children]
    .slice(0, 50)
    .find((each) => each.dataset.text === data.text && !each.dataset.brokers.split(" ").includes(`${data.broker_id}`));
  if (same !== undefined) {
    same.dataset.brokers += ` ${data.broker_id}`;
    return;
  }
  const item = document.createElement("li");
  const when = document.createElement("time");
  when.dateTime = data.at;
  when.textContent = clock(new Date(data.at));
  item.append(when, data.text);
  item.dataset.text = data.text;
  item.dataset.brokers = data.broker_id;
  byId("changes").prepend(item);
  while (byId("changes").children.length > SHOWN_CHANGES) byId("changes").lastChild.remove();
}

let refreshing = null;
let settled = null;

function refreshSoon() {
  clearTimeout(settled);
  settled = setTimeout(refresh, SETTLE_MS);
}

async function refresh() {
  if (refreshing !== null) return refreshing;
  refreshing = (async () => {
    const parts = [showCluster(), showIncidents(), showReassignments(), showTopics()];
    const failures = (await Promise.allSettled(parts)).filter((each) => each.status === "rejected");
    refreshing = null;
    if (failures.some((each) => each.reason instanceof NotAuthorized)) signIn("The token is unknown.");
    else if (failures.length > 0) showConnection(failures[0].reason.message, true);
    else showConnection("live");
  })();
  return refreshing;
}

function showConnection(text, lost = false) {
  byId("connection").textContent = text;
  byId("connection").className = lost ? "lost" : "";
}

// EventSource cannot send headers, and a token must not be in an address.
async function follow() {
  const sent = headers();
  if (lastEventId !== null) sent["Last-Event-ID"] = lastEventId;
  const response = await fetch("/api/v1/events", { headers: sent });
  if (response.status === 401) throw new NotAuthorized();
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const messages = text.split("\n\n");
    text = messages.pop();
    messages.forEach(take);
  }
}

function take(message) {
  const fields = new Map(message.split("\n").map((line) => [line.split(": ", 1)[0], line.slice(line.indexOf(": ") + 2)]));
  if (!fields.has("data")) return;
  lastEventId = fields.get("id") ?? lastEventId;
  const name = fields.get("event");
  const data = JSON.parse(fields.get("data"));
  if (name === "state") unreachable = new Map(data.unreachable.map((each) => [each.endpoint, each]));
  else if (name === "broker-unreachable") unreachable.set(data.endpoint, data);
  else if (name === "broker-reachable") unreachable.delete(data.endpoint);
  if (data.text !== undefined) showChange(data);
  refreshSoon();
}

function signIn(message) {
  sessionStorage.removeItem("token");
  token = null;
  byId("login").hidden = false;
  document.querySelector("main").hidden = true;
  byId("login-error").textContent = message;
  showConnection("not signed in", true);
}

async function run() {
  byId("login").hidden = true;
  document.querySelector("main").hidden = false;
  for (;;) {
    try {
      await follow();
      showConnection("the connection was closed", true);
    } catch (error) {
      if (error instanceof NotAuthorized) return signIn(token === null ? "" : "The token is unknown.");
      showConnection(`the server does not respond: ${error.message}`, true);
    }
    await new Promise((resume) => setTimeout(resume, 1000));
  }
}

byId("topics-filter").addEventListener("input", filterTopics);
byId("login").addEventListener("submit", (submitted) => {
  submitted.preventDefault();
  token = byId("token").value;
  sessionStorage.setItem("token", token);
  byId("token").value = "";
  run();
});
setInterval(() => {
  if (!document.querySelector("main").hidden) refresh();
}, REFRESH_MS);
run();
