/** The evidence of one checkpoint: every verdict and decision about it in the audit trail. */
import { html, useEffect, useRef, useState } from "./html.js";
import { of, read } from "./api.js";
import { now } from "./clock.js";
import { baseOf, gateText } from "./now.js";
import { Findings, Trouble, Verdict, useLive } from "./parts.js";
import { Sheet } from "./sheet.js";
import { time, spaced } from "./format.js";

const PARTS = {
  already: "Is the step needed?",
  needs: "Guards: may the step be taken?",
  opens_when: "Gate: does it open?",
};

/**
 * @param {{cluster: import("./store.js").Cluster, id: string, onClose: () => void,
 *     currency: import("./currency.js").Currency}} properties
 */
export function GateSheet({ cluster, id, currency, onClose }) {
  const [evidence, setEvidence] = useState(null);
  const [error, setError] = useState(null);
  const here = cluster.walk?.checkpoint === id ? cluster.walk : null;
  const explain = evidence?.explain ?? cluster.checkpoints.find((each) => each.id === baseOf(id))?.explain;
  const stop = useRef(null);
  const load = () => {
    stop.current?.abort();
    stop.current = new AbortController();
    return read(of(cluster.name, "checkpoints", id), {}, stop.current.signal)
      .then((got) => {
        setEvidence(got);
        setError(null);
      })
      .catch((problem) => problem.name !== "AbortError" && setError(problem));
  };
  useEffect(() => {
    load();
    return () => stop.current.abort();
  }, [cluster.name, id]);
  useLive(cluster.turn, load);
  return html`<${Sheet} title=${html`Checkpoint <code>${id}</code>`} currency=${currency} onClose=${onClose}>
    <${Trouble} error=${error} />
    ${evidence?.title && html`<p><b>${evidence.title}</b></p>`}
    ${here && html`<section>
      <h3>Now <span class="soft">${here.stage_text}</span></h3>
      ${here.findings.length ? html`<p class="soft">${gateText(here.findings)}</p><${Findings} findings=${here.findings} label="Conditions now" open=${true} />` : html`<p class="soft">No condition is evaluated now.</p>`}
    </section>`}
    ${explain && html`<details><summary>What it is about</summary><p class="explain">${explain}</p></details>`}
    ${!evidence && !error && html`<p class="soft">Loading from the audit trail.</p>`}
    ${evidence && html`<${Decisions} evidence=${evidence} /><${Evaluations} evidence=${evidence} />`}
  <//>`;
}

function Decisions({ evidence }) {
  const { decisions } = evidence;
  if (!decisions.length) return null;
  return html`<section>
    <h3>Decisions and steps</h3>
    <ol class="decisions">
      ${decisions.map(
        (each) => html`<li key=${each.id}>
          <time>${time(each.at_ms, { now: now() })}</time>
          <span>${each.checkpoint !== evidence.checkpoint && html`<code>${each.checkpoint}</code> `}<b>${each.text}</b>${each.by && each.by !== "kraftgate" && html` <span class="soft">by ${each.by}</span>`}
          <br /><small class="soft mono">audit ${each.id}</small></span>
        </li>`,
      )}
    </ol>
  </section>`;
}

function Evaluations({ evidence }) {
  if (!evidence.judgements.length) return html`<section><h3>Evaluations</h3><p class="soft">None is in the audit trail.</p></section>`;
  return html`<section>
    <h3>Evaluations, the newest first</h3>
    ${evidence.judgements.map((each, at) => html`<${Evaluation} key=${each.id} one=${each} open=${at === 0} own=${each.checkpoint === evidence.checkpoint} />`)}
    ${evidence.older && html`<p class="soft">Older ones: kraftgate audit show.</p>`}
  </section>`;
}

function Evaluation({ one, open, own }) {
  const facts = Object.entries(one.facts);
  return html`<details class="evaluation" open=${open}>
    <summary><time>${time(one.at_ms, { now: now() })}</time> <${Verdict} verdict=${one.verdict} /> <span>${PARTS[one.part]}</span>${own ? "" : html` <code>${one.checkpoint}</code>`}</summary>
    <${Findings} findings=${one.findings} label=${PARTS[one.part]} open=${open} />
    <p><small class="soft mono">audit ${one.id}</small></p>
    ${facts.length > 0 && html`<dl class="basis" aria-label="Basis">${facts.map(([name, value]) => html`<div key=${name}><dt>${spaced(name)}</dt><dd class="mono">${typeof value === "string" ? value : JSON.stringify(value)}</dd></div>`)}</dl>`}
  </details>`;
}

