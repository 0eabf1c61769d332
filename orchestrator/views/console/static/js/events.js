/** Events as a list: time, lane, kind, broker. */
import { html, memo } from "./html.js";
import { sheetLink } from "./route.js";
import { isoTime, time, spaced } from "./format.js";
import { now } from "./clock.js";

/** From top to bottom, as on the axis: decisions, then the events of the cluster's sources. */
export const LANES = /** @type {const} */ (["decisions", "metadata", "zookeeper", "disks", "jmx"]);

export const LANE_WORDS = {
  decisions: "Decisions",
  metadata: "Metadata log",
  zookeeper: "ZooKeeper",
  disks: "Disks",
  jmx: "JMX",
};

/** Kinds that are most important for an analysis of the past. */
const GRAVE = /lost|offline|early|wiped|blind|unreachable|contradicts|stalled|fenced$|violated|aborted|failed|vanished|gone/;

export function isGrave(kind) {
  return GRAVE.test(kind) && !/unfenced$|_over$|again$/.test(kind);
}

/** @param {{events: readonly import("./types.js").TimelineEvent[], label: string}} properties newest first */
export function EventList({ events, label }) {
  return html`<ol class="events" aria-label=${label}>
    ${events.map((each) => html`<${EventRow} key=${each.id} event=${each} />`)}
  </ol>`;
}

const EventRow = memo(({ event }) => {
  const { at_ms: at, lane, kind, broker, offset, checkpoint, by, text } = event;
  return html`<li class="event" data-lane=${lane} data-grave=${isGrave(kind)}>
    <time dateTime=${isoTime(at)}>${time(at, { millis: true, now: now() })}</time>
    <span class="lane"><i class="lane-sign" data-lane=${lane} aria-hidden="true" />${LANE_WORDS[lane]}</span>
    <b class="event-kind">${spaced(kind)}</b>
    <span class="event-rest">
      ${broker !== null && html`<a href=${sheetLink({ broker })}>broker ${broker}</a> `}
      ${checkpoint !== null && html`<a class="mono" href=${sheetLink({ checkpoint })}>${checkpoint}</a> `}
      ${by !== null && html`<span>by ${by}</span> `}
      <span class="soft">${checkpoint === null ? text : text.replace(`checkpoint=${checkpoint}`, "").trim()}</span>
      ${offset !== null && html` <span class="soft num">@${offset}</span>`}
    </span>
  </li>`;
});
