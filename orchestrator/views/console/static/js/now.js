/** The top of a cluster: its phase, the next action, the checkpoint, the operator's actions. */
import { html, memo, useLayoutEffect, useRef } from "./html.js";
import { Since, now } from "./clock.js";
import { isOld, silentSources } from "./currency.js";
import { Icon } from "./icons.js";
import { Command, Todo } from "./parts.js";
import { link, manualLink, sheetLink } from "./route.js";
import { etaTimes } from "./rows.js";
import { counted, duration, time } from "./format.js";

/**
 * @param {{cluster: import("./store.js").Cluster, currency: import("./currency.js").Currency,
 *     off: string|null, onAct: (action: {name: string, cluster: string}) => void}} properties
 *     `off`: why no action is possible
 */
export function Now({ cluster, currency, off, onAct }) {
  const { head, walk } = cluster;
  const tone = currency.cut ? "old" : head.next.need;
  return html`<section class="now" aria-label="Now" data-tone=${tone}>
    <${Phases} phases=${head.phases} since=${head.phase_since_ms} />
    <${NextAction} next=${head.next} eta=${head.eta} name=${cluster.name} tone=${tone} output=${walk?.output} />
    <${Silent} sources=${silentSources(cluster)} />
    <${Execution} cluster=${cluster} off=${off} stale=${isOld(currency)} onAct=${onAct} />
  </section>`;
}

const SOURCE_WORDS = { metadata_log: "the metadata log", zookeeper: "ZooKeeper", log_dirs: "the disks", jmx: "JMX" };

/** Sources that are not current although they should be: everything derived from them is stale. */
function Silent({ sources }) {
  if (!sources.length) return null;
  return html`<ul class="silent" aria-label="Sources that are not current">
    ${sources.map((each) => {
      const why = each.error ?? each.why_not ?? each.waiting;
      return html`<li key=${each.name}><${Icon} name="cross" /><span><b>Not current: ${SOURCE_WORDS[each.name]}.</b>${why && ` ${why}`}</span></li>`;
    })}
  </ul>`;
}

const Phases = memo(({ phases, since }) => {
  return html`<ol class="phases" aria-label="Phases of the migration">
    ${phases.map(
      ({ phase, state }) => html`<li key=${phase} data-state=${state} aria-current=${state === "here" ? "step" : undefined}>
        <span class="phase-name">${phase}${state === "behind" && html`<span class="hidden"> (behind)</span>`}</span>
        ${state === "here" && since !== null && html`<small><${Since} at=${since} format=${forText} /></small>`}
      </li>`,
    )}
  </ol>`;
});

function forText(ms) {
  return `for ${duration(Math.max(1000, ms))}`;
}

const EYEBROWS = {
  wrong: "Something is wrong",
  your_turn: "Your turn",
  waiting: "Waiting, nobody has to act",
  nothing: "Nothing to do",
  old: "Last known; the data is stale",
};
const TONE_ICONS = { wrong: "alert", your_turn: "play", waiting: "waiting", nothing: "satisfied", old: "cross" };

/** Where the overview lists the reasons. */
const REASONS = { at: "reasons" };

/** The next action: what to do now, why, where to read more; below it the step that is done by hand. */
const NextAction = memo(({ next, eta, name, tone, output }) => {
  return html`<div class="wait">
    <h2 class="wait-head" id="waiting">
      <span class="need"><b class="need-name" data-testid="need"><${Icon} name=${TONE_ICONS[tone]} />${EYEBROWS[tone]}</b>${next.place && html`<span class="need-place">${next.place}</span>`}</span>
      <span class="wait-text" data-testid="waiting">${next.text}</span>
    </h2>
    ${next.why && html`<p class="wait-why" data-testid="why">${next.why}</p>`}
    ${output?.length > 0 && html`<${Output} lines=${output} />`}
    ${next.commands.map((each) => html`<${Command} key=${each} text=${each} />`)}
    ${next.instructions && html`<${Todo} text=${next.instructions} />`}
    <ul class="wait-meta">
      ${next.since_ms !== null && html`<li>since ${time(next.since_ms, { now: now() })}, <${Since} at=${next.since_ms} format=${duration} /></li>`}
      ${next.broker !== null && html`<li><a href=${sheetLink({ broker: next.broker })}>broker ${next.broker}</a></li>`}
      ${next.need !== "nothing" && html`<li><a href=${manualLink(next.topic)} target="_blank" rel="noopener">Read more in the manual</a></li>`}
      ${next.more > 0 && html`<li><a href=${link(name, "overview", REASONS)}>and ${counted(next.more, "more reason")}</a></li>`}
    </ul>
    ${eta && tone === "waiting" && html`<${EtaText} eta=${eta} what="No broker held any more" />`}
  </div>`;
});

/** The last lines of a hook's output; the very last ones are in sight. @param {{lines: readonly string[]}} properties */
const Output = memo(({ lines }) => {
  const box = useRef(null);
  useLayoutEffect(() => {
    box.current.scrollTop = box.current.scrollHeight;
  }, [lines]);
  return html`<pre ref=${box} class="wait-output" tabindex="0" aria-label="The last lines of the hook's output">${lines.join("\n")}</pre>`;
});

