"""What the brokers' settings say, for the conditions and the texts of steps."""

from collections.abc import Mapping

import pytest

from migration.assessment.conditions import SettingsSeen
from migration.image.summary import Mode
from migration.observed.probed import Maybe, Unknown, log_dirs_of
from streams.kafka.broker_values import ClusterView
from streams.probe import conditions
from streams.probe.conditions import ask_settings
from streams.probe.gather import Target


@pytest.mark.parametrize(
    ("settings", "paths"),
    [
        ({"log.dirs": "/mnt/ssd , /data/d0,", "log.dir": "/data/x"}, ("/mnt/ssd", "/data/d0")),
        ({"log.dir": "/data/kafka"}, ("/data/kafka",)),
        ({"log.dirs": "", "log.dir": "/data/kafka"}, ("/data/kafka",)),
        ({}, ()),
    ],
)
def test_the_log_directories_have_the_order_of_the_setting(
    settings: Mapping[str, str], paths: tuple[str, ...]
) -> None:
    assert log_dirs_of(settings) == paths


def test_the_log_directories_of_a_broker_are_those_of_its_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def settings_of(
        _view: object, _security: object, names: tuple[str, ...]
    ) -> dict[int, Maybe[Mapping[str, str]]]:
        known = {"process.roles": "broker", "log.dirs": "/mnt/ssd,/data/d0"}
        return {1: {each: known.get(each, "") for each in names}, 2: Unknown("refused")}

    view = ClusterView(cluster_id="x", controller=None, brokers={}, partitions={}, errors={})
    monkeypatch.setattr(conditions, "first_view", lambda *_, **__: view)
    monkeypatch.setattr(conditions, "settings_of", settings_of)
    found = ask_settings(Target(cluster="prod"), lambda: 7)
    assert isinstance(found, SettingsSeen)
    assert (found.modes, found.silent) == ({1: Mode.KRAFT}, {2: "refused"})
    assert found.log_dirs == {1: ("/mnt/ssd", "/data/d0")}
