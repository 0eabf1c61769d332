"""The table of requests."""

import threading
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from streams.log_dirs.errors import RequestsUnusable
from streams.log_dirs.poll_requests import REQUESTS, PollRequest, PollRequests
from streams.spark.query import _poll_requests
from streams.spark.settings import ClusterSources
from streams.state.sqlite import connect


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "requests.db"


def test_asked_seen_and_answered(path: Path) -> None:
    with PollRequests(path, lambda: 5) as asker, PollRequests(path) as poller:
        one, all_ = asker.ask(2, "it was restarted"), asker.ask(None, "a poll")
        assert poller.pending() == (
            PollRequest(one, 2, "it was restarted"),
            PollRequest(all_, None, "a poll"),
        )
        assert not asker.wait_answered(one, 0)
        poller.answer([one], 6)
        assert asker.wait_answered(one, 0)
        assert [each.id for each in poller.pending()] == [all_]


def test_who_waits_is_woken_by_the_answer(path: Path) -> None:
    with PollRequests(path) as requests:
        ticket = requests.ask(1, "a poll")
        answering = threading.Thread(target=requests.answer, args=([ticket], 9))
        answering.start()
        assert requests.wait_answered(ticket, 30.0)
        answering.join()


def test_ids_are_never_used_again(path: Path) -> None:
    with PollRequests(path, lambda: 0) as requests:
        first = requests.ask(1, "a poll")
        requests.answer([first], 1)
        requests.answer([], 3_600_002)
        assert not requests.is_answered(first)
        assert requests.ask(1, "another look") > first


def test_a_file_that_is_no_table_is_refused(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"no database" * 100)
    with pytest.raises(RequestsUnusable, match=r"requests\.db"):
        PollRequests(path)


@pytest.mark.parametrize("damaged_at_start", [True, False])
@pytest.mark.parametrize("clusters", [("a",), ("a", "b")])
def test_damaged_requests_end_only_the_job_of_one_cluster(
    tmp_path: Path, clusters: tuple[str, ...], *, damaged_at_start: bool
) -> None:
    files = {each: tmp_path / "clusters" / each / REQUESTS for each in clusters}

    def use() -> None:
        with ExitStack() as held:
            ask = _poll_requests(followed, tmp_path, held)
            if not damaged_at_start:
                with closing(connect(files["a"])) as other:
                    other.execute("DROP TABLE requests")
            for each in clusters:
                ask(each, 1, "a broker registered")

    if damaged_at_start:
        files["a"].parent.mkdir(parents=True)
        files["a"].write_bytes(b"no database" * 1_000)
    followed = [ClusterSources(cluster=each, brokers={}) for each in clusters]
    if clusters == ("a",):
        with pytest.raises(RequestsUnusable, match=r"requests\.db"):
            use()
        return
    use()
    with PollRequests(files["b"]) as requests:
        assert [each.broker for each in requests.pending()] == [1]
