"""The web console of `kraftgate run --console`: shows the assessment and accepts decisions.

`orchestrator.api.console` is the contract with the page: routes, events and JSON shapes.
"""
