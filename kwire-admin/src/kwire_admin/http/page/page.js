// Shows a cluster live: fetches the verbs, and again whenever an event reports a change.
import { KINDS } from "./details.js";
import { NotAuthorized, follow, hasToken, read, setToken } from "./server.js";
import { bad, byId, clock, fill, good, id, link, list, number, time } from "./tables.js";

const SHOWN = 50; // topics or groups on a page
const SHOWN_CHANGES = 200;
const SHOWN_PAST = 50; // incidents of gold
const SHOWN_NAMES = 3; // of the partitions of an incident
const REFRESH_MS = 10000;
const SETTLE_MS = 300; // several brokers report the same change

let unreachable = new Map();
const problemsSince = new Map();
const offsets = { topics: 0, groups: 0 };

async function showCluster() {
  const [cluster] = (await read("cluster/describe")).rows;
  byId("cluster-id").textContent = cluster.cluster_id ?? "";
  document.title = `kwire ${cluster.cluster_id ?? ""}`;
  const silent = new Set([...unreachable.values()].map((each) => each.broker_id));
  const known = new Set(cluster.brokers.map((each) => each.broker));
  const lost = [...unreachable.values()].filter((each) => each.broker_id >= 0 && !known.has(each.broker_id));
  // Clusters without racks, among them those of nodes, have no column of dashes.
  const hasRacks = cluster.brokers.some((each) => each.rack !== null);
  byId("brokers").classList.toggle("without-racks", !hasRacks);
  fill("brokers", [
    ...cluster.brokers.map((each) => [
      { ...link("broker", each.broker), kind: "number" },
      `${each.host}:${each.port}`,
      { text: each.rack, kind: "rack" },
      silent.has(each.broker)
        ? bad("does not respond")
        : good(each.controller && cluster.dialect === "kip4" ? "controller" : "live"),
    ]),
    ...lost.map((each) => [id(each.broker_id), each.endpoint, { text: null, kind: "rack" }, bad("does not respond")]),
  ]);
}

// A broker that stops leaves thousands of partitions under-replicated for the same reason, which is one problem.
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

async function showProblems() {
  const problems = groupProblems((await read("cluster/health")).rows);
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
    "problems",
    problems.map((each) => [time(clock(each.since)), bad(each.problem), each.where, each.details]),
  );
}

let hasGold = true; // until the server says no

async function showPast() {
  if (!hasGold) return;
  const { rows, total } = await read("incidents", { limit: SHOWN_PAST });
  fill(
    "incidents",
    rows.map((each) => [
      new Date(each.began).toLocaleString([], { hour12: false }),
      each.ended === null ? bad("ongoing") : duration(new Date(each.ended) - new Date(each.began)),
      each.title,
      each.impact,
    ]),
    total,
  );
}

