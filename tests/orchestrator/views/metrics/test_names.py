"""Metrics are named as Prometheus names them."""

from orchestrator.views.metrics.collector import metrics


def test_names_are_prometheus_own_way() -> None:
    names = [each.name for each in metrics()]
    assert len(names) == len(set(names))
    for each in metrics():
        assert each.name.startswith("kraftgate_")
        assert each.name.endswith("_total") == (each.kind == "counter")
        assert each.name.endswith("_info") == (each.kind == "info")
        assert "partition" not in each.labels
        assert "topic" not in each.labels
        assert not each.name.endswith(("_ms", "_age", "_since", "_timestamp"))
