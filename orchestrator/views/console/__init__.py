"""The web console of `kraftgate run --console`: what is seen, as a page, and a person's word back.

`model` is the contract with the page: routes, events and JSON shapes.
"""
