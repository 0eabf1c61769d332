"""`meta-properties` against a real broker: each case, in each mode, starts or is refused as said.

The cases are those of the unit tests. The broker's files are read by Kafka 3.9's
MetaPropertiesEnsemble (KIP-858, "meta.properties").
"""

import shutil
from pathlib import Path

import pytest

from migration.assessment.meta_properties import METADATA_LOG, Effect, next_start
from migration.image.summary import Mode
from orchestrator.lab import Lab, LabSpec
from orchestrator.lab.errors import ProcessDiedError
from streams.log_dirs.local_host import read_meta
from tests.migration.assessment.meta_cases import CASES, MetaCase

pytestmark = [pytest.mark.lab, pytest.mark.long(minutes=6)]


def test_each_case_in_each_mode() -> None:
    """One broker is stopped, its files are changed, it is started, and they are restored."""
    with Lab(LabSpec(brokers=1, directories=2, controllers=1)) as lab:
        lab.start_zookeeper()
        lab.start_brokers()
        wrong = _walk(lab, Mode.ZOOKEEPER)
        lab.start_controllers()
        lab.enter_migration(1)
        wrong += _walk(lab, Mode.MIGRATING)
        lab.wait_copied()
        lab.move_to_kraft(1)
        wrong += _walk(lab, Mode.KRAFT)
    assert not wrong, "\n".join(wrong)


def _walk(lab: Lab, mode: Mode) -> list[str]:
    folders = [lab.directory(1, index) for index in (0, 1)]
    lab.stop("broker-1")
    kept = [(each / "meta.properties").read_bytes() for each in folders]
    wrong = []
    for case in CASES:
        _write(case, folders)
        line = _compared(lab, mode, folders)
        if line is not None:
            wrong.append(f"{mode} {case.name}: {line}")
        for folder, data in zip(folders, kept, strict=True):
            (folder / "meta.properties").write_bytes(data)
        _remove_metadata_log(case, folders)
    lab.start("broker-1")
    return wrong


def _write(case: MetaCase, folders: list[Path]) -> None:
    files = [dict(_entries(each)) for each in folders]
    for folder, text in zip(folders, case.change(files), strict=True):
        if text is None:
            (folder / "meta.properties").unlink()
        else:
            (folder / "meta.properties").write_text(text, "latin-1")
    if case.metadata_log_in is not None:
        (folders[case.metadata_log_in] / METADATA_LOG).mkdir(exist_ok=True)


def _remove_metadata_log(case: MetaCase, folders: list[Path]) -> None:
    if case.metadata_log_in is not None:
        shutil.rmtree(folders[case.metadata_log_in] / METADATA_LOG)


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
        text = f"{error}"
        if predicted.refusal is None:
            return f"predicted to start, but: {text}"
        return None if predicted.refusal in text else f"{predicted.refusal!r} is not in: {text}"
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
