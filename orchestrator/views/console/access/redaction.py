"""Writes models as JSON and redacts every text in them: the only output path of the console."""

import json
from functools import lru_cache
from typing import Final

from pydantic import BaseModel

from orchestrator.redaction.redactor import Redactor, redacted

_TEXTS_KEPT: Final = 16_384


class RedactedJson:
    """Writes each model as one line of JSON without secrets."""

    def __init__(self, redactor: Redactor) -> None:
        self._use(redactor)

    def json(self, model: BaseModel) -> bytes:
        """Return a model as JSON; its moments are in ms, as in the model."""
        redactor = self._redactor.refreshed()
        if redactor is not self._redactor:
            self._use(redactor)
        plain = redacted(model.model_dump(), self._text)
        return json.dumps(plain, separators=(",", ":"), ensure_ascii=False).encode()

    def _use(self, redactor: Redactor) -> None:
        self._redactor = redactor
        # The same hosts, paths and texts occur at every tick.
        self._text = lru_cache(_TEXTS_KEPT)(redactor.text)
