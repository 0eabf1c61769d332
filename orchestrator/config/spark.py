"""The key `run.spark`: where Spark runs the job that follows the clusters."""

import re
from typing import Annotated, Final, TypeAlias

from pydantic import BeforeValidator, Field

from orchestrator.config.jmx import entries_of
from orchestrator.config.values import SecretFile, Strict, text_like, text_matching

_EXAMPLE: Final = '"spark.executor.memory": "2g"'
_INSTEAD: Final = {
    "spark.master": "`master`",
    "spark.authenticate.secret": "`secret_file`",
}

_setting: Final = text_matching(
    re.compile(r"spark\.[A-Za-z0-9_.-]+"),
    "spark.executor.memory",
    "is no setting of Spark: its name begins with spark.",
)


def _settings(value: object) -> dict[str, str]:
    found = {
        _setting(key): text_like(each, "2g") for key, each in entries_of(value, _EXAMPLE).items()
    }
    for key, instead in _INSTEAD.items():
        if key in found:
            raise ValueError(f"`{key}` does not belong here: use {instead}")
    return found


Settings: TypeAlias = Annotated[dict[str, str], BeforeValidator(_settings)]


class Spark(Strict):
    """Where Spark runs the job that follows the clusters.

    Attributes:
        master: Spark's master URL, such as `spark://host:7077`. Default: that of `spark-submit`,
            or else this machine.
        settings: Settings for Spark. They replace Kraftgate's own.
        secret_file: File whose first line is the secret of a standalone cluster.
    """

    master: str | None = Field(default=None, min_length=1)
    settings: Settings | None = None
    secret_file: SecretFile | None = None
