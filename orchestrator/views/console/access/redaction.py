"""Writes models as JSON and redacts every text in them: the only output path of the console."""

import json
from functools import lru_cache
from typing import Final

from pydantic import BaseModel

from orchestrator.config.load import Config
from orchestrator.redaction.configured_secrets import redactor_of
from orchestrator.redaction.redactor import Redactor, redacted
from orchestrator.views.console.access.bearer_token import Token

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


def cleaner(config: Config, token: Token) -> RedactedJson:
    """Return a cleaner for the secrets of the configuration, of the environment, and the token.

    Raises:
        SecretUnknown: a file with a secret cannot be read, so it could not be redacted.
    """
    return RedactedJson(redactor_of(config, [token.secret()]))
