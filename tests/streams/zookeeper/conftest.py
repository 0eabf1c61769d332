"""One real ZooKeeper for all the tests here, and a chroot for each."""

from collections.abc import Iterator

import pytest

from orchestrator.lab import Lab, LabSpec
from tests.streams.zookeeper.watching import Writer


@pytest.fixture(scope="package")
def lab() -> Iterator[Lab]:
    with Lab(LabSpec(brokers=0)) as made:
        made.start_zookeeper()
        yield made


@pytest.fixture
def connect(lab: Lab, request: pytest.FixtureRequest) -> str:
    """A chroot of the test's own; nothing has made it yet. Two files may have tests of one name."""
    return f"{lab.zookeeper_connect}/{request.path.stem}-{request.node.name.partition('[')[0]}"


@pytest.fixture
def kafka(connect: str) -> Iterator[Writer]:
    """What Kafka would do in that chroot."""
    writer = Writer(connect)
    writer.client.ensure_path("/")
    yield writer
    writer.close()
