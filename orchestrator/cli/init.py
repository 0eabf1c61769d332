"""`kraftgate init`: writes a configuration for a cluster that ZooKeeper describes."""

import math
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click
import yaml
from pydantic import TypeAdapter, ValidationError

from migration.observed.probed import Unknown
from orchestrator.cli.framework import config_option
from orchestrator.cli.preflight import preflight
from orchestrator.config import CONFIG_FILE
from orchestrator.config.load import parse_config
from orchestrator.config.models import ZookeeperEnsemble
from orchestrator.config.targets import ensemble_of
from orchestrator.config.values import Bootstrap, ClusterName, Zookeeper, parse_host_port
from orchestrator.errors import ConfigError, ExecutionError, NoDataError
from orchestrator.output.printing import ask, echo
from orchestrator.output.visible import visible_line
from orchestrator.runbook.load import RUNBOOK, load
from orchestrator.runbook.places import everywhere
from streams.net.security import Security
from streams.probe.controllers import ask_addresses as ask_controllers
from streams.zookeeper.probe import BrokerAddresses, ask_addresses

_HOOKS: Final = "hooks.yaml"
_PLAINTEXT: Final = "PLAINTEXT"
_CONTROLLERS: Final = "c1:9093,c2:9093,c3:9093"
_VALUES: Final[Mapping[str, TypeAdapter[Any]]] = {
    "--zookeeper": TypeAdapter(Zookeeper),
    "--name": TypeAdapter(ClusterName),
    "--controllers": TypeAdapter(Bootstrap),
}
_CONFIG: Final = """\
# Written by `kraftgate init`. All keys: kraftgate help configuration
cluster: {{name: {name}{id}}}
zookeeper: {{connect: {zookeeper}}}
brokers:
  bootstrap: {brokers}
{security}{controllers}
state_dir: ./kraftgate-state

# The migration as a runbook; every step is shown for you to do by hand. To let your own commands
# do the steps, fill in hooks.yaml, replace this line by the next one, and add --execute to run.
runbook: {{file: {runbook}}}
# runbook: {{file: {runbook}, hooks: {hooks}}}

# console: {{listen: "127.0.0.1:8464"}}
# metrics: {{listen: "127.0.0.1:9464"}}
"""
_SECURED: Final = """\
  # The brokers offer {offered}. Set the user, or the certificate, of Kraftgate:
  # kraftgate help security
  security: {{protocol: {protocol}{sasl}}}
"""
_HOOKS_HEAD: Final = """\
# The commands that perform the steps of {runbook}, instead of you. Remove the `#` of the steps that
# you have a command for; the others stay by hand. A command gets its arguments as they are, without
# a shell; it succeeds if it exits with 0. Ready-made files for ssh and Ansible are in the package's
# runbooks/hooks; the format: kraftgate help migration-night
#
# A step for each broker is done with {{broker}} and {{host}} of one after the other:
#   {brokers}
# {{controllers}} is {controllers}
#
# `kraftgate hooks check` prints every command for this cluster, and runs only the lines `check`.
hooks: 1
explain: Our own commands.
steps:
"""


def _valid(
    context: click.Context,  # noqa: ARG001  # click's own
    option: click.Parameter,
    value: str | None,
) -> str | None:
    if value:
        _require_valid(option.opts[0], value)
    return value


@click.command()
@config_option
@click.option(
    "--zookeeper",
    metavar="CONNECT",
    callback=_valid,
    help="The ensemble, such as zk1:2181,zk2:2181/kafka.",
)
@click.option(
    "--controllers",
    metavar="HOST:PORT,...",
    callback=_valid,
    help="Where the KRaft controllers will listen, if that is known already.",
)
@click.option("--name", metavar="NAME", callback=_valid, help="The cluster's name in Kraftgate.")
@click.pass_context
def init(
    context: click.Context,
    config_path: Path,
    zookeeper: str | None,
    controllers: str | None,
    name: str | None,
) -> None:
    """Write kraftgate.yaml and hooks.yaml for a cluster, then check the cluster.

    Reads the brokers' addresses and the cluster's id from ZooKeeper, and the controllers' addresses
    from the settings of brokers that have them and need no login; on a terminal it asks for what is
    missing. Never overwrites a file. Exits like preflight.

    \b
    Example:
      kraftgate init --zookeeper zk1:2181,zk2:2181/kafka --name prod
    """
    hooks = config_path.parent / _HOOKS
    for file in (config_path, hooks):
        if file.exists():
            raise ExecutionError(f"{file} exists: rename it, or use another directory")
    connect = zookeeper or _asked("ZooKeeper's address (zk1:2181,zk2:2181/chroot)", "--zookeeper")
    ensemble = ZookeeperEnsemble.model_validate({"connect": connect})
    found = ask_addresses(ensemble_of(ensemble))
    if isinstance(found, Unknown):
        raise NoDataError(f"nothing was written: {found.why}")
    if not found.listeners:
        fix = _begun(found) or "start the brokers"
        raise NoDataError(
            f"nothing was written: no broker is registered in {connect}/brokers/ids: {fix}"
        )
    named = name or _asked("A name for the cluster", "--name")
    planned = controllers or ",".join(_controllers(found))
    if not planned and controllers is None and sys.stdin.isatty():
        question = "Addresses of the KRaft controllers, c1:9093,...; Enter: not known yet"
        planned = ask(question).strip()
        if planned:
            _require_valid("--controllers", planned)
    text = config_text(named, connect, found, planned or None)
    # The files that `security` names need not exist yet; preflight reports them.
    plain = replace(found, listeners={_PLAINTEXT: found.listeners[_protocol(found)]})
    _require_config(config_text(named, connect, plain, planned or None), config_path)
    _write({config_path: text, hooks: hooks_text(found, planned or None)})
    brokers = ", ".join(f"{len(each)} at {offer}" for offer, each in found.listeners.items())
    echo(f"{config_path}: cluster {found.cluster_id or 'without an id'}, brokers: {brokers}")
    echo(f"{hooks}: a line for each step, all commented out")
    if planned and not controllers:
        echo(f"controllers: {planned}")
    if begun := _begun(found):
        echo(begun)
    if not planned:
        echo(f"Add `controllers` to {config_path} once you know their addresses")
    named_file = "" if config_path == CONFIG_FILE else f" --config {shlex.quote(str(config_path))}"
    echo(f"Next: kraftgate run{named_file}")
    context.invoke(preflight, config_path=config_path, as_json=False)


