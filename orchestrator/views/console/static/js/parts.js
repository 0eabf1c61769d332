/** Small components that several views share. */
import { html, memo, useEffect, useRef, useState } from "./html.js";
import { Icon } from "./icons.js";
import { count } from "./format.js";

const LIVE_MS = 1500;

/** In the order of the bar: from the left, the replicas that have a directory. */
export const REPLICA_STATES = /** @type {const} */ ([
  "assigned",
  "migrating",
  "unassigned",
  "offline",
  "lost",
  "reserved",
]);

/** The meaning of each state, for the legend. */
export const STATE_WORDS = {
  assigned: "in a known directory",
  migrating: "came from ZooKeeper, directory not reported yet",
  unassigned: "new, directory not reported yet",
  offline: "in a directory that its broker lacks",
  lost: "its directory is gone, and it has no other yet",
  reserved: "a reserved directory id without a meaning",
};

/** Replicas as text: `224 assigned, 118 migrating`. */
export function replicasText(replicas) {
  if (!replicas) return "not in the metadata log yet";
  const present = REPLICA_STATES.filter((state) => replicas[state] > 0);
  if (!present.length) return "no replicas";
  return present.map((state) => `${count(replicas[state])} ${state}`).join(", ");
}

/** A broker's replicas as a bar: colour and pattern by state; the smallest part stays visible. */
export const Bar = memo(({ replicas }) => {
  const present = REPLICA_STATES.filter((state) => replicas?.[state] > 0);
  return html`<span class="bar" role="img" aria-label=${replicasText(replicas)} data-none=${!present.length}>
    ${present.map(
      (state) =>
        html`<span key=${state} class="fill" data-state=${state} style=${{ flexGrow: replicas[state] }} />`,
    )}
  </span>`;
});

export function Legend({ states = REPLICA_STATES, label = "Replicas" }) {
  return html`<ul class="legend" aria-label=${`${label}: what the bar shows`}>
    ${states.map(
      (state) => html`<li key=${state} title=${STATE_WORDS[state]}>
        <span class="swatch fill" data-state=${state} />${state}
      </li>`,
    )}
    <li title="none, or the metadata log does not have them yet"><span class="swatch" data-none="true" />none known</li>
  </ul>`;
}

const TONES = {
  satisfied: "ok",
  waiting: "warn",
  violated: "bad",
  unknown: "odd",
};

/** A verdict as an icon and a text. */
export function Verdict({ verdict }) {
  return html`<span class="verdict" data-tone=${TONES[verdict]}>
    <${Icon} name=${verdict} />${verdict}
  </span>`;
}

/** @param {{tone: string, icon?: string, children: unknown, title?: string}} properties */
export function Badge({ tone, icon, children, title }) {
  return html`<span class="badge" data-tone=${tone} title=${title}>
    ${icon && html`<${Icon} name=${icon} />`}${children}
  </span>`;
}

/** A sentence; what is between backticks is code. @param {{text: string}} properties */
export function Sentence({ text }) {
  return text.split("`").map((part, at) => (at % 2 ? html`<code>${part}</code>` : part));
}

/** A list of facts, one per line. */
export function Lines({ lines, label }) {
  if (!lines?.length) return null;
  return html`<ul class="lines" aria-label=${label}>
    ${lines.map((line, at) => html`<li key=${at}>${line}</li>`)}
  </ul>`;
}

/** The finding about a condition; its evidence can be expanded. */
export const Finding = memo(({ finding, open = false }) => {
  const { condition, verdict, reason, evidence } = finding;
  const head = html`<${Verdict} verdict=${verdict} /><code>${condition}</code>
    <span class="reason">${reason}</span>`;
  if (!evidence.length) return html`<li class="finding"><div class="finding-head">${head}</div></li>`;
  return html`<li class="finding">
    <details open=${open}>
      <summary class="finding-head">${head}<${Icon} name="more" /></summary>
      <${Lines} lines=${evidence} label="Evidence" />
    </details>
  </li>`;
});

const ORDER = ["violated", "unknown", "waiting", "satisfied"];

