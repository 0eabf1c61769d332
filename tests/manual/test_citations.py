"""Tests cite the proposals by sections that exist, and every section with a rule is cited.

KIP-113, KIP-589 and KIP-858 are the proposals behind Kraftgate. A citation is the proposal and, in
quotation marks, the title of a section, or its beginning followed by ` ...`.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.manual.pages import ROOT

RULES: Final = {
    113: (
        "Motivation",
        "How to move replica between log directories on the same broker",
        "Problem statement",
        "Solution",
        "Initiate replica movement using AlterReplicaDirRequest",
        "Complete replica data movement",
        "Handle failure that happens when broker is moving data or swapping replica",
        "How to reassign replica between log directories across brokers",
        "How to retrieve information to determine the new replica assignment across log directories",  # noqa: E501  # a title
        "Create AlterReplicaDirRequest",
        "Create AlterReplicaDirResponse",
        "Create DescribeLogDirsRequest",
        "Create DescribeLogDirsResponse",
        "Broker Config",
        "Scripts",
        "Changes in Operational Procedures",
        "Compatibility, Deprecation, and Migration Plan",
        "Test Plan",
    ),
    589: (
        "Motivation",
        "Public Interfaces",
        "Proposed Changes",
        "Failure Modes",
        "Compatibility, Deprecation, and Migration Plan",
    ),
    858: (
        "Motivation",
        "meta.properties",
        "Reserved UUIDs",
        "Metadata records",
        "RPC requests",
        "Metrics",
        "Configuration",
        "Storage format command",
        "Broker lifecycle management",
        "Metadata caching",
        "Handling log directory failures",
        "Replica management",
        "Intra-broker replica movement",
        "Replica placement",
        "Handling replica assignments",
        "Broker registration",
        "Compatibility, Deprecation, and Migration Plan",
        "Migrating a cluster in KRaft without JBOD",
        "Migrating a cluster in ZK mode running with JBOD",
        "Storage formatting",
        "Test plan",
        "Future work",
    ),
}
"""The sections with rules for what Kafka does. Left out are those about Java's AdminClient (113),
about requests that never shipped ("RPC semantics", "Future Work" of 589), and alternatives."""

_BEGINS: Final = re.compile(r"KIP-(?:113|589|858),\s")
_CITED: Final = re.compile(r'KIP-(113|589|858), ((?:"[^"]+"(?:, | and )?)+)')


def citations(file: Path) -> Iterator[tuple[int, str]]:
    """Yield proposal and section of each citation in comments and docstrings."""
    source = file.read_text("utf-8")
    if _BEGINS.search(source) is None:
        return
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    texts = [each.string for each in tokens if each.type == tokenize.COMMENT]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            texts.append(str(node.value.value))
    for text in texts:
        for number, sections in _CITED.findall(" ".join(text.split())):
            yield from ((int(number), each) for each in re.findall(r'"([^"]+)"', sections))


def matching(number: int, cited: str) -> list[str]:
    """Return the sections of which this is the title, or the beginning."""
    if cited.endswith(" ..."):
        return [each for each in RULES[number] if each.startswith(cited.removesuffix(" ..."))]
    return [each for each in RULES[number] if each == cited]


FILES: Final = sorted((ROOT / "tests").rglob("*.py"))


@pytest.mark.slow
def test_each_citation_names_a_section() -> None:
    wrong = [
        f"{file.relative_to(ROOT)}: KIP-{number}, {cited!r}"
        for file in FILES
        for number, cited in citations(file)
        if len(matching(number, cited)) != 1
    ]
    assert wrong == []


@pytest.mark.slow
def test_each_section_with_a_rule_is_cited_by_a_test() -> None:
    cited = {
        (number, section)
        for file in FILES
        for number, each in citations(file)
        for section in matching(number, each)
    }
    rules = {(number, each) for number, sections in RULES.items() for each in sections}
    assert rules - cited == set()