def _begun(found: BrokerAddresses) -> str | None:
    """Return what the addresses lack once a KRaft controller leads; None: a broker does."""
    if found.controller is None or not found.controller.is_kraft:
        return None
    return (
        f"KRaft controller {found.controller.id} leads, and brokers in KRaft mode are not in"
        " ZooKeeper: add them to `brokers` yourself (kraftgate help configuration)"
    )


def _asked(question: str, option: str) -> str:
    """Ask on the terminal.

    Raises:
        click.UsageError: there is no terminal, nothing was typed, or it is not valid.
    """
    typed = ask(question).strip() if sys.stdin.isatty() else ""
    if not typed:
        raise click.UsageError(f"add {option}")
    _require_valid(option, typed)
    return typed


def _require_valid(option: str, value: str) -> None:
    """Raise click.UsageError if the configuration cannot have this value."""
    try:
        _VALUES[option].validate_python(value)
    except ValidationError as error:
        raise click.UsageError(f"{option}: {error.errors()[0]['ctx']['error']}") from error


def _require_config(text: str, path: Path) -> None:
    """Raise ExecutionError if this text is not a valid configuration."""
    try:
        parse_config(text, path)
    except ConfigError as error:
        raise ExecutionError(f"nothing was written: {'; '.join(error.problems)}") from error


def _controllers(found: BrokerAddresses) -> tuple[str, ...]:
    """Return the controllers that the brokers' settings name; empty: none, or it is unknown."""
    try:
        brokers = [parse_host_port(each) for each in found.listeners.get(_PLAINTEXT, ())]
        named = ask_controllers(brokers, Security(key="brokers.security"))
        return () if isinstance(named, Unknown) else tuple(str(parse_host_port(e)) for e in named)
    except ValueError:  # an address that the configuration could not have, either
        return ()


def config_text(name: str, zookeeper: str, found: BrokerAddresses, controllers: str | None) -> str:
    """Return the configuration; PLAINTEXT if the brokers offer it, else their first protocol."""
    offered, protocol = list(found.listeners), _protocol(found)
    secured = ""
    if protocol != _PLAINTEXT:
        sasl = ", sasl_mechanism: SCRAM-SHA-512, username: kraftgate, password_file: kafka-password"
        secured = _SECURED.format(
            offered=visible_line(", ".join(offered)),
            protocol=_scalar(protocol),
            sasl=sasl if protocol.startswith("SASL_") else "",
        )
    known = f"controllers: {{bootstrap: {_scalar(controllers or _CONTROLLERS)}}}"
    if controllers is None:
        known = f"# {known}"
    return _CONFIG.format(
        name=_scalar(name),
        id="" if found.cluster_id is None else f", id: {_scalar(found.cluster_id)}",
        zookeeper=_scalar(zookeeper),
        brokers=_scalar(",".join(found.listeners[protocol])),
        security=secured,
        controllers=known,
        runbook=RUNBOOK,
        hooks=_HOOKS,
    )


def _protocol(found: BrokerAddresses) -> str:
    return _PLAINTEXT if _PLAINTEXT in found.listeners else next(iter(found.listeners))


def hooks_text(found: BrokerAddresses, controllers: str | None) -> str:
    """Return a file of hooks with every step of the runbook, commented out."""
    brokers = (f"{id_} on {visible_line(host)}" for id_, host in found.hosts.items())
    head = _HOOKS_HEAD.format(
        runbook=RUNBOOK,
        brokers=", ".join(brokers),
        controllers=visible_line(controllers or "")
        or f"not known yet: add `controllers`, such as {_CONTROLLERS}",
    )
    return head + "".join(_steps())


def _steps() -> Iterator[str]:
    seen: set[str] = set()
    for place in everywhere(load(RUNBOOK).runbook):
        step, each = place.checkpoint.step, place.checkpoint.for_each
        if step is None or step.name in seen:
            continue
        seen.add(step.name)
        member = () if each is None else ("{host}", f"{{{each}}}")
        words = ", ".join(f'"{word}"' for word in (f"./{step.name}", *member))
        reach = ', check: {argv: [ssh, -oBatchMode=yes, "{host}", "true"]}' if each else ""
        yield f"  # {step.do or place.checkpoint.title}\n"
        yield f"  # {step.name}: {{argv: [{words}], timeout: 10m{reach}}}\n"


def _scalar(text: str) -> str:
    """Return a text as YAML reads it back, quoted and in one line."""
    return yaml.safe_dump(text, default_style='"', width=math.inf).removesuffix("\n")


def _write(files: Mapping[Path, str]) -> None:
    """Write all files or none: each run refuses files that exist.

    Raises:
        ExecutionError: one cannot be written.
    """
    written = []
    for file, text in files.items():
        try:
            with file.open("x", encoding="utf-8") as out:
                written.append(file)
                out.write(text)
        except OSError as error:
            for each in written:
                each.unlink(missing_ok=True)
            raise ExecutionError(f"cannot write {file}: {error.strerror}") from error
