"""What each command does; `orchestrator.cli` imports these when they are asked for."""
