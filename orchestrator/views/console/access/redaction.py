"""Models to JSON, with secrets taken out of every text: nothing leaves the console another way."""

import json
import os
from functools import lru_cache
from typing import Final

from pydantic import BaseModel

from orchestrator.config.load import Config
from orchestrator.output.json_value import JsonValue
from orchestrator.redaction.configured_secrets import configured_files
from orchestrator.redaction.known_secrets import Secrets
from orchestrator.redaction.patterns import names_a_secret
from orchestrator.redaction.redactor import MARK, Redactor
from orchestrator.views.console.access.bearer_token import Token

_TEXTS_KEPT: Final = 16_384
_names_a_secret = lru_cache(_TEXTS_KEPT)(names_a_secret)


class Cleaner:
    """Writes models as one line of JSON each, without secrets."""

    def __init__(self, redactor: Redactor) -> None:
        # The same hosts, paths and words come again at every look.
        self._text = lru_cache(_TEXTS_KEPT)(redactor.text)

    def text(self, text: str) -> str:
        """Take the secrets out of a text."""
        return self._text(text)

    def json(self, model: BaseModel, *, only_set: bool = False) -> bytes:
        """Write a model; `only_set`: without what it was not given."""
        plain: JsonValue = model.model_dump(mode="json", exclude_unset=only_set)
        return json.dumps(self._cleaned(plain), separators=(",", ":"), ensure_ascii=False).encode()

    def _cleaned(self, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return {
                self._text(key): MARK
                if isinstance(each, str) and _names_a_secret(key)
                else self._cleaned(each)
                for key, each in value.items()
            }
        if isinstance(value, list):
            return [self._cleaned(each) for each in value]
        return value


def cleaner(config: Config, token: Token) -> Cleaner:
    """Know the secrets that the configuration names, those of the environment, and the token.

    Raises:
        SecretUnknown: a file that holds one cannot be read, so it could not be kept out.
    """
    return Cleaner(Secrets(files=configured_files(config)).redactor(os.environ, [token.secret()]))
