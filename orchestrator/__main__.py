"""`python -m orchestrator`: the same as `kraftgate`."""

from orchestrator.cli.program import main

if __name__ == "__main__":
    main(prog_name="kraftgate")
