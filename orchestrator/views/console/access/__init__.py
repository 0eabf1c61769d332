"""Access to the console, to read or to act: tokens, sessions, TLS, redaction."""
