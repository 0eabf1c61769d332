/** All brokers, by default the most urgent first; can be filtered and sorted. */
import { html, useMemo, useState } from "./html.js";
import { BrokerTable, COLUMNS } from "./broker_table.js";
import { Legend, Panel } from "./parts.js";
import { isFenced, isUnsettled, lacking, sorted } from "./rows.js";
import { counted } from "./words.js";

/** @typedef {import("./types.js").BrokerState} BrokerRow */

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
