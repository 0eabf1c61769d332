/** Events as a list: time, lane, kind, broker. */
import { html, memo } from "./html.js";
import { sheetLink } from "./route.js";
import { isoTime, time } from "./format.js";
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

/** Whether something failed, or may be lost. @param {{weight: string}} event */
export function isBad(event) {
  return event.weight === "bad";
}

/** @param {{events: readonly import("./types.js").TimelineEvent[], label: string}} properties newest first */
export function EventList({ events, label }) {
  return html`<ol class="events" aria-label=${label}>
    ${folded(events).map(({ event, times }) => html`<${EventRow} key=${event.id} event=${event} times=${times} />`)}
  </ol>`;
}

/**
 * Consecutive evaluations of one checkpoint as one row, the newest. @param {readonly
 *     import("./types.js").TimelineEvent[]} events
 */
function folded(events) {
  const found = [];
  for (const event of events) {
    const last = found.at(-1);
    const same = last?.event.kind === "judged" && event.kind === "judged" && last.event.checkpoint === event.checkpoint;
    if (same) last.times += 1;
    else found.push({ event, times: 1 });
  }
  return found;
}

const EventRow = memo(({ event, times }) => {
  const { at_ms: at, lane, kind, broker, offset, checkpoint, by, text } = event;
  const person = by !== null && by !== "kraftgate";
  return html`<li class="event" data-lane=${lane} data-kind=${kind} data-grave=${isBad(event)}>
    <time dateTime=${isoTime(at)}>${time(at, { millis: true, now: now() })}</time>
    <span class="lane"><i class="lane-sign" data-lane=${lane} aria-hidden="true" />${LANE_WORDS[lane]}</span>
    <span class="event-text">
      <span class="event-kind">${text}</span>
      ${times > 1 && html` <span class="soft">checked ${times} times</span>`}
      <span class="soft">
        ${broker !== null && html` <a href=${sheetLink({ broker })}>broker ${broker}</a>`}
        ${checkpoint !== null && html` <a class="mono" href=${sheetLink({ checkpoint })}>${checkpoint}</a>`}
        ${person && html` by ${by}`}
        ${offset !== null && html` <span class="num">@${offset}</span>`}
      </span>
    </span>
  </li>`;
});
