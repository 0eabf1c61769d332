"""A user's own condition that is a query of a Prometheus server.

An instant query evaluates it, so a sample may be as old as Prometheus' lookback (five minutes). For
newer samples the query itself must limit the range, as in `max_over_time(lag[1m])`.
"""

import math
from collections.abc import Sequence
from typing import Annotated, Final, Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from migration.assessment.conditions import Finding, Verdict
from orchestrator.runbook.model import PromqlCondition
from streams.jmx.config import Access
from streams.jmx.errors import JmxError
from streams.jmx.http import Http
from streams.jmx.prometheus import answer, number


class _Sample(BaseModel):
    """One sample; `value`: seconds since 1970, and a number as text."""

    metric: dict[str, str]
    value: tuple[float, str]


class _Vector(BaseModel):
    resultType: Literal["vector"]  # noqa: N815  # Prometheus' own
    result: list[_Sample]


class _Scalar(BaseModel):
    resultType: Literal["scalar"]  # noqa: N815
    result: tuple[float, str]


_RESULT: Final[TypeAdapter[_Vector | _Scalar]] = TypeAdapter(
    Annotated[_Vector | _Scalar, Field(discriminator="resultType")]
)


def ask_promql(name: str, promql: PromqlCondition) -> Finding:
    """Return satisfied if there are values and none is zero; waiting if one is or none exists."""
    http = Http(Access(), promql.timeout.total_seconds())
    samples: Sequence[tuple[str, str]] = ()
    try:
        samples = _samples(answer(promql.url.rstrip("/"), http, {"query": promql.query}))
        verdict, reason = _verdict(samples)
    except JmxError as error:
        verdict, reason = Verdict.UNKNOWN, str(error)
    except ValidationError as error:
        why = error.errors()[0]["msg"]
        verdict, reason = Verdict.UNKNOWN, f"the answer is neither a vector nor a scalar: {why}"
    finally:
        http.close()
    found = tuple(f"{labels} {value}".strip() for labels, value in samples)
    return Finding(condition=name, verdict=verdict, reason=reason, evidence=found)


def _samples(data: object) -> Sequence[tuple[str, str]]:
    """Return the labels and the value of each sample.

    Raises:
        ValidationError: the data is not the result of an instant query.
    """
    found = _RESULT.validate_python(data)
    if isinstance(found, _Scalar):
        return [("", found.result[1])]
    return [(_labels(each.metric), each.value[1]) for each in found.result]


def _labels(metric: dict[str, str]) -> str:
    others = ", ".join(f"{k}={v}" for k, v in sorted(metric.items()) if k != "__name__")
    return f"{metric.get('__name__', '')}{{{others}}}"


def _verdict(samples: Sequence[tuple[str, str]]) -> tuple[Verdict, str]:
    if not samples:
        return Verdict.WAITING, "the query returns no value"
    numbers = [number(value) for _, value in samples]
    odd = sum(math.isnan(each) for each in numbers)
    if odd:
        return Verdict.UNKNOWN, f"{odd} of {len(numbers)} values are not numbers"
    zeros = sum(each == 0 for each in numbers)
    if zeros:
        return Verdict.WAITING, f"{zeros} of {len(numbers)} values are zero"
    return Verdict.SATISFIED, f"none of {len(numbers)} values is zero"
