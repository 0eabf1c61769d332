/** The axis with its lanes: a bar for each bucket, or in a short range a sign for each event. */
import { html, memo, useLayoutEffect, useRef, useState } from "./html.js";
import { bars, panned, roomy, ticks, zoomed } from "./axis.js";
import { LANES, LANE_WORDS, isBad } from "./events.js";
import { count, counted, time, spaced } from "./format.js";

const LANE_PX = 46;
const TOP_PX = 26;
const LABEL_PX = 7;
/** Space for the whole of a sign at either end. */
const PAD_PX = 8;

/** The element's width, updated when it changes. */
function useWidth(element) {
  const [width, set] = useState(0);
  useLayoutEffect(() => {
    const watch = new ResizeObserver(([entry]) => set(Math.floor(entry.contentRect.width)));
    watch.observe(element.current);
    return () => watch.disconnect();
  }, []);
  return width;
}

/**
 * @param {{range: import("./axis.js").Range, counts: import("./types.js").Timeline|null,
 *     single: readonly import("./types.js").TimelineEvent[]|null,
 *     phases: readonly import("./types.js").TimelineEvent[], lanes: ReadonlySet<string>,
 *     onMove: (range: import("./axis.js").Range) => void, onWhole: () => void,
 *     onFollow: () => void, describe: (text: string|null) => void}} properties
 *     `single`: every event in the range, if they are few enough to be drawn one by one
 */
export function Chart({ range, counts, single, phases, lanes, onMove, onWhole, onFollow, describe }) {
  const frame = useRef(null);
  const width = useWidth(frame);
  const shown = LANES.filter((lane) => lanes.has(lane));
  const height = TOP_PX + shown.length * LANE_PX;
  const span = range.to - range.from;
  const x = (ms) => PAD_PX + ((ms - range.from) / span) * (width - 2 * PAD_PX);
  const at = (event) => momentAt(frame.current, range, event.clientX);
  const drag = useDrag(frame, range, onMove);
  const keys = (event) => {
    const to = keyed(event, range, onWhole, onFollow);
    if (to === undefined) return;
    event.preventDefault();
    if (to) onMove(to);
  };
  useWheel(frame, (event) => onMove(zoomed(range, Math.exp(event.deltaY / 300), at(event))));
  const point = (event) => !drag.active() && describe(pointed(counts, single, shown, event, frame.current, range));
  return html`<div
    ref=${frame}
    class="chart"
    role="group"
    tabindex="0"
    aria-label="Timeline: arrow keys move, plus and minus zoom, 0 is the whole window, End follows"
    onKeyDown=${keys}
    onDblClick=${(event) => onMove(zoomed(range, 0.4, at(event)))}
    onPointerMove=${point}
    onPointerLeave=${() => describe(null)}
    ...${drag.handlers}
  >
    ${width > 0 &&
    html`<svg width=${width} height=${height} aria-hidden="true">
      <${Grid} range=${range} width=${width} height=${height} x=${x} shown=${shown} phases=${phases} />
      ${shown.map((lane, row) => {
        const bottom = TOP_PX + (row + 1) * LANE_PX - 1;
        return single
          ? html`<${Signs} key=${lane} events=${single.filter((each) => each.lane === lane).sort((a, b) => a.at_ms - b.at_ms)} x=${x} end=${width} bottom=${bottom} lane=${lane} />`
          : counts && html`<${LaneBars} key=${lane} counts=${counts} lane=${lane} x=${x} bottom=${bottom} />`;
      })}
    </svg>`}
    <ul class="lane-names" aria-hidden="true">
      ${shown.map((lane, row) => html`<li key=${lane} style=${{ top: `${TOP_PX + row * LANE_PX + 3}px` }}><i class="lane-sign" data-lane=${lane} />${LANE_WORDS[lane]}</li>`)}
    </ul>
  </div>`;
}

/** The moment at a horizontal position on the screen. */
function momentAt(frame, range, clientX) {
  const box = frame.getBoundingClientRect();
  return range.from + ((clientX - box.left - PAD_PX) / (box.width - 2 * PAD_PX)) * (range.to - range.from);
}

function Grid({ range, width, height, x, shown, phases }) {
  const lines = ticks(range, width / 90);
  const marks = phases.filter((each) => each.at_ms >= range.from && each.at_ms < range.to);
  const room = roomy(marks.map((each) => ({ x: x(each.at_ms), width: phaseOf(each).length * LABEL_PX + 8 })), width);
  return html`<g>
    ${shown.map((lane, row) => html`<rect key=${lane} class="lane-back" data-odd=${row % 2 === 1} x="0" y=${TOP_PX + row * LANE_PX} width=${width} height=${LANE_PX} />`)}
    ${lines.map(({ at, label }) => html`<g key=${at} class="tick"><path d=${`M${x(at).toFixed(1)} 16V${height}`} /><text x=${x(at) + 3} y="11">${label}</text></g>`)}
    ${marks.map((each, i) => html`<g key=${each.id} class="phase-mark"><path d=${`M${x(each.at_ms).toFixed(1)} 14V${height}`} />${room[i] && html`<text x=${x(each.at_ms) + 3} y="23">${phaseOf(each)}</text>`}</g>`)}
  </g>`;
}

/** The text of `phase_changed` contains the phase. */
function phaseOf(event) {
  return /^the phase is ([\w-]+)/.exec(event.text)?.[1] ?? event.text;
}

