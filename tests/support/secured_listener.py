"""A listener with SASL, next to the one that the lab itself uses; set before the lab starts."""

import socket
from collections.abc import Mapping
from typing import Final

from orchestrator.lab import Lab
from orchestrator.lab.machine.ports import LOOPBACK
from streams.net.endpoint import Endpoint
from tests.streams.zookeeper.certificates import Certificate

MODULES: Final = "org.apache.kafka.common.security"


def _free() -> Endpoint:
    with socket.create_server((LOOPBACK, 0)) as free:
        return Endpoint(LOOPBACK, free.getsockname()[1])


def _plain(passwords: Mapping[str, str]) -> dict[str, str]:
    users = " ".join(f'user_{user}="{password}"' for user, password in passwords.items())
    return {
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.secured.plain.sasl.jaas.config": (
            f"{MODULES}.plain.PlainLoginModule required {users};"
        ),
    }


def of_broker(
    lab: Lab, passwords: Mapping[str, str], certificate: Certificate
) -> tuple[Endpoint, dict[str, str]]:
    """Return where the lab's only broker listens with SASL_SSL, and its properties for that."""
    at = _free()
    listeners = f"PLAINTEXT://{lab.broker_bootstrap},SECURED://{at}"
    return at, {
        "listeners": listeners,
        "advertised.listeners": listeners,
        "listener.security.protocol.map": (
            "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURED:SASL_SSL"
        ),
        **_plain(passwords),
        "listener.name.secured.ssl.keystore.type": "PEM",
        "listener.name.secured.ssl.keystore.location": str(certificate.both),
    }


def of_controller(lab: Lab, passwords: Mapping[str, str]) -> tuple[Endpoint, dict[str, str]]:
    """Return where the lab's only controller listens with SASL, and its properties for that."""
    at = _free()
    return at, {
        "listeners": f"CONTROLLER://{lab.controller_bootstrap},SECURED://{at}",
        "controller.listener.names": "CONTROLLER,SECURED",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,SECURED:SASL_PLAINTEXT",
        **_plain(passwords),
    }
