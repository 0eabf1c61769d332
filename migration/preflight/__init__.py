"""Every check that can be made before the window: pure judgements over what was gathered.

`facts` says what is known of a cluster, `judge` runs every check over it. Reads from `streams`,
words from here, the exit code from `orchestrator`.
"""
