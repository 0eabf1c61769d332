/** The overview: the gate, hazards, brokers that are not in order, the latest events. */
import { html, memo, useMemo } from "./html.js";
import { Since, now } from "./clock.js";
import { BrokerTable } from "./brokers.js";
import { silentSources } from "./currency.js";
import { EventList } from "./events.js";
import { Alerts, HazardList } from "./hazards.js";
import { Icon } from "./icons.js";
import { Findings, Legend, Panel } from "./parts.js";
import { link, sheetLink } from "./route.js";
import { isUnsettled, sorted } from "./rows.js";
import { count, counted, duration, time } from "./format.js";

const BROKERS_MAX = 12;
const EVENTS_MAX = 14;
const HAZARDS_MAX = 3;
const WAITS_MAX = 8;

/** @param {{cluster: import("./store.js").Cluster}} properties */
export function Overview({ cluster }) {
  const { name, head, walk, brokers, hazards, alerts, waits, events, sources } = cluster;
  return html`<div class="overview">
    <div class="overview-main">
      <${Unsettled} brokers=${brokers} name=${name} disks=${!silentSources(cluster).some((each) => each.name === "log_dirs")} />
      <${Latest} events=${events} name=${name} />
    </div>
    <div class="overview-side">
      ${walk !== null && walk.outcome === null && html`<${Gate} walk=${walk} />`}
      <${Alerts} alerts=${alerts} />
      ${hazards.length + head.hazards_not_known.length > 0 && html`<${Worst} hazards=${hazards} unknown=${head.hazards_not_known} name=${name} />`}
      <${Waits} waits=${waits} />
      <${Facts} head=${head} />
      <${Sources} sources=${sources} limits=${head.limits} />
    </div>
  </div>`;
}

/** `disks`: whether the brokers' disks are known now; some brokers are not in order only because of them. */
const Unsettled = memo(({ brokers, name, disks }) => {
  const first = useMemo(() => sorted(brokers, { by: "urgency", down: false }), [brokers]);
  const many = brokers.filter(isUnsettled).length;
  const shown = first.slice(0, Math.max(BROKERS_MAX, Math.min(many, 2 * BROKERS_MAX)));
  const note = many ? `${many} of ${brokers.length} not in order` : `${brokers.length}, ${disks ? "all in order" : "disks not known"}`;
  const rest = brokers.length - shown.length;
  return html`<${Panel} id="brokers" title="Brokers" note=${brokers.length ? note : null} end=${html`<${Legend} />`}>
    ${brokers.length ? html`<${BrokerTable} rows=${shown} label="Brokers, those not in order first" />` : html`<p class="empty">No broker is known yet.</p>`}
    ${rest > 0 && html`<p class="panel-more"><a href=${link(name, "brokers")}>${counted(rest, "further broker")}</a></p>`}
  <//>`;
});

const Latest = memo(({ events, name }) => {
  const shown = events.slice(-EVENTS_MAX).reverse();
  return html`<${Panel} id="latest" title="Latest events" end=${html`<a href=${link(name, "timeline")}>Timeline</a>`}>
    ${shown.length ? html`<${EventList} events=${shown} label="Latest events, the newest first" />` : html`<p class="empty">Nothing has happened yet.</p>`}
  <//>`;
});

const Gate = memo(({ walk }) => {
  const { findings, checkpoint, holds, unexpected } = walk;
  const last = unexpected.at(-1);
  return html`<${Panel}
    id="gate"
    title="The gate"
    note=${findings.length ? `${findings.filter((each) => each.verdict === "satisfied").length} of ${findings.length} hold` : null}
    end=${checkpoint !== null && html`<a href=${sheetLink({ checkpoint })}>Evidence</a>`}
  >
    ${findings.length > 0 && html`<${Findings} findings=${findings} label="Conditions of the gate" />`}
    ${!findings.length && holds.length > 0 && html`<ul class="lines">${holds.map((each) => html`<li key=${each}>${each}</li>`)}</ul>`}
    ${!findings.length && !holds.length && html`<p class="empty">No condition is evaluated now.</p>`}
    ${last && html`<p class="unexpected"><${Icon} name="alert" /><span>Unexpected at ${time(last.at_ms, { now: now() })}: ${last.text}</span></p>`}
  <//>`;
});

