"""What a person reads and edits: runbooks, their hooks and pages. Shipped as files, not as code."""
