/**
 * The brokers, a row for each: mode, state, a bar of its replicas, rate, estimate, last progress. By
 * default the most urgent first; can be filtered and sorted.
 */
import { html, memo, useMemo, useState } from "./html.js";
import { Since } from "./clock.js";
import { inText } from "./now.js";
import { Badge, Bar, Legend, Panel } from "./parts.js";
import { sheetLink } from "./route.js";
import { STEPS, etaTimes, isFenced, isUnsettled, lacking, sorted } from "./rows.js";
import { count, counted, duration, rate, time } from "./format.js";

/** @typedef {import("./types.js").BrokerState} BrokerRow */

const COLUMNS = /** @type {const} */ ([
  ["broker", "Broker"],
  ["mode", "Mode"],
  ["state", "State"],
  ["replicas", "Replicas by directory state"],
  ["pending", "Pending"],
  ["rate", "Rate"],
  ["eta", "Estimate"],
  ["progress", "Last progress"],
]);

/**
 * @param {{rows: readonly BrokerRow[], label: string, sort?: {by: string, down: boolean},
 *     onSort?: (by: string) => void}} properties
 */
export function BrokerTable({ rows, label, sort, onSort }) {
  return html`<table class="brokers" role="table" aria-label=${label}>
    <thead role="rowgroup">
      <tr role="row">
        ${COLUMNS.map(
          ([name, title]) => html`<th
            key=${name}
            role="columnheader"
            scope="col"
            data-column=${name}
            aria-sort=${sort?.by === name ? (sort.down ? "descending" : "ascending") : undefined}
          >
            ${onSort ? html`<button class="sort" onClick=${() => onSort(name)}>${title}</button>` : title}
          </th>`,
        )}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${rows.map((row) => html`<${Row} key=${row.id} row=${row} />`)}
    </tbody>
  </table>`;
}

const Row = memo(({ row }) => {
  const address = sheetLink({ broker: row.id });
  return html`<tr role="row" data-broker=${row.id} data-urgent=${isUnsettled(row)} onClick=${(event) => follow(event, address)}>
    <th role="rowheader" scope="row" data-column="broker">
      <a href=${address}>${row.id}<span class="hidden"> broker ${row.id}: pending replicas and more</span></a>
      <small class="soft">${[row.host, row.rack].filter(Boolean).join(" · ")}</small>
    </th>
    <td role="cell" data-column="mode"><${Mode} mode=${row.mode} /></td>
    <td role="cell" data-column="state"><${BrokerState} row=${row} /></td>
    <td role="cell" data-column="replicas"><${Bar} replicas=${row.replicas_known ? row.replicas : null} /></td>
    <td role="cell" data-column="pending" class="num"><${Pending} row=${row} /></td>
    <td role="cell" data-column="rate" class="num">${rate(row.progress?.rate_per_second ?? null) ?? none}</td>
    <td role="cell" data-column="eta"><${Estimate} eta=${row.eta} /></td>
    <td role="cell" data-column="progress">
      ${row.held && row.last_progress_ms !== null ? html`<${Since} at=${row.last_progress_ms} />` : none}
    </td>
  </tr>`;
});

const none = html`<span class="soft" aria-label="none">–</span>`;

/** A click in the row opens the broker; keyboards and screen readers use the link in it. */
function follow(event, address) {
  if (event.target.closest("a, button") || String(getSelection())) return;
  location.assign(address);
}

/** The mode, and its position on the way to KRaft. */
export function Mode({ mode }) {
  const at = STEPS.indexOf(mode);
  return html`<span class="mode" data-mode=${mode}>
    <span class="pips" aria-hidden="true">${STEPS.map((step, i) => html`<i key=${step} data-on=${i <= at} />`)}</span>
    ${mode}
  </span>`;
}

