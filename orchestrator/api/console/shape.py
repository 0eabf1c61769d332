"""What every JSON object of the console has in common."""

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Ms: TypeAlias = Annotated[int, Field(description="ms since the epoch, UTC")]
Lane: TypeAlias = Literal["metadata", "zookeeper", "disks", "jmx", "decisions"]
Verdict: TypeAlias = Literal["satisfied", "waiting", "violated", "unknown", "skipped"]


class Shape(BaseModel):
    """A JSON object; every key is there unless it is said otherwise."""

    model_config = ConfigDict(frozen=True, extra="forbid")
