"""Basic authentication over HTTP (RFC 7617)."""

import base64


def basic_auth(username: str, password: str) -> dict[str, str]:
    """Return the header with these credentials, in UTF-8; urllib3's own encodes Latin-1 only."""
    credentials = base64.b64encode(f"{username}:{password}".encode()).decode("ascii")
    return {"authorization": f"Basic {credentials}"}
