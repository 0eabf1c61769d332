/** The console's page: messages of the server update the model, and the page draws the model. */
import { Component, html, render, useCallback, useEffect, useState } from "./js/html.js";
import { BrokerSheet } from "./js/broker_sheet.js";
import { Brokers } from "./js/brokers.js";
import { everySecond, now } from "./js/clock.js";
import { currencyOf, isOld, linkText } from "./js/currency.js";
import { Feed } from "./js/feed.js";
import { Announcer, Bar, Broken, InsecureBand, NoCluster, OldBand, Tabs } from "./js/frame.js";
import { GateSheet } from "./js/gate_sheet.js";
import { Hazards } from "./js/hazards.js";
import { Heat } from "./js/heat.js";
import { Now } from "./js/now.js";
import { Overview } from "./js/overview.js";
import { onPrefs, prefs } from "./js/prefs.js";
import { VIEWS, arrive, closeSheets, link, note, route } from "./js/route.js";
import { needsOperator, phaseText } from "./js/rows.js";
import { Runbook } from "./js/runbook.js";
import { ActionDialog } from "./js/action_dialog.js";
import { Locked } from "./js/session.js";
import { changed, whole } from "./js/store.js";
import { Timeline } from "./js/timeline.js";

/** The state of the page: one object, replaced as a whole. */
let known = {
  model: null,
  link: { state: "connecting", why: null, retry_ms: null, received_ms: null },
  locked: null,
};
let draw = () => {};

function put(part) {
  known = { ...known, ...part };
  draw();
}

let fail = () => {};

/** A handler whose failure is shown: without its message, the page would be old. */
function shown(handle) {
  return (message) => {
    try {
      handle(message);
    } catch (error) {
      fail(error);
    }
  };
}

const feed = new Feed({
  state: shown((state) => {
    // This page's files are of the version before.
    if (known.model && state.version !== known.model.version) location.reload();
    else put({ model: whole(state, known.model), locked: null });
  }),
  change: shown((change) => known.model && put({ model: changed(known.model, change) })),
  beat: (beat) => known.model && put({ model: { ...known.model, looked_ms: beat.looked_ms ?? 0 } }),
  link: (one) => put({ link: one }),
  locked: (why) => put({ locked: { why } }),
});

/** The page, until something fails in it. */
class Root extends Component {
  constructor(properties) {
    super(properties);
    fail = (error) => {
      console.error(error);
      this.setState({ broken: true });
    };
  }

  componentDidCatch(error) {
    fail(error);
  }

  render(_, { broken }) {
    return broken ? html`<${Broken} />` : html`<${App} />`;
  }
}

function App() {
  const [, again] = useState(0);
  const [place, setPlace] = useState(route);
  const [action, setAction] = useState(null);
  const [done, setDone] = useState(null);
  const redraw = useCallback(() => again((turn) => turn + 1), []);
  useEffect(() => {
    draw = redraw;
    redraw();
    return onPrefs(redraw);
  }, []);
  useEffect(() => {
    const moved = () => setPlace(arrive());
    window.addEventListener("hashchange", moved);
    return () => window.removeEventListener("hashchange", moved);
  }, []);
  const { model, link: linked } = known;
  const all = model?.clusters ?? [];
  const cluster = (place.cluster === null ? all[0] : all.find((each) => each.name === place.cluster)) ?? null;
  const missing = cluster === null && all.length > 0 ? place.cluster : null;
  const currency = useCurrency(linked, model, cluster);
  const old = isOld(currency);
  const off = linked.state === "open" ? null : `No action is possible now. ${linkText(linked)}`;
  useKeys(cluster, !!action);
  useTitle(cluster, missing, currency, all.find((each) => each !== cluster && needsOperator(each.head.next)));
  useReasons(place);
  useEffect(() => setAction((one) => (one?.cluster === cluster?.name ? one : null)), [cluster?.name]);
  if (known.locked) return html`<${Locked} why=${known.locked.why} onOpen=${() => feed.connect()} />`;

  const query = place.query;
  const broker = query.get("broker");
  const checkpoint = query.get("checkpoint");
  return html`<div class="page" key=${prefs.zone}>
    <div class="sticky">
      <${Bar} model=${model} cluster=${cluster} link=${linked} currency=${currency} view=${place.view} />
      <${InsecureBand} insecure=${model?.insecure} />
      ${missing === null && html`<${OldBand} currency=${currency} link=${linked} />`}
    </div>
    ${missing !== null
      ? html`<${NoCluster} name=${missing} clusters=${all} view=${place.view} />`
      : cluster === null
      ? html`<main id="main" tabindex="-1"><p class="empty boot">${currency.text}</p></main>`
      : html`<div class="body" data-old=${old ? "" : undefined}>
          <${Now} cluster=${cluster} currency=${currency} off=${off} onAct=${setAction} />
          <${Tabs} cluster=${cluster} view=${place.view} />
          <main id="main" tabindex="-1"><${View} key=${cluster.name} view=${place.view} cluster=${cluster} query=${query} /></main>
        </div>`}
    ${cluster && broker !== null && html`<${BrokerSheet} key=${`${cluster.name}/${broker}`} cluster=${cluster} id=${Number(broker)} currency=${currency} onClose=${closeSheets} />`}
    ${cluster && broker === null && checkpoint !== null && html`<${GateSheet} key=${`${cluster.name}/${checkpoint}`} cluster=${cluster} id=${checkpoint} currency=${currency} onClose=${closeSheets} />`}
    ${cluster?.walk && action?.cluster === cluster.name && html`<${ActionDialog} action=${action.name} cluster=${cluster} off=${off} onClose=${() => setAction(null)} onDone=${(output) => {
      setAction(null);
      setDone(output);
    }} />`}
    <${Toast} text=${done} onGone=${() => setDone(null)} />
    <${Announcer} cluster=${cluster} currency=${currency} />
  </div>`;
}

