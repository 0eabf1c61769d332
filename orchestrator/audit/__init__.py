"""The audit trail: every decision, its evidence, and every action; append-only.

Each entry contains the hash of the entry before it, so a change of any entry breaks the chain from
there on. The chain alone cannot show that its end was truncated; for that a second copy of the head
is stored next to the file, and it may be recorded anywhere else (`audit verify --head`).
"""

from orchestrator.audit.entry import GENESIS, Entry
from orchestrator.audit.log import AUDIT_FILE, AuditLog
from orchestrator.audit.verify import VerifyResult

__all__ = ["AUDIT_FILE", "GENESIS", "AuditLog", "Entry", "VerifyResult"]
