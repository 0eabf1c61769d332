/** The runbook's checkpoints in the order of the execution, and the current state of the gate. */
import { html, memo } from "./html.js";
import { now } from "./clock.js";
import { Icon } from "./icons.js";
import { baseOf, gateText } from "./now.js";
import { Badge, Findings, Panel } from "./parts.js";
import { sheetLink } from "./route.js";
import { duration, time } from "./format.js";

const STAGES = {
  ahead: ["ring", "plain", "ahead"],
  entered: ["waiting", "warn", "before its step"],
  running: ["play", "warn", "its hook runs"],
  shown: ["waiting", "warn", "to be done by hand"],
  asks: ["alert", "bad", "needs a decision"],
  "step done": ["half", "warn", "step done, gate waited for"],
  passed: ["satisfied", "ok", "passed"],
  skipped: ["dash", "plain", "skipped"],
};

/** @param {{cluster: import("./store.js").Cluster}} properties */
export function Runbook({ cluster }) {
  const { walk, walkable, name, checkpoints } = cluster;
  if (walk === null) {
    return html`<${Panel} id="runbook" title="Runbook">
      <p class="empty">${walkable ? "The execution has not begun." : `No runbook is configured for ${name}.`}</p>
    <//>`;
  }
  const { runbook, path, outcome, unexpected } = walk;
  const note = outcome ? `ended: ${outcome}` : path ? `rollback: ${path}` : walk.execute ? "steps by hooks" : "steps by hand";
  return html`<div class="runbook">
    <${Panel} id="runbook" title=${`Runbook ${runbook}`} note=${note}>
      ${checkpoints.length
        ? html`<ol class="checkpoints">
            ${checkpoints.map((each) => html`<${Checkpoint} key=${each.id} one=${each} walk=${each.id === baseOf(walk.checkpoint) ? walk : null} />`)}
          </ol>`
        : html`<p class="empty">The runbook's text is not at hand: kraftgate runbook show.</p>`}
    <//>
    ${unexpected.length > 0 &&
    html`<${Panel} id="unexpected" title="Unexpected" note="what the cluster showed that no step did">
      <ol class="lines">${[...unexpected].reverse().map((each, at) => html`<li key=${at}><time>${time(each.at_ms, { now: now() })}</time> ${each.text}</li>`)}</ol>
    <//>`}
  </div>`;
}

const Checkpoint = memo(({ one, walk }) => {
  const each = one.for_each !== null;
  return html`<li class="checkpoint" data-here=${walk !== null} data-stage=${one.stage} aria-current=${walk !== null ? "step" : undefined}>
    <${Sign} stage=${one.stage} />
    <div class="checkpoint-text">
      <p><${Name} one=${one} /> <b>${one.title}</b></p>
      <p class="soft">
        <${StageText} one=${one} />${each && ` · once for each ${one.for_each}`}
        ${one.people > 0 && html` · <${Badge} tone="plain" icon="key">${one.people === 1 ? "one approval" : `${one.people} approvals`}<//>`}
        ${one.irreversible && html` <${Badge} tone="bad" icon="flag">irreversible<//>`}
        ${one.destructive && html` <${Badge} tone="bad" icon="alert">destroys data<//>`}
      </p>
      ${each && one.instances.length > 0 && html`<${Instances} all=${one.instances} what=${one.for_each} here=${walk?.checkpoint ?? null} />`}
      ${walk !== null && html`<${Here} walk=${walk} />`}
      <${Conditions} one=${one} />
    </div>
  </li>`;
});

function Sign({ stage }) {
  const [icon, tone] = STAGES[stage];
  return html`<span class="checkpoint-sign" data-tone=${tone}><${Icon} name=${icon} /></span>`;
}

/** A link to the evidence, once the checkpoint has been entered. */
function Name({ one }) {
  const entered = one.entered_ms !== null || one.instances?.length > 0;
  return entered ? html`<a class="mono" href=${sheetLink({ checkpoint: one.id })}>${one.id}</a>` : html`<code>${one.id}</code>`;
}

function StageText({ one }) {
  const { stage, how, entered_ms: entered, ended_ms: ended } = one;
  const label = stage === "passed" && how === "already" ? "nothing left to do" : how === "turned back" ? how : STAGES[stage][2];
  const took = entered !== null && ended !== null ? `, after ${duration(ended - entered)}` : "";
  return `${label}${ended !== null ? `, ${time(ended, { now: now() })}` : ""}${took}`;
}

const INSTANCES_MAX = 30;

/** The latest instances, including the one in progress. */
function Instances({ all, what, here }) {
  const shown = all.slice(-INSTANCES_MAX);
  const rest = all.length - shown.length;
  return html`<ol class="instances" aria-label=${`For each ${what}`}>
    ${rest > 0 && html`<li class="soft">${rest} before these</li>`}
    ${shown.map(
      (each) => html`<li key=${each.id} data-here=${each.id === here}>
        <${Sign} stage=${each.stage} /><a href=${sheetLink({ checkpoint: each.id })}>${what} ${each.of}</a> <span class="soft"><${StageText} one=${each} /></span>
      </li>`,
    )}
  </ol>`;
}

function Here({ walk }) {
  if (!walk.people && !walk.findings.length) return null;
  return html`<div class="here">
    ${walk.people > 0 && html`<p>${walk.approved_by.length} of ${walk.people === 1 ? "one approval" : `${walk.people} approvals`}${walk.approved_by.length > 0 && `: ${walk.approved_by.join(", ")}`}.</p>`}
    ${walk.findings.length > 0 && html`<p class="soft">${gateText(walk.findings)}</p><${Findings} findings=${walk.findings} label="Conditions now" />`}
  </div>`;
}

function Conditions({ one }) {
  if (!one.needs.length && !one.opens_when.length) return null;
  return html`<details class="conditions">
    <summary>Conditions</summary>
    ${one.needs.length > 0 && html`<p>Before its step${one.step && html` <code>${one.step}</code>`}:</p><ul class="lines mono">${one.needs.map((each) => html`<li key=${each}>${each}</li>`)}</ul>`}
    ${one.opens_when.length > 0 && html`<p>Opens when:</p><ul class="lines mono">${one.opens_when.map((each) => html`<li key=${each}>${each}</li>`)}</ul>`}
  </details>`;
}