/** Held, fenced, unfenced early: the broker's state in Kafka, and whether it is as it should be. */
export function BrokerState({ row }) {
  const { held, stalled, is_unfenced_early: early, in_controlled_shutdown: stopping } = row;
  const registered = row.epoch !== null;
  return html`<span class="badges">
    ${stalled && html`<${Badge} tone="bad" icon="violated">stalled<//>`}
    ${held && html`<${Badge} tone="warn" icon="held">held<//>`}
    ${early && html`<${Badge} tone="odd" icon="alert" title=${`unfenced with ${row.unfenced_early.pending} pending`}>unfenced early<//>`}
    ${isFenced(row) && html`<${Badge} tone="bad" icon="fenced">${stopping ? "stopping" : "fenced"}<//>`}
    ${registered && !early && !row.fenced && html`<${Badge} tone="ok" icon="dot">unfenced<//>`}
    ${lacking(row) > 0 && html`<${Badge} tone="bad" icon="cross">${count(lacking(row))} offline<//>`}
    ${!registered && html`<${Badge} tone="plain" icon="ring" title="in /brokers/ids, not with the controllers">not registered<//>`}
  </span>`;
}

function Pending({ row }) {
  if (row.pending === null) return row.total === null ? none : html`<span class="soft">${count(row.total)} on disk</span>`;
  if (row.pending === 0) return html`<span class="soft">0 of ${count(row.total)}</span>`;
  return html`<b>${count(row.pending)}</b> <span class="soft">of ${count(row.total)}</span>`;
}

function Estimate({ eta }) {
  if (eta === null) return none;
  const times = etaTimes(eta);
  if (times === null) return html`<span class="estimate"><small class="soft" title=${eta.how}>${eta.how}</small></span>`;
  return html`<span class="estimate" title=${eta.how}>
    <${Since} at=${times.at} format=${inText} />
    <small class="soft">${time(times.earliest, { date: false })} to ${time(times.latest, { date: false })}; ${eta.how}</small>
  </span>`;
}

/** The time from the first registration until no replica was pending, as text. @param {BrokerRow} row */
export function heldText(row) {
  if (row.held_since_ms === null || row.assignments_complete_ms === null) return null;
  return duration(row.assignments_complete_ms - row.held_since_ms);
}

/** @type {readonly [string, string, (row: BrokerRow) => boolean][]} */
const FILTERS = [
  ["all", "All", () => true],
  ["unsettled", "Not in order", isUnsettled],
  ["held", "Held", (row) => row.held],
  ["fenced", "Fenced", isFenced],
  ["early", "Unfenced early", (row) => row.is_unfenced_early],
  ["offline", "Replicas offline", (row) => lacking(row) > 0],
  ["zookeeper", "Not in KRaft mode", (row) => row.mode !== "kraft"],
];

/** @param {{brokers: readonly BrokerRow[]}} properties */
export function Brokers({ brokers }) {
  const [filter, setFilter] = useState("all");
  const [text, setText] = useState("");
  const [sort, setSort] = useState({ by: "urgency", down: false });
  const shown = useMemo(() => {
    const wanted = FILTERS.find(([name]) => name === filter)[2];
    const rows = brokers.filter((row) => wanted(row) && matches(row, text));
    return sorted(rows, sort);
  }, [brokers, filter, text, sort]);
  const onSort = (by) => setSort((was) => ({ by, down: was.by === by ? !was.down : false }));
  const some = shown.length === brokers.length ? counted(brokers.length, "broker") : `${shown.length} of ${counted(brokers.length, "broker")}`;
  return html`<${Panel} id="brokers" title="Brokers" note=${some} end=${html`<${Legend} />`}>
    <div class="tools" role="group" aria-label="Which brokers">
      <div class="chips" role="group" aria-label="Filter">
        ${FILTERS.map(([name, title, wanted]) => {
          const many = brokers.reduce((sum, row) => sum + (wanted(row) ? 1 : 0), 0);
          return html`<button
            key=${name}
            class="chip"
            aria-pressed=${filter === name ? "true" : "false"}
            data-none=${many === 0}
            onClick=${() => setFilter(name)}
          >
            ${title} <span class="num">${many}</span>
          </button>`;
        })}
      </div>
      <input
        type="search"
        id="filter"
        aria-label="Find a broker by id, host or rack"
        placeholder="id, host or rack"
        value=${text}
        onInput=${(event) => setText(event.target.value)}
      />
      <label class="sort-by">
        <span class="hidden">Order by</span>
        <select value=${sort.by} onChange=${(event) => setSort({ by: event.target.value, down: false })}>
          <option value="urgency">Not in order first</option>
          ${COLUMNS.map(([name, title]) => html`<option key=${name} value=${name}>${title}</option>`)}
        </select>
      </label>
    </div>
    ${shown.length
      ? html`<${BrokerTable} rows=${shown} label="Brokers" sort=${sort} onSort=${onSort} />`
      : html`<p class="empty">${brokers.length ? "No broker matches." : "No broker is known yet."}</p>`}
  <//>`;
}

/** A number matches only the id; other text is searched in host and rack. */
function matches(row, text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return true;
  if (/^\d+$/.test(wanted)) return String(row.id).startsWith(wanted);
  return [row.host, row.rack].some((each) => each?.toLowerCase().includes(wanted));
}
