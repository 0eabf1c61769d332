"""Who has quotas: one name for what ZooKeeper and the metadata log call differently."""

import pytest

from migration.comparison.quotas import digest_of, entity_of, entity_of_path


@pytest.mark.parametrize(
    ("path", "parts", "name"),
    [
        ("users/alice", {"user": "alice"}, "user 'alice'"),
        ("users/al%20ice%2B", {"user": "al ice+"}, "user 'al ice+'"),
        ("users/<default>", {"user": None}, "user default"),
        ("users/<default>", {"user": ""}, "user default"),
        ("users/%3Cdefault%3E", {"user": "<default>"}, "user '<default>'"),
        ("clients/app", {"client-id": "app"}, "client-id 'app'"),
        ("ips/127.0.0.1", {"ip": "127.0.0.1"}, "ip '127.0.0.1'"),
        (
            "users/a/clients/<default>",
            {"client-id": None, "user": "a"},
            "user 'a', client-id default",
        ),
    ],
)
def test_both_sides_name_it_alike(path: str, parts: dict[str, str | None], name: str) -> None:
    assert entity_of_path(path) == entity_of(parts) == name


@pytest.mark.parametrize(
    "path", ["users", "users/a/clients", "topics/t", "clients/a/users/b", "users/a/clients/b/ips/c"]
)
def test_other_paths_are_nobodys(path: str) -> None:
    assert entity_of_path(path) is None


def test_a_type_of_the_future_has_a_name_too() -> None:
    assert entity_of({"tenant": "x", "user": "a"}) == "user 'a', tenant 'x'"


def test_a_value_is_the_same_however_it_is_written() -> None:
    assert digest_of(float("1024")) == digest_of(1024.0) == digest_of(float("1.024E3"))
    assert digest_of(1024.0) != digest_of(1024.5)
