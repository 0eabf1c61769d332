/** A sheet over the page: a modal dialog, so that the keyboard stays in it and Escape closes it. */
import { html, useLayoutEffect, useRef } from "./html.js";
import { CurrencyChip } from "./frame.js";
import { Icon } from "./icons.js";

/**
 * @param {{title: unknown, standing: import("./currency.js").Currency, onClose: () => void,
 *     children: unknown}} properties
 */
export function Sheet({ title, standing, onClose, children }) {
  const dialog = useRef(null);
  useLayoutEffect(() => {
    const from = document.activeElement;
    dialog.current.showModal();
    return () => from?.isConnected && from.focus();
  }, []);
  const old = standing.kind === "old" || standing.kind === "nothing";
  return html`<dialog
    ref=${dialog}
    class="sheet"
    aria-labelledby="sheet-title"
    data-old=${old ? "" : undefined}
    onClose=${onClose}
    onClick=${(event) => event.target === dialog.current && dialog.current.close()}
  >
    <div class="sheet-in">
      <header class="sheet-head">
        <h2 id="sheet-title" tabindex="-1" autofocus>${title}</h2>
        <${CurrencyChip} kind=${standing.kind} word=${standing.word} as_of_ms=${standing.as_of_ms} />
        <button class="button small" aria-label="Close" onClick=${() => dialog.current.close()}><${Icon} name="cross" /></button>
      </header>
      <div class="sheet-body">${children}</div>
    </div>
  </dialog>`;
}
