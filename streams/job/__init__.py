"""The one Structured Streaming job: from the source's rows to the audit store and Parquet."""

from streams.job.follow import JobFailed, JobSettings, LogSource, ReplayOutcome, follow, replay

__all__ = ["JobFailed", "JobSettings", "LogSource", "ReplayOutcome", "follow", "replay"]
