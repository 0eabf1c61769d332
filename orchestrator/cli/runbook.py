"""The commands of the group `runbook`: list, copy, show, check, schema."""

from pathlib import Path

import click

from migration.values.nearest import did_you_mean
from orchestrator.cli.framework import Group, cluster_option, json_option
from orchestrator.errors import KraftgateError
from orchestrator.output.printing import echo, echo_json, echo_text
from orchestrator.runbook.load import RUNBOOK, load, shipped
from orchestrator.runbook.markdown import page
from orchestrator.runbook.schema import schema_text


@click.group(cls=Group)
def runbook() -> None:
    """Read and check runbooks. A runbook is a YAML file of checkpoints and rollbacks.

    \b
    Example:
      kraftgate runbook show zk-to-kraft-jbod > migration-night.md
    """


@runbook.command(name="list")
@json_option
def list_(*, as_json: bool) -> None:
    """List the bundled runbooks.

    \b
    Example:
      kraftgate runbook list
    """
    found = {name: load(name).runbook.title for name in shipped()}
    if as_json:
        echo_json({"runbooks": [{"name": name, "title": title} for name, title in found.items()]})
        return
    for name, title in found.items():
        echo(f"{name}\t{title}")


@runbook.command()
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path), required=False)
def copy(name: str, file: Path | None) -> None:
    """Copy the bundled runbook NAME to FILE (NAME.yaml), to change it; never overwrites.

    \b
    Example:
      kraftgate runbook copy zk-to-kraft-jbod our-night.yaml
    """
    if name not in shipped():
        raise click.UsageError(f"no bundled runbook {name!r}; {did_you_mean(name, shipped())}")
    target = file or Path(f"{name}.yaml")
    text = load(name).text
    try:
        out = target.open("xb")
    except OSError as error:
        raise click.UsageError(f"cannot write {target}: {error.strerror}") from error
    try:
        with out:
            out.write(text.encode())
    except OSError as error:
        target.unlink(missing_ok=True)
        raise KraftgateError(f"cannot write {target}: {error.strerror}") from error
    named = target.absolute()  # a relative path counts from the configuration's directory
    echo(
        f"{target}: a copy of {name}. Set `runbook: {{file: {named}}}` in kraftgate.yaml, and"
        " another `name` in the copy"
    )


@runbook.command()
@click.argument("which", metavar="[NAME|FILE]", default=RUNBOOK)
@click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Fill in what the cluster of this configuration answers: its id, addresses, controllers.",
)
@cluster_option
def show(which: str, config_path: Path | None, cluster: str | None) -> None:
    """Print a runbook as a Markdown page.

    With --config it asks the cluster, and only reads. What it does not know stays in capitals, such
    as CLUSTER_ID.

    \b
    Examples:
      kraftgate runbook show disk-replacement | less
      kraftgate runbook show zk-to-kraft-jbod --config kraftgate.yaml > night.md
    """
    if cluster is not None and config_path is None:
        raise click.UsageError("--cluster needs the configuration of the cluster: add --config")
    loaded = load(which)
    values = {} if config_path is None else _values(config_path, cluster)
    echo_text(page(loaded.runbook, values))


def _values(config_path: Path, cluster: str | None) -> dict[str, str]:
    """Ask the cluster for the values of the texts' fields; what is unknown is reported."""
    from orchestrator.config.load import load_config
    from orchestrator.run.identity import followed_target
    from orchestrator.runbook.cluster_facts import facts_of
    from streams.probe.gather import gather

    config = load_config(config_path)
    entry = config.one_cluster(cluster)
    facts = facts_of(entry, gather(followed_target(config, entry)))
    for line in facts.not_known:
        echo(f"not known: {line}", err=True)
    return facts.values()


@runbook.command()
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def check(file: Path, *, as_json: bool) -> None:
    """Check a runbook: exit with 2 and print every problem with its line if it is invalid.

    \b
    Example:
      kraftgate runbook check our-night.yaml
    """
    book = load(file).runbook
    if as_json:
        ids = [each.id for each in book.checkpoints]
        ways = [each.id for each in book.rollbacks]
        echo_json({"name": book.name, "checkpoints": ids, "rollbacks": ways})
        return
    count = f"{len(book.checkpoints)} checkpoints, {len(book.rollbacks)} rollbacks"
    echo(f"{file}: {book.name} is valid ({count})")


@runbook.command()
@click.option("--hooks", "of_hooks", is_flag=True, help="The schema of files of hooks.")
def schema(*, of_hooks: bool) -> None:
    """Print the JSON Schema (2020-12) of runbooks, for editors.

    \b
    Examples:
      kraftgate runbook schema > runbook.schema.json
      kraftgate runbook schema --hooks > hooks.schema.json
    """
    echo_text(schema_text(of_hooks=of_hooks))