const LaneBars = memo(({ counts, lane, x, bottom }) => {
  const mine = counts.buckets.filter((each) => each.lane === lane);
  const most = Math.max(1, ...counts.buckets.map((each) => each.count));
  const width = Math.max(1.5, x(counts.from_ms + counts.width_ms) - x(counts.from_ms) - 0.5);
  const grave = mine.filter((each) => each.bad > 0);
  return html`<g class="lane-bars" data-lane=${lane}>
    <path d=${bars(mine, x, width, bottom, LANE_PX - 20, most)} />
    <path class="grave" d=${grave.map((each) => sign(x(each.at_ms) + width / 2, bottom - LANE_PX + 12)).join("")} />
  </g>`;
});

/** A triangle, for the events that are most important for an analysis of the past. */
function sign(x, y) {
  return `M${x.toFixed(1)} ${y - 5}l5 9h-10z`;
}

function Signs({ events, x, end, bottom, lane }) {
  const labels = events.map((each) => ({ x: x(each.at_ms), width: each.kind.length * LABEL_PX + 16 }));
  const room = roomy(labels, end);
  return html`<g class="signs" data-lane=${lane}>
    ${events.map((each, i) => {
      const left = x(each.at_ms);
      return html`<g key=${each.id} data-grave=${isBad(each)}>
        <path d=${isBad(each) ? sign(left, bottom - 12) : `M${left.toFixed(1)} ${bottom - 17}l5 5-5 5-5-5z`} />
        ${room[i] && html`<text x=${left + 8} y=${bottom - 8}>${spaced(each.kind)}</text>`}
      </g>`;
    })}
  </g>`;
}

function keyed(event, range, onWhole, onFollow) {
  if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return undefined;
  switch (event.key) {
    case "ArrowLeft":
      return panned(range, -0.2);
    case "ArrowRight":
      return panned(range, 0.2);
    case "+":
    case "=":
      return zoomed(range, 0.5);
    case "-":
      return zoomed(range, 2);
    case "0":
    case "Home":
      onWhole();
      return null;
    case "End":
      onFollow();
      return null;
    default:
      return undefined;
  }
}

/** Ctrl and the wheel zoom, as on a map; the wheel alone scrolls the page. */
function useWheel(element, zoom) {
  const latest = useRef(zoom);
  latest.current = zoom;
  useLayoutEffect(() => {
    const turned = (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      latest.current(event);
    };
    const on = element.current;
    on.addEventListener("wheel", turned, { passive: false });
    return () => on.removeEventListener("wheel", turned);
  }, []);
}

/** One pointer drags, two pinch. */
function useDrag(element, range, onMove) {
  const held = useRef(new Map());
  const begun = useRef(null);
  const moment = (clientX, base) => momentAt(element.current, base, clientX);
  const begin = () => {
    begun.current = { range, xs: [...held.current.values()] };
  };
  return {
    active: () => held.current.size > 0,
    handlers: {
      onPointerDown: (event) => {
        if (event.button !== 0) return;
        element.current.setPointerCapture(event.pointerId);
        held.current.set(event.pointerId, event.clientX);
        begin();
      },
      onPointerMoveCapture: (event) => {
        if (!held.current.has(event.pointerId)) return;
        held.current.set(event.pointerId, event.clientX);
        onMove(dragged(begun.current, [...held.current.values()], moment));
      },
      onPointerUp: (event) => held.current.delete(event.pointerId) && begin(),
      onPointerCancel: (event) => held.current.delete(event.pointerId) && begin(),
    },
  };
}

/** The moment under each pointer stays under it. */
function dragged({ range, xs }, now, moment) {
  const a = moment(xs[0], range);
  if (now.length < 2 || xs.length < 2) {
    const by = a - moment(now[0], range);
    return { from: range.from + by, to: range.to + by };
  }
  const b = moment(xs[1], range);
  const factor = (b - a) / (moment(now[1], range) - moment(now[0], range) || 1);
  const bounded = Math.min(20, Math.max(0.05, Math.abs(factor)));
  return zoomed(range, bounded, (a + b) / 2);
}

/** The description of the element under the pointer. */
function pointed(counts, single, shown, event, frame, range) {
  const box = frame.getBoundingClientRect();
  const lane = shown[Math.floor((event.clientY - box.top - TOP_PX) / LANE_PX)];
  if (!lane) return null;
  const ms = momentAt(frame, range, event.clientX);
  if (single) {
    const near = (8 / box.width) * (range.to - range.from);
    const hit = single.filter((each) => each.lane === lane && Math.abs(each.at_ms - ms) <= near);
    return hit.length ? hit.map((each) => `${time(each.at_ms, { millis: true })} ${spaced(each.kind)} ${each.text}`).slice(0, 3).join("; ") : null;
  }
  const found = counts?.buckets.find((each) => each.lane === lane && each.at_ms <= ms && ms < each.at_ms + counts.width_ms);
  if (!found) return null;
  const kinds = Object.entries(found.kinds).sort((a, b) => b[1] - a[1]);
  const most = kinds.slice(0, 5).map(([kind, many]) => `${count(many)} ${spaced(kind)}`).join(", ");
  const until = time(found.at_ms + counts.width_ms, { date: false });
  return `${time(found.at_ms)} to ${until}, ${LANE_WORDS[lane]}: ${counted(found.count, "event")}: ${most}${kinds.length > 5 ? ", and others" : ""}`;
}
