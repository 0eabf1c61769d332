"""The live follower: its state machine, its spool, its connection, and a real quorum."""
