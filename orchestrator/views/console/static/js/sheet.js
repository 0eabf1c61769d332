/** A sheet over the page: a modal dialog, so that the keyboard stays in it and Escape closes it. */
import { html, useLayoutEffect, useRef } from "./html.js";
import { isOld } from "./currency.js";
import { CurrencyChip } from "./frame.js";
import { Icon } from "./icons.js";

/** The reference of a dialog that is opened as modal; the focus returns when it is removed. */
export function useModal() {
  const dialog = useRef(null);
  useLayoutEffect(() => {
    const from = document.activeElement;
    dialog.current.showModal();
    return () => from?.isConnected && from.focus();
  }, []);
  return dialog;
}

/**
 * @param {{title: unknown, currency: import("./currency.js").Currency, onClose: () => void,
 *     children: unknown}} properties
 */
export function Sheet({ title, currency, onClose, children }) {
  const dialog = useModal();
  return html`<dialog
    ref=${dialog}
    class="sheet"
    aria-labelledby="sheet-title"
    data-old=${isOld(currency) ? "" : undefined}
    onClose=${onClose}
    onClick=${(event) => event.target === dialog.current && dialog.current.close()}
  >
    <div class="sheet-in">
      <header class="sheet-head">
        <h2 id="sheet-title" tabindex="-1" autofocus>${title}</h2>
        <${CurrencyChip} kind=${currency.kind} label=${currency.label} as_of_ms=${currency.as_of_ms} />
        <button class="button small" aria-label="Close" onClick=${() => dialog.current.close()}><${Icon} name="cross" /></button>
      </header>
      <div class="sheet-body">${children}</div>
    </div>
  </dialog>`;
}
