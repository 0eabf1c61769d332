"""The audit trail: every decision, what it was made from, and what was done; append-only.

Each entry carries the hash of the one before it, so a change of any of them breaks the chain from
there on. What the chain cannot show by itself is that its end was cut off; for that the head is
kept a second time beside the file, and may be noted anywhere else (`audit verify --head`).
"""

from orchestrator.audit.entry import GENESIS, Entry
from orchestrator.audit.log import AUDIT_FILE, AuditLog
from orchestrator.audit.verify import VerifyResult

__all__ = ["AUDIT_FILE", "GENESIS", "AuditLog", "Entry", "VerifyResult"]
