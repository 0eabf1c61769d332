/** One broker: its state, its directories, and its pending replicas. */
import { html, useEffect, useRef, useState } from "./html.js";
import { Since, now } from "./clock.js";
import { of, read } from "./api.js";
import { BrokerState, Mode, heldText } from "./brokers.js";
import { HazardList } from "./hazards.js";
import { cellKind, cellText } from "./cells.js";
import { EtaText } from "./now.js";
import { Bar, Badge, REPLICA_STATES, Trouble } from "./parts.js";
import { link } from "./route.js";
import { etaTimes } from "./rows.js";
import { Sheet } from "./sheet.js";
import { count, counted, duration, rate, time } from "./format.js";

/**
 * @param {{cluster: import("./store.js").Cluster, id: number, onClose: () => void,
 *     currency: import("./currency.js").Currency}} properties
 */
export function BrokerSheet({ cluster, id, currency, onClose }) {
  const row = cluster.brokers.find((each) => each.id === id);
  const disks = cluster.disks.find((each) => each.broker === id);
  const hazards = cluster.hazards.filter((each) => each.broker === id);
  if (!row) {
    return html`<${Sheet} title=${`Broker ${id}`} currency=${currency} onClose=${onClose}>
      <p class="empty">Cluster ${cluster.name} has no such broker.</p>
    <//>`;
  }
  const host = [row.host, row.rack].filter(Boolean).join(" · ");
  return html`<${Sheet} title=${`Broker ${id}`} currency=${currency} onClose=${onClose}>
    <p class="sheet-line"><${Mode} mode=${row.mode} /><${BrokerState} row=${row} /><span class="soft">${host}</span></p>
    <${Replicas} row=${row} />
    ${etaTimes(row.eta) && html`<${EtaText} eta=${row.eta} what="Complete" />`}
    <${Facts} row=${row} name=${cluster.name} />
    ${hazards.length > 0 && html`<section><h3>Hazards</h3><${HazardList} hazards=${hazards} /></section>`}
    <${Directories} disks=${disks} />
    ${row.replicas_known ? html`<${Pending} cluster=${cluster.name} row=${row} />` : html`<section><h3>Pending replicas</h3><p class="soft">The metadata log does not have its replicas yet.</p></section>`}
  <//>`;
}

function Replicas({ row }) {
  return html`<section class="sheet-replicas">
    <${Bar} replicas=${row.replicas_known ? row.replicas : null} />
    <ul class="legend">
      ${REPLICA_STATES.map(
        (state) => html`<li key=${state}><span class="swatch fill" data-state=${state} />${state} <b class="num">${row.replicas_known ? count(row.replicas[state]) : "?"}</b></li>`,
      )}
    </ul>
  </section>`;
}

function Facts({ row, name }) {
  const early = row.unfenced_early;
  const facts = [
    ["Registered", row.registered_ms, row.registered_offset],
    ["Unfenced", row.unfenced_ms, row.unfenced_offset],
    ["Assignments complete", row.assignments_complete_ms, row.assignments_complete_offset],
  ];
  const others = [
    ["Rate", rate(row.progress?.rate_per_second ?? null)],
    ["Held for", heldText(row)],
    ["Unfenced early", early && `with ${counted(early.pending, "pending replica")}${row.is_unfenced_early ? ", now" : early.duration_ms === null ? "" : `, for ${duration(early.duration_ms)}`}`],
    ["Under-replicated", row.under_replicated === null ? null : count(row.under_replicated)],
    ["Epoch", row.epoch === null ? null : count(row.epoch)],
  ].filter(([, value]) => value !== null);
  return html`<dl class="facts">
    ${facts.map(
      ([title, at, offset]) => html`<div key=${title}>
        <dt>${title}</dt>
        <dd class="num">${at === null ? "unknown" : time(at, { millis: true, now: now() })}${offset !== null && html` <span class="soft">@${offset}</span>`}</dd>
      </div>`,
    )}
    ${row.held && row.last_progress_ms !== null && html`<div><dt>Last progress</dt><dd><${Since} at=${row.last_progress_ms} /></dd></div>`}
    ${others.map(([title, value]) => html`<div key=${title}><dt>${title}</dt><dd class="num">${value}</dd></div>`)}
    <div><dt>On the timeline</dt><dd><a href=${link(name, "timeline", { events_of: row.id })}>its events</a></dd></div>
  </dl>`;
}

