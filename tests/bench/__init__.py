"""The benchmark: `python -m tests.bench` measures what is promised, both sides in one run."""
