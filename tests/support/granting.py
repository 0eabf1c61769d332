"""A lab with an authorizer, and the rights of its users."""

from collections.abc import Iterable
from typing import Final

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # it exports them
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

AUTHORIZED: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
"""The properties of every member; the lab itself is ANONYMOUS."""
CLUSTER: Final = ResourceType.BROKER
"""AdminClient's name of the resource CLUSTER."""


def grant(
    bootstrap: str,
    user: str,
    rights: Iterable[str],
    kind: ResourceType = CLUSTER,
    name: str = "kafka-cluster",
) -> None:
    """Allow a user these operations on one resource."""
    wanted = [
        AclBinding(
            kind,
            name,
            ResourcePatternType.LITERAL,
            f"User:{user}",
            "*",
            AclOperation[right],
            AclPermissionType.ALLOW,
        )
        for right in rights
    ]
    admin = AdminClient({"bootstrap.servers": bootstrap})  # its end would end the requests
    for each in admin.create_acls(wanted).values():
        each.result()