function duration(ms) {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  return seconds < 3600 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

async function showReassignments() {
  const moves = (await read("reassign-partitions/status")).rows;
  fill(
    "reassignments",
    moves.map((each) => [
      link("topic", each.name, `${each.name}-${each.partition}`),
      each.status,
      list(each.replicas),
      list(each.adding),
      list(each.removing),
    ]),
  );
}

// The pattern of names that contain a text, whatever its case. Brackets keep its special characters literal.
function pattern(text) {
  const literal = [...text].map((each) => (each === "]" || each === "!" ? "?" : `[${each.toLowerCase()}${each.toUpperCase()}]`));
  return `*${literal.join("")}*`;
}

// Reads one page of the topics or groups, and offers the others.
async function readPage(name, none) {
  const filter = byId(`${name}-filter`).value;
  const parameters = { offset: offsets[name], limit: SHOWN };
  if (filter !== "") parameters.pattern = pattern(filter);
  const { rows, total } = await read(`${name}/list`, parameters);
  if (rows.length === 0 && total > 0 && offsets[name] > 0) {
    offsets[name] = 0; // those of the last page are deleted
    return readPage(name, none);
  }
  byId(`${name}-empty`).textContent = filter === "" ? none : `No name contains "${filter}".`;
  byId(`${name}-pages`).hidden = total <= SHOWN;
  const last = Math.min(total, offsets[name] + SHOWN);
  byId(`${name}-range`).textContent = `${offsets[name] + 1} to ${last} of ${total}`;
  byId(`${name}-back`).disabled = offsets[name] === 0;
  byId(`${name}-next`).disabled = last === total;
  return { rows, total };
}

async function showTopics() {
  const { rows, total } = await readPage("topics", "No topics yet. Create one: kafka topics create orders");
  fill(
    "topics",
    rows.map((each) => [link("topic", each.name), number(each.partitions), number(each.replication_factor)]),
    total,
  );
}

async function showGroups() {
  const groups = await readPage(
    "groups",
    "No groups yet. A group appears once a consumer joins it or commits an offset.",
  );
  const names = groups.rows.map((each) => each.name);
  const lags = names.length === 0 ? [] : (await read("groups/lag", { groups: names, total: true })).rows;
  const lagOf = new Map(lags.map((each) => [each.name, each.lag]));
  fill(
    "groups",
    groups.rows.map((each) => [link("group", each.name), each.state, number(lagOf.get(each.name) ?? null)]),
    groups.total,
  );
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
  byId("changes-empty").hidden = true;
  while (byId("changes").children.length > SHOWN_CHANGES) byId("changes").lastChild.remove();
}

// Shows the details of the thing that the address names, or the overview.
async function showDetails() {
  const [kind, encoded] = location.hash.slice(1).split(/\/(.*)/s);
  const isDetail = KINDS[kind] !== undefined;
  byId("overview").hidden = isDetail;
  byId("details").hidden = !isDetail;
  if (!isDetail) return;
  const address = location.hash;
  const name = decodeURIComponent(encoded ?? "");
  byId("details-title").textContent = `${kind[0].toUpperCase()}${kind.slice(1)} ${name}`;
  let parts;
  try {
    parts = await KINDS[kind](name);
  } catch (error) {
    if (error instanceof NotAuthorized || error instanceof TypeError) throw error;
    parts = [Object.assign(document.createElement("p"), { className: "bad", textContent: error.message })];
  }
  if (location.hash !== address) return;
  const shown = byId("details-parts");
  const made = document.createElement("div");
  made.append(...parts);
  for (const folded of made.querySelectorAll("details")) folded.open = shown.querySelector("details")?.open ?? false;
  // What is the same stays, and with it the focus of the keyboard and the selection.
  if (made.innerHTML !== shown.innerHTML) shown.replaceChildren(...made.children);
}

let refreshing = null;
let settled = null;

function refreshSoon() {
  clearTimeout(settled);
  settled = setTimeout(refresh, SETTLE_MS);
}

// Shows a table, or why the server cannot: the cluster lacks an operation, or the user a permission.
function panel(name, none, show) {
  const empty = byId(`${name}-empty`);
  return async () => {
    if (none !== null) empty.textContent = none;
    try {
      await show();
    } catch (error) {
      if (error.status === undefined || error.status === 503) throw error;
      fill(name, []);
      hasGold &&= error.name !== "NoGold";
      const why = error.name === "NoCommonVersion" ? "the brokers do not have this operation." : error.message;
      empty.textContent = hasGold || name !== "incidents"
        ? `Not available: ${why}`
        : "Start the server with --gold FOLDER to see what happened before.";
    }
  };
}

const parts = [
  showCluster,
  panel("problems", "No problems.", showProblems),
  panel("reassignments", "No partition is being moved.", showReassignments),
  panel("topics", null, showTopics),
  panel("groups", null, showGroups),
  panel("incidents", null, showPast),
];

async function refresh() {
  if (refreshing !== null) return refreshing;
  refreshing = (async () => {
    const shown = byId("details").hidden ? parts : [showCluster, showDetails];
    const failures = (await Promise.allSettled(shown.map((show) => show()))).filter((each) => each.status === "rejected");
    refreshing = null;
    if (failures.some((each) => each.reason instanceof NotAuthorized)) signIn("The token is unknown.");
    else if (failures.length > 0) showConnection(failures[0].reason.message, true);
    else showConnection("live");
  })();
  return refreshing;
}

function showConnection(text, isLost = false) {
  byId("connection").textContent = text;
  byId("connection").className = isLost ? "lost" : "";
}

function take(name, data) {
  if (name === "state") unreachable = new Map(data.unreachable.map((each) => [each.endpoint, each]));
  else if (name === "broker-unreachable") unreachable.set(data.endpoint, data);
  else if (name === "broker-reachable") unreachable.delete(data.endpoint);
  if (data.text !== undefined) showChange(data);
  refreshSoon();
}

function signIn(message) {
  setToken(null);
  byId("login").hidden = false;
  document.querySelector("main").hidden = true;
  byId("login-error").textContent = message;
  showConnection("not signed in", true);
  byId("token").focus();
}

async function run() {
  byId("login").hidden = true;
  document.querySelector("main").hidden = false;
  for (;;) {
    try {
      await follow(take);
      showConnection("the connection was closed", true);
    } catch (error) {
      if (error instanceof NotAuthorized) return signIn(hasToken() ? "The token is unknown." : "");
      showConnection(`the server does not respond: ${error.message}`, true);
    }
    await new Promise((resume) => setTimeout(resume, 1000));
  }
}

for (const [name, show] of [["topics", showTopics], ["groups", showGroups]]) {
  const turn = (offset) => {
    offsets[name] = Math.max(0, offset);
    show().catch((error) => showConnection(error.message, true));
  };
  byId(`${name}-filter`).addEventListener("input", () => turn(0));
  byId(`${name}-back`).addEventListener("click", () => turn(offsets[name] - SHOWN));
  byId(`${name}-next`).addEventListener("click", () => turn(offsets[name] + SHOWN));
}
addEventListener("hashchange", async () => {
  byId("details-parts").replaceChildren();
  const [kind] = location.hash.slice(1).split("/");
  byId("overview").hidden = KINDS[kind] !== undefined;
  byId("details").hidden = KINDS[kind] === undefined;
  if (byId("overview").hidden) byId("details-title").focus();
  scrollTo(0, 0);
  if (refreshing !== null) await refreshing;
  refresh();
});
byId("login").addEventListener("submit", (submitted) => {
  submitted.preventDefault();
  setToken(byId("token").value);
  byId("token").value = "";
  run();
});
setInterval(() => {
  if (!document.querySelector("main").hidden) refresh();
}, REFRESH_MS);
showDetails().catch(() => {}); // refresh reports why
run();
