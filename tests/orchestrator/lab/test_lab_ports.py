"""Held ports: nobody else gets them, and a server that sets SO_REUSEADDR still can listen there."""

import socket

import pytest

from orchestrator.lab.machine.ports import LOOPBACK, Ports


def test_ports_differ_and_are_not_given_to_others() -> None:
    ports = Ports()
    mine = {ports.take() for _ in range(50)}
    assert len(mine) == 50
    others = []
    for _ in range(200):
        other = socket.socket()
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind((LOOPBACK, 0))
        others.append(other)
    assert mine.isdisjoint(other.getsockname()[1] for other in others)
    for other in others:
        other.close()
    ports.close()


def test_a_server_that_reuses_addresses_listens_on_a_held_port() -> None:
    ports = Ports()
    port = ports.take()
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((LOOPBACK, port))
        server.listen()
        with socket.create_connection((LOOPBACK, port), timeout=5):
            pass
    ports.close()


def test_nobody_answers_on_a_held_port() -> None:
    ports = Ports()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((LOOPBACK, ports.take()), timeout=5)
    ports.close()


def test_a_closed_set_holds_nothing() -> None:
    ports = Ports()
    port = ports.take()
    ports.close()
    with socket.socket() as plain:
        plain.bind((LOOPBACK, port))