const Worst = memo(({ hazards, unknown, name }) => {
  const rest = hazards.length - HAZARDS_MAX;
  return html`<${Panel} id="hazards" title="Hazards" note=${hazards.length ? count(hazards.length) : null} end=${html`<a href=${link(name, "hazards")}>All</a>`}>
    <${HazardList} hazards=${hazards.slice(0, HAZARDS_MAX)} unknown=${unknown} />
    ${rest > 0 && html`<p class="panel-more"><a href=${link(name, "hazards")}>${counted(rest, "further hazard")}</a></p>`}
  <//>`;
});

const Waits = memo(({ waits }) => {
  if (!waits.length) return null;
  const rest = waits.length - WAITS_MAX;
  return html`<${Panel} id="waits" title="What the migration waits for" note=${count(waits.length)}>
    <ol class="waits">
      ${waits.slice(0, WAITS_MAX).map(
        (each) => html`<li key=${`${each.name}/${each.broker}`} data-person=${each.needs_person}>
          <${Icon} name=${each.needs_person ? "alert" : "waiting"} label=${each.needs_person ? "needs a person" : "comes by itself"} />
          <span>${each.text}${each.since_ms !== null && html` <span class="soft">(<${Since} at=${each.since_ms} format=${duration} />)</span>`}</span>
        </li>`,
      )}
    </ol>
    ${rest > 0 && html`<p class="panel-more soft">and ${count(rest)} more</p>`}
  <//>`;
});

const Facts = memo(({ head }) => {
  const facts = [
    ["Held, fenced, unfenced early", `${count(head.held)}, ${count(head.fenced)}, ${count(head.unfenced_early)}`],
    ["Topics, partitions", `${count(head.topics)}, ${count(head.partitions)}`],
    ["Under-replicated, leaderless", `${count(head.under_replicated)}, ${count(head.leaderless)}`],
    ["Being reassigned", count(head.reassigning)],
    ["Active controller, epoch", `${head.active_controller ?? "?"}, ${head.leader_epoch ?? "?"}`],
    ["Metadata offset", `${count(head.metadata_offset)}${head.behind ? `, ${count(head.behind)} unread` : ""}`],
    ["metadata.version", head.metadata_version ?? "?"],
  ];
  return html`<${Panel} id="facts" title="Cluster">
    <dl class="facts">
      ${facts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd class="num">${value}</dd></div>`)}
    </dl>
  <//>`;
});

const SOURCE_WORDS = { metadata_log: "Metadata log", zookeeper: "ZooKeeper", log_dirs: "Disks", jmx: "JMX" };

const Sources = memo(({ sources, limits }) => {
  return html`<${Panel} id="sources" title="Sources">
    <ul class="sources">
      ${sources.map((each) => html`<${SourceRow} key=${each.name} source=${each} />`)}
    </ul>
    ${limits.length > 0 && html`<details class="limits"><summary>${counted(limits.length, "limit")} of what is shown here</summary><ul class="lines">${limits.map((each) => html`<li key=${each}>${each}</li>`)}</ul></details>`}
  <//>`;
});

function SourceRow({ source }) {
  const { name, configured, in_use: used, current, why_not, waiting, error, last_reply_ms: last, unread } = source;
  const [sign, state] = !configured ? ["dash", "not configured"] : !used ? ["ring", "not in use"] : current ? ["dot", "current"] : ["cross", "not current"];
  const why = error ?? why_not ?? waiting;
  return html`<li data-state=${state}>
    <${Icon} name=${sign} />
    <span><b>${SOURCE_WORDS[name]}</b> ${state}${last !== null && used && html` <span class="soft"><${Since} at=${last} /></span>`}
      ${unread > 0 && html` <span class="soft">${count(unread)} unread</span>`}
      ${configured && used && !current && why && html`<br /><span>${why}</span>`}</span>
  </li>`;
}
