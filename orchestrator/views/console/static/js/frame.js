/** The frame of every view: clusters, currency, settings, the views' tabs. */
import { html, memo, useEffect, useLayoutEffect, useRef, useState } from "./html.js";
import { Since, now } from "./clock.js";
import { currencyOf, isOld } from "./currency.js";
import { Icon } from "./icons.js";
import { isUnsettled, needsOperator, phaseText } from "./rows.js";
import { onPrefs, prefs, setPrefs } from "./prefs.js";
import { link } from "./route.js";
import { counted, duration, time, zoneName } from "./format.js";

const CURRENCY_ICONS = {
  present: "dot",
  partial: "half",
  reading: "half",
  settled: "ring",
  old: "cross",
  nothing: "unknown",
};

/** Whether the shown state is current, as a text and a shape. */
export const CurrencyChip = memo(({ kind, label, as_of_ms }) => {
  return html`<span class="currency" data-kind=${kind} data-testid="currency">
    <${Icon} name=${CURRENCY_ICONS[kind]} /><b>${label}</b>
    ${as_of_ms !== null && html`<${Since} at=${as_of_ms} class="soft" />`}
  </span>`;
});

export function Bar({ model, cluster, link: linked, currency, view }) {
  const clusters = model?.clusters ?? [];
  return html`<header class="top">
    <a class="skip" href="#main" onClick=${skipToMain}>Skip to what is shown</a>
    <h1 class="brand"><img src="static/icon.svg" alt="" width="18" height="18" />Kraftgate</h1>
    ${clusters.length === 1 && cluster && html`<span class="cluster-name">${cluster.name}</span>`}
    ${clusters.length > 1 && html`<${Clusters} model=${model} cluster=${cluster} link=${linked} view=${view} />`}
    <span class="top-end">
      <${CurrencyChip} kind=${currency.kind} label=${currency.label} as_of_ms=${currency.as_of_ms} />
      <${Settings} version=${model?.version} />
    </span>
  </header>`;
}

function Clusters({ model, cluster, link: linked, view }) {
  const list = useScroller(cluster?.name);
  return html`<nav class="clusters" aria-label="Clusters">
    <ul ref=${list}>
      ${model.clusters.map((each) => html`<li key=${each.name}>
        <${ClusterLink} cluster=${each} here=${each === cluster} currency=${currencyOf(linked, model, each)} view=${view} />
      </li>`)}
    </ul>
  </nav>`;
}

/** Instead of a cluster that the console does not have, as an old link may name. */
export function NoCluster({ name, clusters, view }) {
  return html`<main id="main" tabindex="-1" class="boot">
    <p><${Icon} name="alert" /> This console has no cluster ${name}. It has:</p>
    <ul>
      ${clusters.map((each) => html`<li key=${each.name}><a href=${link(each.name, view)}>${each.name}</a></li>`)}
    </ul>
  </main>`;
}

function ClusterLink({ cluster, here, currency: one, view }) {
  const { head, hazards } = cluster;
  const trouble = isOld(one) ? one.label : needsOperator(head.next) ? "needs a person" : null;
  const critical = hazards.some((each) => each.severity === "critical");
  return html`<a href=${link(cluster.name, view)} aria-current=${here ? "true" : undefined} data-trouble=${!!trouble}>
    <b>${cluster.name}</b>
    <span class="cluster-state">
      ${(trouble || critical) && html`<${Icon} name=${isOld(one) ? "cross" : "alert"} />`}
      ${" "}${trouble ?? phaseText(head)}${!trouble && head.held > 0 ? ` · ${head.held} held` : ""}
    </span>
  </a>`;
}

