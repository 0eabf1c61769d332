"""runbooks/metrics.md lists the metrics as they are declared."""

from pathlib import Path

from orchestrator.metrics.collector import metrics

PAGE = Path(__file__).parents[2] / "runbooks" / "metrics.md"


def rows() -> list[str]:
    return [
        f"| `{each.name}` | {', '.join(each.labels)} | {each.explains} |"
        for each in sorted(metrics(), key=lambda each: each.name)
    ]


def test_the_page_has_every_metric_as_it_is() -> None:
    told = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    assert told == rows(), "\n".join(rows())


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
