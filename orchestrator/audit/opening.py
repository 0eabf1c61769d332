"""Opens the audit trail for `kraftgate run`, or for an operator's entry."""

import os

from orchestrator.audit.kinds import NEW_STATE_DIR
from orchestrator.audit.log import AUDIT_FILE, AuditLog
from orchestrator.config.load import Config
from orchestrator.config.state_dir import prepared
from orchestrator.errors import AuditError
from orchestrator.redaction.configured_secrets import configured_files, redactor_of
from orchestrator.redaction.known_secrets import Secrets


def open_verified(config: Config) -> AuditLog:
    """Open and verify the trail, because Kraftgate does not act on a trail that was changed.

    Raises:
        ConfigError: the state directory cannot be used.
        AuditError: it cannot be opened, or was changed.
        SecretUnknown: a secret of the configuration cannot be read, so it could not be redacted.
    """
    log = AuditLog.open(prepared(config) / AUDIT_FILE, redactor_of(config))
    found = log.verify()
    if not found.ok:
        log.close()
        raise AuditError(
            f"the audit trail was changed: {found.why}. Keep a copy of it, and restore it from a"
            f" backup, or {NEW_STATE_DIR}"
        )
    return log


def open_for_entry(config: Config) -> AuditLog:
    """Open the trail for an operator's entry; secrets in usable files are redacted.

    A pause or an abort does not depend on the file of a broker's password.

    Raises:
        ConfigError: the state directory cannot be used.
        AuditError: it cannot be opened.
        SecretUnknown: a secret's file changed while it was read.
    """
    secrets = Secrets(files=tuple(configured_files(config))).readable()
    return AuditLog.open(prepared(config) / AUDIT_FILE, secrets.redactor(os.environ))
