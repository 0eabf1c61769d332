/** The timeline of decisions and of all sources' events on one axis; to zoom, move and filter. */
import { html, useCallback, useEffect, useMemo, useRef, useState } from "./html.js";
import { of, read } from "./api.js";
import { panned, within, zoomed } from "./axis.js";
import { now } from "./clock.js";
import { EventList, LANES, LANE_WORDS } from "./events.js";
import { Icon } from "./icons.js";
import { Panel, Trouble, useLive } from "./parts.js";
import { note, route } from "./route.js";
import { Chart } from "./timeline_chart.js";
import { count, counted, duration, time, spaced, zoneName } from "./format.js";

const BUCKETS = 240;
const PAGE = 200;
const SETTLE_MS = 120;

/**
 * @param {{cluster: import("./store.js").Cluster, eventsOf: string|null}} properties
 *     `eventsOf`: the broker in the address
 */
export function Timeline({ cluster, eventsOf }) {
  const { name, turn } = cluster;
  const address = useMemo(() => fromAddress(), [name]);
  const [window_, setWindow] = useState(null);
  const [range, setRange] = useState(address.range);
  const [lanes, setLanes] = useState(() => new Set(LANES));
  const [kind, setKind] = useState(address.kind);
  const [broker, setBroker] = useState(address.broker);
  const [counts, setCounts] = useState(null);
  const [page, setPage] = useState(null);
  const [phases, setPhases] = useState([]);
  const [error, setError] = useState(null);
  const [pointed, describe] = useState(null);
  const filter = useMemo(() => ({ kind: kind || null, broker: broker || null, lane: lanes.size === LANES.length ? null : [...lanes] }), [kind, broker, lanes]);
  const stop = useRef(null);

  const load = useCallback(async () => {
    stop.current?.abort();
    stop.current = new AbortController();
    const { signal } = stop.current;
    const bounds = range ? { from_ms: range.from, to_ms: range.to } : {};
    const show = (all) => setWindow({ from: all.from_ms, to: Math.max(all.to_ms, all.from_ms + 1000), counts: all });
    const ask = (what, query, put) => read(of(name, what), query, signal).then(put);
    try {
      // Each response is drawn when it arrives: the axis does not wait for the list.
      await Promise.all([
        ask("timeline", { buckets: BUCKETS }, show),
        ask("timeline", { ...bounds, buckets: BUCKETS, ...filter }, setCounts),
        // Older ones that were asked for stay: the newest are put before them.
        ask("events", { ...bounds, ...filter, limit: PAGE }, (got) => setPage((was) => joined(got, was, range, filter))),
        ask("events", { kind: "phase_changed", order: "oldest", limit: PAGE }, (got) => setPhases(got.events)),
      ]);
      setError(null);
    } catch (problem) {
      if (problem.name !== "AbortError") setError(problem);
    }
  }, [name, range, filter]);

  useEffect(() => {
    const wait = setTimeout(load, counts ? SETTLE_MS : 0);
    return () => clearTimeout(wait);
  }, [load]);
  useLive(turn, load);
  useEffect(() => {
    if (eventsOf !== null) setBroker(eventsOf);
  }, [eventsOf]);
  useEffect(() => () => stop.current?.abort(), []);
  useEffect(() => note({ from: range?.from, to: range?.to, kind, events_of: broker }), [range, kind, broker]);

  const visible = range ?? (window_ && { from: window_.from, to: window_.to });
  const move = useCallback(
    (to) => {
      if (!window_) return;
      const bounds = { from: window_.from, to: Math.max(window_.to, now()) };
      setRange(within(to, bounds));
    },
    [window_],
  );
  const older = async () => {
    const more = await read(of(name, "events"), { ...(range ? { from_ms: range.from, to_ms: range.to } : {}), ...filter, limit: PAGE, cursor: page.next });
    setPage((was) => ({ ...more, range, filter, events: [...was.events, ...more.events] }));
  };
  const whole = () => setRange(null);
  const follow = () => window_ && visible && setRange(within({ from: now() - (visible.to - visible.from), to: now() }, { from: window_.from, to: now() }));
  // The events of another range or filter are not complete.
  const every = page !== null && page.next === null && page.range === range && page.filter === filter;

  return html`<div class="timeline">
    <${Panel} id="timeline" title="Timeline" note=${visible && `${time(visible.from, { now: now() })} to ${time(visible.to, { now: now() })} ${zoneName()}, ${duration(visible.to - visible.from)}`}>
      <${Tools} lanes=${lanes} setLanes=${setLanes} counts=${window_?.counts} kind=${kind} setKind=${setKind} broker=${broker} setBroker=${setBroker} brokers=${cluster.brokers} />
      <div class="tools moves" role="group" aria-label="Move">
        <button class="button small" aria-label="Earlier" disabled=${!visible} onClick=${() => move(panned(visible, -0.5))}><${Icon} name="left" /></button>
        <button class="button small" aria-label="Later" disabled=${!visible} onClick=${() => move(panned(visible, 0.5))}><${Icon} name="right" /></button>
        <button class="button small" aria-label="Zoom in" disabled=${!visible} onClick=${() => move(zoomed(visible, 0.5))}><${Icon} name="plus" /></button>
        <button class="button small" aria-label="Zoom out" disabled=${!visible} onClick=${() => move(zoomed(visible, 2))}><${Icon} name="dash" /></button>
        <button class="button small" aria-pressed=${range === null ? "true" : "false"} onClick=${whole}>Whole window</button>
        <button class="button small" disabled=${!visible} onClick=${follow}>Up to now</button>
        <span class="soft num">${counts && counted(counts.total, "event")}</span>
      </div>
      <${Trouble} error=${error} />
      ${window_ && visible && html`<${Strip} window=${window_} visible=${visible} onMove=${move} />`}
      ${visible && html`<${Chart} range=${visible} counts=${counts} single=${every ? page.events : null} phases=${phases} lanes=${lanes} onMove=${move} onWhole=${whole} onFollow=${follow} describe=${describe} />`}
      <p class="heat-text">${pointed ?? html`<span class="soft">Drag to move, Ctrl and the wheel or two fingers to zoom. Bars are logarithmic.</span>`}</p>
      <p class="hidden" role="status">${counts && visible ? `${counted(counts.total, "event")} from ${time(visible.from)} to ${time(visible.to)}` : ""}</p>
    <//>
    <${Panel} id="events" title="Events" note=${page && (every ? counted(page.events.length, "event") : `the newest ${count(page.events.length)}`)}>
      ${page?.events.length ? html`<${EventList} events=${page.events} label="Events, the newest first" />` : page && html`<p class="empty">No event here.</p>`}
      ${page?.next && html`<p class="panel-more"><button class="button small" onClick=${() => older().catch(setError)}>Older ones</button></p>`}
    <//>
  </div>`;
}

