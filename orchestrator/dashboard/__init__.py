"""The Grafana dashboard as code: panels on Kraftgate's metrics, written out as Grafana's JSON.

The file that is imported is made by

    python -m orchestrator.dashboard > runbooks/grafana/kraftgate.json

A panel and its queries stand in the module of their subject; `grafana` knows Grafana's JSON, and
nothing else does.
"""
