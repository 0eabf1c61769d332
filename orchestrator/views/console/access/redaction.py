"""Writes models as JSON and redacts every text in them: the only output path of the console."""

import json
import os
from functools import lru_cache
from typing import Final

from pydantic import BaseModel

from orchestrator.config.load import Config
from orchestrator.redaction.configured_secrets import configured_files
from orchestrator.redaction.known_secrets import Secrets
from orchestrator.redaction.patterns import names_a_secret
from orchestrator.redaction.redactor import MARK, Redactor
from orchestrator.views.console.access.bearer_token import Token

_TEXTS_KEPT: Final = 16_384
_names_a_secret = lru_cache(_TEXTS_KEPT)(names_a_secret)


class RedactedJson:
    """Writes each model as one line of JSON without secrets."""

    def __init__(self, redactor: Redactor) -> None:
        # The same hosts, paths and texts occur at every tick.
        self._text = lru_cache(_TEXTS_KEPT)(redactor.text)

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        return self._text(text)

    def json(self, model: BaseModel) -> bytes:
        """Return a model as JSON; its moments are in ms, as in the model."""
        plain = self._cleaned(model.model_dump())
        return json.dumps(plain, separators=(",", ":"), ensure_ascii=False).encode()

    def _cleaned(self, value: object) -> object:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return {
                self._text(key): MARK
                if isinstance(each, str) and _names_a_secret(key)
                else self._cleaned(each)
                for key, each in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self._cleaned(each) for each in value]
        return value


def cleaner(config: Config, token: Token) -> RedactedJson:
    """Return a cleaner for the secrets of the configuration, of the environment, and the token.

    Raises:
        SecretUnknown: a file with a secret cannot be read, so it could not be redacted.
    """
    return RedactedJson(
        Secrets(files=configured_files(config)).redactor(os.environ, [token.secret()])
    )