function Directories({ disks }) {
  if (!disks) return html`<section><h3>Directories</h3><p class="soft">The broker has not described them yet.</p></section>`;
  return html`<section>
    <h3>Directories</h3>
    <p class="soft">
      ${disks.silent !== null && html`<b>The broker does not describe them: ${disks.silent}. </b>`}
      ${disks.told_ms !== null ? html`Described <${Since} at=${disks.told_ms} />.` : "Never described."}
      ${disks.pending_elsewhere > 0 && ` ${counted(disks.pending_elsewhere, "pending replica")}, directory not known yet.`}
    </p>
    <ul class="dirs">
      ${disks.cells.map(
        (cell, at) => html`<li key=${cell.directory ?? cell.path ?? at}>
          <span class="cell" data-kind=${cellKind(cell)} aria-hidden="true" />
          <span class="dir-name"><span class="mono">${cell.path ?? "path not known"}</span><small class="mono soft">${cell.directory ?? "id not known"}</small></span>
          <span class="dir-text">${cellText(cell)}</span>
        </li>`,
      )}
    </ul>
  </section>`;
}

const PAGE = 200;

/** The pending replicas, one page at a time; requested again when their number changes. */
function Pending({ cluster, row }) {
  const [page, setPage] = useState(null);
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const request = useRef(null);
  const load = async (cursor) => {
    request.current?.abort();
    const stop = new AbortController();
    request.current = stop;
    setBusy(true);
    try {
      const got = await read(of(cluster, "brokers", row.id, "pending"), { limit: PAGE, cursor }, stop.signal);
      setPage((was) => (cursor ? { ...got, replicas: [...was.replicas, ...got.replicas] } : got));
      setError(null);
    } catch (problem) {
      if (problem.name === "AbortError") return;
      setError(problem);
    }
    setBusy(false);
  };
  useEffect(() => {
    const wait = setTimeout(() => load(null), page ? 1000 : 0);
    return () => clearTimeout(wait);
  }, [cluster, row.id, row.pending]);
  useEffect(() => () => request.current?.abort(), []);
  return html`<section>
    <h3>Pending replicas ${page && html`<span class="num soft">${count(page.total)}</span>`}</h3>
    <${Trouble} error=${error} />
    ${page?.note && html`<p class="soft">${page.note}</p>`}
    ${page && page.expected !== null && page.expected !== page.total && html`<p class="soft">The row counts ${count(page.expected)}: a batch is being processed.</p>`}
    ${page && !page.replicas.length && !error && html`<p class="soft">None: each replica has a known directory.</p>`}
    ${!page && !error && html`<p class="soft">Loading.</p>`}
    ${page?.replicas.length > 0 && html`<${PendingTable} replicas=${page.replicas} />`}
    ${page?.next && html`<button class="button small" disabled=${busy} onClick=${() => load(page.next)}>Show more</button>`}
  </section>`;
}

function PendingTable({ replicas }) {
  return html`<table class="pending">
    <thead><tr><th scope="col">Partition</th><th scope="col">State</th><th scope="col">Directory</th></tr></thead>
    <tbody>
      ${replicas.map(
        (each) => html`<tr key=${`${each.topic}-${each.partition}`}>
          <td class="mono">${each.topic}-${each.partition}</td>
          <td><${Badge} tone="plain"><i class="swatch fill" data-state=${each.state} />${each.state}<//></td>
          <td class="mono">${each.path ?? html`<span class="soft">not known</span>`}</td>
        </tr>`,
      )}
    </tbody>
  </table>`;
}