/** Following the link would replace the address, which contains the current view. */
function skipToMain(event) {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

/** Shown on every page, also before the token is entered, while `insecure: true` is configured. */
export function InsecureBand({ insecure }) {
  if (!insecure) return null;
  return html`<p class="insecure" data-testid="insecure">
    <${Icon} name="alert" /> Plain HTTP (<code>insecure: true</code>): the token and this page can be read on the network.
  </p>`;
}

/** Instead of the page, if a message or the drawing of it fails: it would show the state before for ever. */
export function Broken() {
  useEffect(() => {
    document.title = "stale: Kraftgate";
    document.querySelector("link[rel=icon]").setAttribute("href", "static/icon-old.svg");
  }, []);
  const reload = (event) => {
    event.preventDefault();
    location.reload();
  };
  return html`<div class="page">
    <header class="top">
      <h1 class="brand"><img src="static/icon.svg" alt="" width="18" height="18" />Kraftgate</h1>
      <span class="top-end"><${CurrencyChip} kind="old" label="stale" as_of_ms=${null} /></span>
    </header>
    <main id="main">
      <div class="old-band" data-kind="old" role="alert">
        <p class="old-title"><${Icon} name="cross" />This page cannot show what it receives.</p>
        <p class="old-text"><a href=${location.href} onClick=${reload}>Reload it.</a></p>
      </div>
    </main>
  </div>`;
}

/** A stale state is marked across the whole page, with its age. */
export function OldBand({ currency, link: linked }) {
  if (["present", "partial", "settled"].includes(currency.kind)) return null;
  const past = currency.kind === "old";
  return html`<div class="old-band" data-kind=${currency.kind} role="alert">
    <p class="old-title"><${Icon} name=${CURRENCY_ICONS[currency.kind]} />${currency.title}</p>
    <p class="old-text">
      ${currency.text}
      ${past &&
      currency.as_of_ms !== null &&
      html` <b>The data below is from ${time(currency.as_of_ms, { now: now() })} ${zoneName()}.</b>`}
    </p>
    ${past && currency.as_of_ms !== null && html`<p class="old-age" aria-hidden="true"><${Since} at=${currency.as_of_ms} format=${duration} /><small>old</small></p>`}
    ${linked.retry_ms !== null && html`<p class="old-retry soft" aria-hidden="true"><${Since} at=${linked.retry_ms} format=${retryText} /></p>`}
  </div>`;
}

function retryText(since) {
  return since >= -500 ? "Trying again now." : `Trying again in ${duration(-since + 500)}.`;
}

export function Tabs({ cluster, view }) {
  const { head, brokers, hazards, alerts, disks, walk } = cluster;
  const unsettled = brokers.filter(isUnsettled).length;
  const offline = disks.reduce((sum, each) => sum + each.cells.filter((one) => one.state === "offline").length, 0);
  const unknown = head.hazards_not_known.length > 0;
  const tabs = [
    ["overview", "Overview"],
    ["brokers", "Brokers", unsettled ? `${unsettled} of ${brokers.length} not in order` : `${brokers.length}`, unsettled > 0],
    ["directories", "Directories", offline ? `${offline} offline` : null, offline > 0],
    ["timeline", "Timeline"],
    ["runbook", "Runbook", walk?.paused ? "paused" : null],
    ["hazards", "Hazards", harmText(hazards.length, alerts.length, unknown), hazards.length + alerts.length > 0 || unknown],
  ];
  const list = useScroller(view);
  return html`<nav class="tabs" aria-label="Views">
    <ul ref=${list}>
      ${tabs.map(
        ([name, title, note, loud]) => html`<li key=${name}>
          <a href=${link(cluster.name, name)} aria-current=${name === view ? "page" : undefined}>
            ${title}${note && html`<span class="tab-note" data-loud=${!!loud}>${note}</span>`}
          </a>
        </li>`,
      )}
    </ul>
  </nav>`;
}

function harmText(hazards, alerts, unknown) {
  const parts = [];
  if (hazards || (alerts && !unknown)) parts.push(`${hazards}`);
  if (unknown) parts.push(hazards ? "others not known" : "not known");
  if (alerts) parts.push(counted(alerts, "alert"));
  return parts.join(", ") || "none";
}

/** Keeps the current entry in sight, and marks the sides on which there are more. @param {string|undefined} current */
function useScroller(current) {
  const list = useRef(null);
  const mark = () => {
    if (!list.current) return;
    const { scrollLeft, clientWidth, scrollWidth, parentElement } = list.current;
    parentElement.dataset.before = scrollLeft > 1;
    parentElement.dataset.after = scrollLeft + clientWidth < scrollWidth - 1;
  };
  useLayoutEffect(mark);
  useLayoutEffect(() => {
    const here = list.current.querySelector("[aria-current]");
    if (here) list.current.scrollLeft = here.offsetLeft - (list.current.clientWidth - here.offsetWidth) / 2;
  }, [current]);
  useEffect(() => {
    const watch = new ResizeObserver(mark);
    watch.observe(list.current);
    list.current.addEventListener("scroll", mark, { passive: true });
    return () => watch.disconnect();
  }, []);
  return list;
}

function Settings({ version }) {
  const [, again] = useState(0);
  const popover = useRef(null);
  useEffect(() => onPrefs(() => again((turn) => turn + 1)), []);
  return html`<button class="button small" popovertarget="settings" aria-label="Settings">
      <${Icon} name="gear" />
    </button>
    <div id="settings" popover ref=${popover} class="settings" aria-label="Settings" role="dialog">
      <${Choice} name="theme" title="Theme" values=${["system", "light", "dark"]} />
      <${Choice} name="zone" title="Times in" values=${["local", "utc"]} />
      <label class="check">
        <input type="checkbox" checked=${prefs.keys} onChange=${(event) => setPrefs({ keys: event.target.checked })} />
        Single keys: 1 to 6 for the views, / to filter
      </label>
      <p class="soft">${version ? `Kraftgate ${version}` : "Kraftgate"}</p>
    </div>`;
}

const CHOICES = { system: "System", light: "Light", dark: "Dark", utc: "UTC", local: "Local time" };

function Choice({ name, title, values }) {
  return html`<fieldset class="choice">
    <legend>${title}</legend>
    ${values.map(
      (value) => html`<label key=${value}>
        <input
          type="radio"
          name=${name}
          value=${value}
          checked=${prefs[name] === value}
          onChange=${() => setPrefs({ [name]: value })}
        />
        <span>${CHOICES[value]}</span>
      </label>`,
    )}
  </fieldset>`;
}

/** Announces important changes to screen readers; not every number that changes. */
export function Announcer({ cluster, currency }) {
  const [text, setText] = useState("");
  const announced = cluster && [
    cluster.head.phase,
    cluster.walk?.checkpoint ?? "",
    cluster.head.next.need,
  ].join();
  useEffect(() => {
    if (!cluster || currency.cut) return;
    const { phase, next } = cluster.head;
    const where = cluster.walk?.checkpoint ? `, checkpoint ${cluster.walk.checkpoint}` : "";
    const person = needsOperator(next) ? ` ${next.text}.` : "";
    setText(`Cluster ${cluster.name}: phase ${phase ?? "unknown"}${where}.${person}`);
  }, [announced, currency.cut]);
  return html`<p class="hidden" role="status">${text}</p>`;
}
