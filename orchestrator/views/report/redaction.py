"""Removes secrets from every text of a report, before any of it is written."""

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from orchestrator.api.report.report import Report
from orchestrator.config.load import Config
from orchestrator.redaction.configured_secrets import configured_files
from orchestrator.redaction.known_secrets import Secrets

_TEXTS_KEPT: Final = 65_536


def cleaned(report: Report, config: Config) -> Report:
    """Return the report without secrets, which are recognised by value or by pattern.

    The trail was redacted when it was written; the store was not.

    Raises:
        SecretUnknown: a secret of the configuration cannot be read, so it cannot be removed.
    """
    redactor = Secrets(files=configured_files(config)).redactor(os.environ)
    text = lru_cache(_TEXTS_KEPT)(redactor.text)

    def clean(value: object) -> object:
        if isinstance(value, str):
            return text(value)
        if isinstance(value, Mapping):
            return {key: clean(each) for key, each in value.items()}
        if isinstance(value, tuple | list):
            return tuple(clean(each) for each in value)
        return value

    fields = {name: clean(value) for name, value in report.model_dump().items()}
    return Report.model_validate(fields)
