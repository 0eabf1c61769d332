"""The command line, one file a command; importing it stays light."""

from orchestrator.cli.program import main

__all__ = ["main"]
