"""`meta-properties` against a real broker: each case, in each mode, starts or is refused as said.

The cases are those of the unit tests. The broker's files are read by Kafka 3.9's
MetaPropertiesEnsemble (KIP-858, "meta.properties").
"""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from migration.assessment.meta_properties import METADATA_LOG, Effect, next_start
from migration.image.summary import Mode
from orchestrator.lab import Lab, LabSpec
from orchestrator.lab.errors import ProcessDiedError
from streams.log_dirs.local_host import read_meta
from tests.migration.assessment.meta_cases import CASES, MetaCase, text

pytestmark = [pytest.mark.lab, pytest.mark.long(minutes=1.5)]

DIRECTORIES = 13
"""One for each case that can share a start, and the first."""


def test_each_case_in_each_mode() -> None:
    """One broker is stopped, its files are changed, it is started, and they are restored.

    A start with a fault in one file proves that this fault does not prevent it, whatever is in the
    other files: cases with which the broker starts share one start. A refusal has one to itself.
    """
    spec = LabSpec(
        brokers=1,
        directories=DIRECTORIES,
        controllers=1,
        # A broker that is stopped just after its start has no controller yet to announce it to:
        # it stops after three attempts, and its next start waits for the end of its session.
        broker_properties={
            "controlled.shutdown.retry.backoff.ms": "100",
            "broker.heartbeat.interval.ms": "1000",
        },
        controller_properties={"broker.session.timeout.ms": "3000"},
    )
    with Lab(spec) as lab:
        lab.start_zookeeper()
        lab.start_brokers()
        wrong = _walk(lab, Mode.ZOOKEEPER)
        lab.start_controllers()
        lab.enter_migration(1)
        lab.wait_copied()
        wrong += _walk(lab, Mode.MIGRATING)
        lab.move_to_kraft(1)
        wrong += _walk(lab, Mode.KRAFT)
    assert not wrong, "\n".join(wrong)


def _walk(lab: Lab, mode: Mode) -> list[str]:
    """Return the differences; the broker is stopped, and its files are as they were."""
    folders = [lab.directory(1, index) for index in range(DIRECTORIES)]
    lab.stop("broker-1")
    kept = [(each / "meta.properties").read_bytes() for each in folders]
    wrong = []
    for names, texts, metadata_log in _starts(mode, [dict(_entries(each)) for each in folders]):
        for index, content in texts.items():
            _write(folders[index], content)
        if metadata_log is not None:
            (folders[metadata_log] / METADATA_LOG).mkdir(exist_ok=True)
        line = _compared(lab, mode, folders)
        if line is not None:
            wrong.append(f"{mode} {names}: {line}")
        for folder, data in zip(folders, kept, strict=True):
            (folder / "meta.properties").write_bytes(data)
        if metadata_log is not None:
            shutil.rmtree(folders[metadata_log] / METADATA_LOG)
    return wrong


def _starts(
    mode: Mode, files: list[dict[str, str]]
) -> Iterator[tuple[str, Mapping[int, str | None], int | None]]:
    """Yield each start: its cases, the texts by directory, and where a metadata log is made."""
    shared: dict[int, str | None] = {}
    names = []
    for case in CASES:
        if mode not in case.refused and _changes_only_the_second(case, files):
            index = 1 + len(shared)
            shared[index] = case.change([dict(files[0]), dict(files[index])])[1]
            names.append(case.name)
        else:
            texts = case.change([dict(files[0]), dict(files[1])])
            # Directories without a case would hide that no file is left to read.
            others = dict.fromkeys(range(2, DIRECTORIES), texts[1]) if case.is_everywhere else {}
            yield case.name, dict(enumerate(texts)) | others, case.metadata_log_in
    yield ", ".join(names), shared, None


def _changes_only_the_second(case: MetaCase, files: list[dict[str, str]]) -> bool:
    first, _ = case.change([dict(files[0]), dict(files[1])])
    return first == text(files[0]) and case.metadata_log_in is None


def _write(folder: Path, content: str | None) -> None:
    if content is None:
        (folder / "meta.properties").unlink()
    else:
        (folder / "meta.properties").write_text(content, "latin-1")


def _entries(folder: Path) -> list[tuple[str, str]]:
    lines = (folder / "meta.properties").read_text("latin-1").splitlines()
    pairs = [each.partition("=") for each in lines if not each.startswith("#")]
    return [(key, value) for key, _, value in pairs]


def _compared(lab: Lab, mode: Mode, folders: list[Path]) -> str | None:
    """Return how the broker's start differs from the prediction; None: it does not."""
    predicted = next_start(
        [read_meta(each) for each in folders],
        mode,
        metadata_log_dir=str(folders[0]),
        cluster_id=lab.cluster_id,
        node_id=1,
    )
    try:
        lab.start("broker-1")
    except ProcessDiedError as error:
        said = f"{error}"
        if predicted.refusal is None:
            return f"predicted to start, but: {said}"
        return None if predicted.refusal in said else f"{predicted.refusal!r} is not in: {said}"
    after = [read_meta(each) for each in folders]
    lab.stop("broker-1")
    if predicted.refusal is not None:
        return f"started, predicted: {predicted.refusal}"
    for effect, file in zip(predicted.directories, after, strict=True):
        written = effect.effect is Effect.WRITES or "writes" in effect.text
        if written and not file.readable:
            return f"{effect.path} was not written"
        generated = "directory.id" in effect.text and file.readable
        if generated and file.directory_id is None:
            return f"{effect.path} got no directory.id"
    return None
