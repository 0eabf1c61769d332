"""What tests and benchmarks do to processes that they started."""

import psutil


def kill_tree(pid: int) -> None:
    """Send kill -9 to a process and everything below it, at once, and wait until all ended."""
    root = psutil.Process(pid)
    doomed = [root, *root.children(recursive=True)]
    for each in doomed:
        try:
            each.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(doomed, timeout=120)
