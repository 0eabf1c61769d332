"""The commands that an operator needs for one cluster, complete and quoted."""

import shlex
from dataclasses import dataclass
from typing import Final

from orchestrator.config.load import Config

REASON: Final = "WHY"
"""Stands for the reason, which only the operator knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """Makes commands for one cluster.

    Attributes:
        options: those that name the configuration and the cluster, where a command needs them.
        cluster: its name.
    """

    options: tuple[str, ...]
    cluster: str

    @classmethod
    def of(cls, config: Config, cluster: str) -> "Commands":
        options = config.option
        if config.many:
            options += ("--cluster", cluster)
        return cls(options=options, cluster=cluster)

    def make(self, *words: str, confirm: bool = False) -> str:
        """Return `kraftgate WORDS` with a reason; `confirm`: with the cluster's name, too."""
        confirmed = ("--confirm", self.cluster) if confirm else ()
        return self.without_reason(*words, "--reason", REASON, *confirmed)

    def without_reason(self, *words: str) -> str:
        return shlex.join(["kraftgate", *words, *self.options])
