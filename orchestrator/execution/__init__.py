"""One walk through a runbook: its steps, who may take them, and what became of them."""