function View({ view, cluster, query }) {
  switch (view) {
    case "brokers":
      return html`<${Brokers} brokers=${cluster.brokers} />`;
    case "directories":
      return html`<${Heat} disks=${cluster.disks} brokers=${cluster.brokers} />`;
    case "timeline":
      return html`<${Timeline} cluster=${cluster} eventsOf=${query.get("events_of")} />`;
    case "runbook":
      return html`<${Runbook} cluster=${cluster} />`;
    case "hazards":
      return html`<${Hazards} hazards=${cluster.hazards} unknown=${cluster.head.hazards_not_known} alerts=${cluster.alerts} />`;
    default:
      return html`<${Overview} cluster=${cluster} />`;
  }
}

/** Scroll to the reasons if the address asks for them; on a phone they are far below. */
function useReasons(place) {
  useEffect(() => {
    if (place.query.get("at") !== "reasons") return;
    note({ at: null });
    const panel = document.getElementById("gate") ?? document.getElementById("waits");
    panel?.closest(".panel").scrollIntoView();
  }, [place]);
}

/** Data becomes stale without any message, so evaluate its currency once a second. */
function useCurrency(linked, model, cluster) {
  const [, again] = useState("");
  const currency = currencyOf(linked, model, cluster);
  useEffect(() => everySecond(() => again(currencyOf(linked, model, cluster).label)), [linked, model, cluster]);
  return currency;
}

/** Single-key shortcuts, if enabled: 1 to 6 for the views, / to filter. */
function useKeys(cluster, busy) {
  useEffect(() => {
    const pressed = (event) => {
      if (!prefs.keys || busy || !cluster || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target.closest("input, select, textarea, dialog, [role=grid], .chart")) return;
      const view = VIEWS[Number(event.key) - 1];
      if (view) location.assign(link(cluster.name, view));
      else if (event.key === "/") document.getElementById("filter")?.focus();
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [cluster?.name, busy]);
}

/** The tab's title and icon show staleness and the need for an operator, too, also of another cluster. */
function useTitle(cluster, missing, currency, other) {
  const old = missing === null && isOld(currency);
  const person = !currency.cut && cluster && needsOperator(cluster.head.next);
  const needs = person ? "Needs a person: " : other && !currency.cut ? `${other.name} needs a person: ` : "";
  const sign = needs ? "person" : old ? "old" : "";
  const prefix = `${old ? `${currency.label}: ` : ""}${needs}`;
  useEffect(() => {
    const about = cluster ? `${cluster.name}, ${phaseText(cluster.head)} · ` : missing === null ? "" : `no cluster ${missing} · `;
    document.title = cluster || missing !== null ? `${prefix}${about}Kraftgate` : "Kraftgate";
    const icon = document.querySelector("link[rel=icon]");
    const wanted = `static/icon${sign ? `-${sign}` : ""}.svg`;
    if (icon.getAttribute("href") !== wanted) icon.setAttribute("href", wanted);
  }, [cluster?.name, cluster?.head.phase, missing, prefix, sign]);
}

function Toast({ text, onGone }) {
  useEffect(() => {
    if (text === null) return undefined;
    const gone = setTimeout(onGone, 8000);
    return () => clearTimeout(gone);
  }, [text]);
  return html`<p class="toast" role="status" data-shown=${text !== null}>${text}</p>`;
}

const root = document.getElementById("app");
root.replaceChildren();
render(html`<${Root} />`, root);
feed.connect();

/** For the tests and the benchmark: the state of the page, and its clock. */
window.kraftgate = { now, known: () => known };