function Tools({ lanes, setLanes, counts, kind, setKind, broker, setBroker, brokers }) {
  const toggle = (lane) => {
    const next = new Set(lanes);
    if (!next.delete(lane)) next.add(lane);
    setLanes(next.size ? next : new Set(LANES));
  };
  const kinds = Object.entries(counts?.kinds ?? {}).sort(([a], [b]) => a.localeCompare(b));
  return html`<div class="tools" role="group" aria-label="Which events">
    <div class="chips">
      ${LANES.map(
        (lane) => html`<button key=${lane} class="chip" aria-pressed=${lanes.has(lane) ? "true" : "false"} onClick=${() => toggle(lane)}>
          <i class="lane-sign" data-lane=${lane} aria-hidden="true" />${LANE_WORDS[lane]} <span class="num">${count(counts?.lanes[lane] ?? 0)}</span>
        </button>`,
      )}
    </div>
    <select id="filter" aria-label="Kind of event" value=${kind} onChange=${(event) => setKind(event.target.value)}>
      <option value="">Every kind</option>
      ${kind && !counts?.kinds[kind] && html`<option value=${kind}>${spaced(kind)}</option>`}
      ${kinds.map(([each, many]) => html`<option key=${each} value=${each}>${spaced(each)} (${count(many)})</option>`)}
    </select>
    <select aria-label="Broker" value=${broker} onChange=${(event) => setBroker(event.target.value)}>
      <option value="">Every broker</option>
      ${brokers.map(({ id }) => html`<option key=${id} value=${String(id)}>broker ${id}</option>`)}
    </select>
  </div>`;
}

/** The whole window in small, with the visible range; a click or a drag moves the range. */
function Strip({ window: whole, visible, onMove }) {
  const span = whole.to - whole.from;
  const left = ((visible.from - whole.from) / span) * 100;
  const width = Math.max(0.5, ((visible.to - visible.from) / span) * 100);
  const totals = new Map();
  for (const { at_ms: at, count: many } of whole.counts.buckets) totals.set(at, (totals.get(at) ?? 0) + many);
  const most = Math.log2(1 + Math.max(1, ...totals.values()));
  const d = [...totals].map(([at, many]) => `M${(((at - whole.from) / span) * 1000).toFixed(1)} 20v${(-2 - (Math.log2(1 + many) / most) * 17).toFixed(1)}`).join("");
  const there = (event) => {
    if (event.type === "pointermove" && event.buttons !== 1) return;
    const box = event.currentTarget.getBoundingClientRect();
    const centre = whole.from + ((event.clientX - box.left) / box.width) * span;
    const half = (visible.to - visible.from) / 2;
    onMove({ from: centre - half, to: centre + half });
  };
  return html`<div class="strip" aria-hidden="true" onPointerDown=${there} onPointerMove=${there}>
    <svg viewBox="0 0 1000 20" preserveAspectRatio="none"><path d=${d} /></svg>
    <span class="strip-range" style=${{ left: `${left}%`, width: `${width}%` }} />
  </div>`;
}

function fromAddress() {
  const { query } = route();
  const [from, to] = [Number(query.get("from")), Number(query.get("to"))];
  return { range: from && to > from ? { from, to } : null, kind: query.get("kind") ?? "", broker: query.get("events_of") ?? "" };
}

/** The newest page, and below it the older ones of the same range and filter that were loaded before. */
function joined(got, was, range, filter) {
  const page = { ...got, range, filter };
  if (!was || was.events.length <= PAGE || was.range !== range || was.filter !== filter) return page;
  const last = got.events.at(-1);
  const from = was.events.findIndex((each) => each.id === last?.id);
  return from < 0 ? page : { ...page, next: was.next, events: [...got.events, ...was.events.slice(from + 1)] };
}
