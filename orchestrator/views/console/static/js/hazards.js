/** The active alerts, and the hazards with their evidence and the fix; each links to its page. */
import { html, memo } from "./html.js";
import { Since, now } from "./clock.js";
import { Badge, Lines, Panel, Sentence } from "./parts.js";
import { manualLink, sheetLink } from "./route.js";
import { age, counted, time, spaced } from "./format.js";

export function Hazards({ hazards, unknown, alerts }) {
  return html`<div class="hazards-view">
    <${Alerts} alerts=${alerts} open=${true} />
    <${Panel} id="hazards" title="Hazards" note=${hazards.length ? counted(hazards.length, "hazard") : null}>
      <${HazardList} hazards=${hazards} unknown=${unknown} open=${true} />
    <//>
  </div>`;
}

/** The active alerts. @param {{alerts: readonly import("./types.js").AlertRow[], open?: boolean}} properties */
export const Alerts = memo(({ alerts, open = false }) => {
  if (!alerts.length) return null;
  return html`<${Panel} id="alerts" title="Alerts" note=${counted(alerts.length, "active alert")}>
    <ul class="hazards">
      ${alerts.map((each) => html`<${Alert} key=${each.fingerprint} alert=${each} open=${open} />`)}
    </ul>
  <//>`;
});

const Alert = memo(({ alert, open }) => {
  const { name, severity, broker, summary, description, details, since_ms: since, is_known: known } = alert;
  return html`<li class="hazard" data-severity=${severity}>
    <p class="hazard-head">
      <${Level} severity=${severity} />
      <b>${summary}</b>
      ${broker !== null && html`<a href=${sheetLink({ broker })}>broker ${broker}</a>`}
      <span class="soft">since ${time(since, { now: now() })}, <${Since} at=${since} /></span>
    </p>
    ${open && html`<p><${Sentence} text=${description} /></p><${Lines} lines=${details} label="Details" />`}
    ${!known && html`<p class="soft">The data that would show that it is resolved is stale.</p>`}
    <p class="way-out"><a href=${manualLink(name)} target="_blank" rel="noopener">${name}: what to do</a></p>
  </li>`;
});

function Level({ severity }) {
  const critical = severity === "critical";
  return html`<${Badge} tone=${critical ? "bad" : "warn"} icon=${critical ? "violated" : "alert"}>${severity}<//>`;
}

/**
 * @param {{hazards: readonly import("./types.js").HazardRow[], unknown?: readonly string[], open?: boolean}} properties
 *     `unknown`: the data that would show others
 */
export function HazardList({ hazards, unknown = [], open = false }) {
  if (!hazards.length && !unknown.length) return html`<p class="empty">No hazard is known.</p>`;
  return html`<ul class="hazards">
    ${unknown.map((each) => html`<li key=${each} class="hazard" data-severity="warning"><p><b>Not known:</b> ${each}</p></li>`)}
    ${hazards.map((each) => html`<${Hazard} key=${`${each.id}/${each.broker}/${each.text}`} hazard=${each} open=${open} />`)}
  </ul>`;
}

/** The time to a deadline. @param {number} since ms since the deadline; before it, below 0 */
const left = (since) => (since < 0 ? `in ${age(-since)}` : `${age(since)} ago`);

const Hazard = memo(({ hazard, open }) => {
  const { id, severity, blocks, broker, text, evidence, evidence_total: total, also_blocks: also, way_out: wayOut, since_ms: since, deadline_ms: deadline } = hazard;
  return html`<li class="hazard" data-severity=${severity}>
    <p class="hazard-head">
      <${Level} severity=${severity} />
      <b>${spaced(id)}</b>
      ${broker !== null && html`<a href=${sheetLink({ broker })}>broker ${broker}</a>`}
      ${blocks !== null && html`<${Badge} tone="bad" icon="fenced">forbids: ${[blocks, also].filter(Boolean).join(" and ")}<//>`}
      ${since !== null && html`<span class="soft">since ${time(since, { now: now() })}, <${Since} at=${since} /></span>`}
    </p>
    <p>${text}${deadline !== null && html` (<${Since} at=${deadline} format=${left} />)`}</p>
    <p class="way-out"><b>Way out:</b> <${Sentence} text=${wayOut} /> <a href=${manualLink("hazards", id)} target="_blank" rel="noopener">Read more<span class="hidden"> about ${spaced(id)}</span> in the manual</a></p>
    ${evidence.length > 0 &&
    html`<details open=${open}>
      <summary>Evidence, ${counted(total, "fact")}</summary>
      <${Lines} lines=${evidence} label="Evidence" />
    </details>`}
  </li>`;
});