/** The findings, the most severe first. */
export function Findings({ findings, label, open }) {
  const sorted = [...findings].sort((a, b) => ORDER.indexOf(a.verdict) - ORDER.indexOf(b.verdict));
  return html`<ul class="findings" aria-label=${label}>
    ${sorted.map(
      (each) => html`<${Finding}
        key=${`${each.condition}/${each.broker}`}
        finding=${each}
        open=${open}
      />`,
    )}
  </ul>`;
}

/** A section of the page with its heading. */
export function Panel({ title, note, end, class: name = "", id, children }) {
  return html`<section class=${`panel ${name}`} aria-labelledby=${id}>
    <header>
      <h2 id=${id}>${title}</h2>
      ${note && html`<span class="soft">${note}</span>`}
      ${end && html`<span class="end">${end}</span>`}
    </header>
    ${children}
  </section>`;
}

/** An error message with the fix. */
export function Trouble({ error }) {
  if (!error) return null;
  return html`<p class="trouble" role="alert">
    <${Icon} name="violated" /><span>${error.message}${error.fix && html` <em>${error.fix}</em>`}</span>
  </p>`;
}

/** A button that copies a text; without a clipboard there is none, and the text can be selected. */
function Copy({ text }) {
  const [copied, setCopied] = useState(false);
  if (!navigator.clipboard) return null;
  const copy = () => navigator.clipboard.writeText(text).then(() => setCopied(true), () => setCopied(false));
  return html`<button type="button" class="button small" onClick=${copy} aria-label=${`Copy ${text}`}>${copied ? "Copied" : "Copy"}</button>`;
}

/** A command that can be copied. @param {{text: string}} properties */
export function Command({ text }) {
  const words = text.split(" ").map((each, at) => html`${at > 0 && " "}<span key=${at}>${each}</span>`);
  return html`<p class="command"><code>${words}</code><${Copy} text=${text} /></p>`;
}

/** The instructions for a manual step, as in the runbook; its indented lines can be copied. */
export function Todo({ text }) {
  return html`<div class="todo" role="group" aria-label="What is to be done by hand">
    ${blocks(text.trim()).map((each, at) => (each.code ? html`<${Code} key=${at} text=${each.text} />` : html`<pre key=${at}>${each.text}</pre>`))}
  </div>`;
}

function Code({ text }) {
  return html`<div class="code"><pre tabindex="0" aria-label="To copy">${text}</pre><${Copy} text=${text} /></div>`;
}

/** A shorter line of a runbook's text ends where its author wanted it to. */
const BROKEN_AT = 64;

/** The text as blocks: lines that are indented by four or more are commands or settings. @param {string} text */
function blocks(text) {
  const found = [];
  let before = "";
  for (const line of text.split("\n")) {
    const code = /^ {4,}\S/.test(line);
    const last = found.at(-1);
    if (last && !last.code && !code && isContinued(before, line)) last.lines.push(`${last.lines.pop()} ${line.trim()}`);
    else if (last && (last.code === code || line.trim() === "")) last.lines.push(line);
    else found.push({ code, lines: [line] });
    before = line;
  }
  return found.map(({ code, lines }) => ({ code, text: code ? unindented(lines) : lines.join("\n").trimEnd() }));
}

/** Whether a line continues the one before: a sentence that was broken because it was long. */
function isContinued(before, line) {
  return before.length >= BROKEN_AT && line.trim() !== "" && !/^\s*(-|\d+\.) /.test(line);
}

/** @param {string[]} lines */
function unindented(lines) {
  const margin = Math.min(...lines.filter((each) => each.trim()).map((each) => each.search(/\S/)));
  return lines.map((each) => each.slice(margin)).join("\n").trimEnd();
}

/** On new events, request the data again, but not more often than an operator can read. */
export function useLive(turn, load) {
  const latest = useRef(load);
  latest.current = load;
  const known = useRef(turn);
  const timer = useRef(0);
  useEffect(() => {
    if (known.current === turn || timer.current) return;
    timer.current = setTimeout(() => {
      timer.current = 0;
      latest.current();
    }, LIVE_MS);
    known.current = turn;
  }, [turn]);
  useEffect(() => () => clearTimeout(timer.current), []);
}
