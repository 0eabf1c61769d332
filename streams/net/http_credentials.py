"""Credentials of an HTTP request: Basic authentication (RFC 7617), or a bearer token."""

import base64
from collections.abc import Callable
from pathlib import Path


def http_credentials(
    username: str | None,
    password_file: Path | None,
    bearer_token_file: Path | None,
    read: Callable[[Path], str],
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the header with the configured credentials, and the secrets that a server may quote.

    `read` returns the secret in a file, and raises the caller's own error.
    """
    if username is not None and password_file is not None:
        password = read(password_file)
        # In UTF-8; urllib3's own encodes Latin-1 only.
        token = base64.b64encode(f"{username}:{password}".encode()).decode("ascii")
        return {"authorization": f"Basic {token}"}, (token, password)
    if bearer_token_file is not None:
        token = read(bearer_token_file)
        return {"authorization": f"Bearer {token}"}, (token,)
    return {}, ()
