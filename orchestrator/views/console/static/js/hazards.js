/** Conditions that can lose or have lost data, each with its evidence and the fix. */
import { html, memo } from "./html.js";
import { Since, now } from "./clock.js";
import { Badge, Lines, Panel } from "./parts.js";
import { manualLink, sheetLink } from "./route.js";
import { age, counted, time, spaced } from "./format.js";

export function Hazards({ hazards }) {
  return html`<${Panel} id="hazards" title="Hazards" note=${hazards.length ? counted(hazards.length, "hazard") : null}>
    <${HazardList} hazards=${hazards} open=${true} />
  <//>`;
}

/** @param {{hazards: readonly import("./types.js").HazardRow[], open?: boolean}} properties */
export function HazardList({ hazards, open = false }) {
  if (!hazards.length) return html`<p class="empty">No hazard is known.</p>`;
  return html`<ul class="hazards">
    ${hazards.map((each) => html`<${Hazard} key=${`${each.id}/${each.broker}/${each.text}`} hazard=${each} open=${open} />`)}
  </ul>`;
}

/** The time to a deadline. @param {number} since ms since the deadline; before it, below 0 */
const left = (since) => (since < 0 ? `in ${age(-since)}` : `${age(since)} ago`);

const Hazard = memo(({ hazard, open }) => {
  const { id, severity, blocks, broker, text, evidence, way_out: wayOut, since_ms: since, deadline_ms: deadline } = hazard;
  const critical = severity === "critical";
  return html`<li class="hazard" data-severity=${severity}>
    <p class="hazard-head">
      <${Badge} tone=${critical ? "bad" : "warn"} icon=${critical ? "violated" : "alert"}>${severity}<//>
      <b>${spaced(id)}</b>
      ${broker !== null && html`<a href=${sheetLink({ broker })}>broker ${broker}</a>`}
      ${blocks !== null && html`<${Badge} tone="bad" icon="fenced">forbids: ${blocks}<//>`}
      ${since !== null && html`<span class="soft">since ${time(since, { now: now() })}, <${Since} at=${since} /></span>`}
    </p>
    <p>${text}${deadline !== null && html` (<${Since} at=${deadline} format=${left} />)`}</p>
    <p class="way-out"><b>Way out:</b> ${wayOut} <a href=${manualLink("hazards", id)} target="_blank" rel="noopener">Manual</a></p>
    ${evidence.length > 0 &&
    html`<details open=${open}>
      <summary>Evidence, ${counted(evidence.length, "line")}</summary>
      <${Lines} lines=${evidence} label="Evidence" />
    </details>`}
  </li>`;
});
