// What the page shows about one topic, group, or broker, at the address #KIND/NAME.
import { read } from "./server.js";
import { bad, facts, folded, id, link, list, number, section, size } from "./tables.js";

const SHOWN = 500; // partitions, members, or configs

// Returns a part of the details, or a sentence that says why it is missing.
async function part(title, headings, rows, empty) {
  try {
    return section(title, headings, await rows(), empty);
  } catch (error) {
    if (error.status === undefined) throw error;
    return section(title, [], [], `Not available: ${error.message}`);
  }
}

// Shows the configs that are set; the defaults, which are hundreds for a broker, follow after a click.
async function configs(resource) {
  const defaults = [];
  const made = await part(
    "Configs",
    ["config", "value", "source"],
    async () => {
      const { rows } = await read("configs/get", { resource, all: true, limit: SHOWN });
      rows.sort((one, other) => one.name.localeCompare(other.name));
      const text = (config) => (config.sensitive ? "(secret)" : config.value);
      const isDefault = (config) => config.source === "default";
      defaults.push(...rows.filter(isDefault).map((config) => [config.name, text(config)]));
      return rows.filter((config) => !isDefault(config)).map((config) => [config.name, text(config), config.source]);
    },
    "No configs are set.",
  );
  if (defaults.length > 0) made.append(folded(`${defaults.length} defaults`, ["config", "value"], defaults));
  return made;
}

async function topic(name) {
  const { rows } = await read("topics/describe", { names: name });
  const found = rows[0];
  const isBad = (partition) => partition.leader === null || partition.isr.length < partition.replicas.length;
  return [
    facts([
      ["id", found.topic_id],
      ["partitions", found.partitions.length],
      ["replication factor", found.replication_factor],
      ["internal", found.internal ? "yes" : "no"],
    ]),
    section(
      "Partitions",
      [id("partition"), id("leader"), "replicas", "in sync"],
      found.partitions
        .slice(0, SHOWN)
        .map((each) => [
          id(each.partition),
          each.leader === null ? bad("none") : { ...link("broker", each.leader), kind: "number" },
          list(each.replicas),
          isBad(each) ? bad(list(each.isr)) : list(each.isr),
        ]),
      "The topic has no partitions.",
    ),
    await part(
      "Groups",
      ["group", id("lag")],
      async () => (await read("groups/lag", { topic: name })).rows.map((each) => [link("group", each.name), number(each.lag)]),
      "No group has committed an offset of this topic.",
    ),
    await configs(`topic/${name}`),
  ];
}

async function group(name) {
  const { rows } = await read("groups/describe", { groups: name });
  const found = rows[0];
  return [
    facts([
      ["state", found.state],
      ["type", found.type],
      ["assignor", found.assignor || null],
      ["coordinator", link("broker", found.coordinator, `broker ${found.coordinator}`)],
    ]),
    await part(
      "Lag",
      ["topic", id("partition"), id("committed"), id("end"), id("lag")],
      async () =>
        (await read("groups/lag", { groups: name, partitions: true, limit: SHOWN })).rows.map((each) => [
          link("topic", each.topic),
          id(each.partition),
          number(each.committed),
          number(each.end),
          number(each.lag),
        ]),
      "The group has not committed an offset.",
    ),
    section(
      "Members",
      ["member", "client", "host", "partitions"],
      found.members.slice(0, SHOWN).map((each) => [each.member, each.client, each.host, assigned(each.assignment)]),
      "The group has no members. Start a consumer with this group id.",
    ),
  ];
}

function assigned(assignment) {
  if (assignment === null) return null;
  return list(Object.entries(assignment).map(([topic, partitions]) => `${topic}: ${partitions.join(", ")}`));
}

async function broker(name) {
  const [cluster] = (await read("cluster/describe")).rows;
  const found = cluster.brokers.find((each) => `${each.broker}` === name);
  if (found === undefined) throw new Error(`The cluster does not list broker ${name} now.`);
  return [
    facts([
      ["address", `${found.host}:${found.port}`],
      ["rack", found.rack],
      ["controller", found.controller ? "yes" : "no"],
    ]),
    await part(
      "Log directories",
      ["directory", id("replicas"), id("size"), id("free")],
      async () =>
        (await read("log-dirs/list", { broker: name })).rows.map((each) => [
          each.path,
          number(each.replicas),
          size(each.size),
          size(each.usable),
        ]),
      "The broker reports no log directories.",
    ),
    await configs(`broker/${name}`),
  ];
}

export const KINDS = { topic, group, broker };
