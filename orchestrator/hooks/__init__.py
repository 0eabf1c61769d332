"""Runs the operator's commands that perform steps, supervised; they outlive Kraftgate.

The errors are part of the tree in `orchestrator.errors`:

    HookError             a command cannot be started, or the files of its run cannot be read
    SecretUnknown         a secret of the command cannot be read, so it cannot be redacted
    VariableNotSet        a variable to pass to the command is not set

The supervisor reports its own `TooLate`, as any error of the start, in the outcome of the run.
"""
