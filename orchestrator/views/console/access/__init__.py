"""Who may read the console or change something: tokens, sessions, TLS, redaction."""