/** An estimate with its interval and its basis, or the reason why there is none. */
export function EtaText({ eta, what }) {
  const times = etaTimes(eta);
  if (times === null) return html`<p class="eta">Estimate: ${eta.how}</p>`;
  return html`<p class="eta">
    <b>${what} <${Since} at=${times.at} format=${inText} /></b>
    <span class="num">(${time(times.earliest, { now: now() })} to ${time(times.latest, { now: now() })})</span>
    <span class="soft"> ${eta.how}, estimated <${Since} at=${eta.made_at_ms} /></span>
  </p>`;
}

/** The ms since an estimated moment as text; negative: it is in the future. */
export function inText(since) {
  return since < 0 ? `in about ${duration(-since)}` : `due ${duration(since)} ago`;
}

/** The operator's actions on the execution. */
export const ACTIONS = {
  approve: { label: "Approve", icon: "satisfied", primary: true },
  done: { label: "Done", icon: "satisfied", primary: true },
  repeat: { label: "Repeat the step", icon: "play", primary: true },
  execute: { label: "Let the hook do it", icon: "play" },
  pause: { label: "Pause", icon: "pause" },
  resume: { label: "Resume", icon: "play", primary: true },
  skip: { label: "Skip", icon: "dash", danger: true },
  rollback: { label: "Roll back", icon: "flag", danger: true },
  abort: { label: "Abort", icon: "stop", danger: true },
  begin: { label: "Begin", icon: "play", primary: true },
};

const Execution = memo(({ cluster, off, stale, onAct }) => {
  const { walk, walkable, name } = cluster;
  if (walk === null) {
    const text = walkable ? "The execution of the runbook has not begun." : "No runbook is executed here.";
    return html`<div class="execution soft">${text}</div>`;
  }
  const asked = askedFor(cluster.head.next, walk);
  // The server decides: some approvals need only sources that are current.
  const note = off ?? (stale && walk.can.includes("approve") ? "An approval is refused while the data that it needs is stale." : null);
  return html`<div class="execution">
    <${Where} walk=${walk} name=${name} />
    <div class="actions">
      ${walk.can.map(
        (action) => html`<button
          key=${action}
          class=${`button ${action === asked ? "primary" : ""} ${ACTIONS[action].danger ? "danger" : ""}`}
          disabled=${off !== null}
          onClick=${() => onAct({ name: action, cluster: name })}
        >
          <${Icon} name=${ACTIONS[action].icon} />${ACTIONS[action].label}…
        </button>`,
      )}
      ${note && html`<small class="soft">${note}</small>`}
    </div>
  </div>`;
});

/** The action that the headline asks for; the others are only possible. */
function askedFor(next, walk) {
  if (next.need !== "your_turn" && walk.asks === null) return null;
  if (walk.paused && walk.asks === null) return "resume";
  if (walk.stage === "step done" && !next.commands.some((each) => each.includes(" --repeat "))) return null;
  return walk.can.find((each) => ACTIONS[each].primary) ?? null;
}

function Where({ walk, name }) {
  const here = walk.checkpoint;
  if (walk.outcome) {
    return html`<div class="where">
      <p class="eyebrow">Runbook ${walk.runbook}</p>
      <p class="where-title">ended: ${walk.outcome}</p>
    </div>`;
  }
  return html`<div class="where">
    <p>
      <span class="eyebrow">${walk.path ? `Rollback ${walk.path}, checkpoint` : "Checkpoint"}</span>
      ${walk.paused && html` <span class="badge" data-tone="warn"><${Icon} name="pause" />paused by ${walk.paused}</span>`}
      ${!walk.execute && html` <span class="badge">steps by hand</span>`}
    </p>
    ${here !== null
      ? html`<p class="where-title">
          <a href=${sheetLink({ checkpoint: here })} class="mono" data-testid="checkpoint">${here}</a> ${walk.title}
        </p>`
      : html`<p class="where-title">between two checkpoints</p>`}
    <p class="soft">
      ${walk.stage_text}${walk.findings.length > 0 && html`${walk.stage_text && " · "}<a href=${link(name, "overview", REASONS)}>${gateText(walk.findings)}</a>`}
    </p>
  </div>`;
}

/** The checkpoint id of an instance: `brokers-kraft` for `brokers-kraft[3]`. @param {string|null} id */
export function baseOf(id) {
  return id === null ? null : id.replace(/\[.*$/, "");
}

/** The progress of a gate: `4 of 6 conditions hold, 1 needs a person`. */
export function gateText(findings) {
  const by = (verdict) => findings.filter((each) => each.verdict === verdict).length;
  const parts = [`${by("satisfied")} of ${findings.length} conditions hold`];
  if (by("violated")) parts.push(`${by("violated")} ${by("violated") === 1 ? "needs" : "need"} a person`);
  if (by("unknown")) parts.push(`${by("unknown")} unknown`);
  return parts.join(", ");
}

