"""`kraftgate report`: an account of one window, from the store and the audit trail alone.

`gather` reads a state directory; `build` folds its content into an `orchestrator.api.report`
`Report`, which is the same for the same state; `formats` writes it as HTML, Markdown or JSON.
"""
