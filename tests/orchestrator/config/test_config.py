"""The configuration: every problem at once, each with its line, what is wrong and the fix."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.load import Config, load_config, parse_config
from orchestrator.config.models import ConfigFile
from orchestrator.config.values import parse_host_port
from orchestrator.errors import ConfigError, ExitCode
from streams.net.endpoint import Endpoint

HERE = Path("kraftgate.yaml")
WHOLE = """\
cluster: {name: prod, id: uSLaubyUxZGsRKrz8FtoCw}
zookeeper: {connect: "zk1:2181,zk2:2181/kafka"}
controllers: {bootstrap: "c1:9093,[::1]:9093"}
brokers: {bootstrap: "b1:9092,b2:9092"}
state_dir: ./kraftgate-state
metrics: {listen: "127.0.0.1:9464"}
console: {listen: "127.0.0.1:8464"}
stall: {after: 1h30m}
"""


def read(text: str) -> Config:
    return parse_config(text, HERE)


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert caught.value.code is ExitCode.USAGE
    return list(caught.value.problems)


def test_the_whole_file_is_read() -> None:
    config = read(WHOLE)
    (cluster,) = config.clusters
    assert (cluster.name, cluster.id) == ("prod", "uSLaubyUxZGsRKrz8FtoCw")
    assert cluster.zookeeper is not None
    assert str(cluster.zookeeper.connect) == "zk1:2181,zk2:2181/kafka"
    assert cluster.controllers is not None
    assert cluster.controllers.bootstrap == (Endpoint("c1", 9093), Endpoint("::1", 9093))
    assert config.stall_after_ms == 5_400_000
    assert config.metrics is not None
    assert str(config.metrics.listen) == "127.0.0.1:9464"
    assert not config.many


def test_the_job_may_run_on_a_spark_cluster(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    file = tmp_path / "kraftgate.yaml"
    file.write_text(
        "cluster: {name: prod}\nrun:\n  spark:\n    master: spark://s1:7077\n"
        '    secret_file: secret\n    settings: {spark.executor.cores: "2"}\n'
    )
    spark = load_config(file).spark
    assert (spark.master, spark.secret_file) == ("spark://s1:7077", tmp_path / "secret")
    assert spark.settings == {"spark.executor.cores": "2"}
    assert read("cluster: {name: prod}").spark.master is None


def test_a_name_is_all_it_needs() -> None:
    config = read("cluster: {name: prod}\n")
    assert config.clusters[0].controllers is None
    assert config.stall_after_ms == 300_000
    assert config.state_dir == Path.cwd() / "kraftgate-state"


def test_paths_start_at_the_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    file = tmp_path / "kraftgate.yaml"
    file.write_text(
        "cluster: {name: prod}\nstate_dir: here\ncontrollers:\n  bootstrap: c1:9093\n  security:"
        " {protocol: SASL_SSL, sasl_mechanism: PLAIN, username: u, password_file: secret}\n"
    )
    config = load_config(file)
    assert config.state_dir == tmp_path / "here"
    assert config.clusters[0].controllers is not None
    assert config.clusters[0].controllers.security.password_file == tmp_path / "secret"


EXPORTERS = """\
cluster: {name: prod}
jmx:
  exporters: {"1": "http://b1:7071/metrics", "3000": "https://[::1]:7071/metrics"}
"""
PROMETHEUS = """\
cluster: {name: prod}
jmx:
  prometheus: {url: "http://prom:9090/prefix/", labels: {job: kafka}, node_label: node_id}
"""


@pytest.mark.parametrize(
    ("host", "is_host"),
    [
        ("b", True),
        ("b-1.example.com", True),
        ("_b.x_y.com.", True),
        ("10.0.0.1", True),
        ("b" * 63 + ".com", True),
        ("b" * 64 + ".com", False),
        ("b..com", False),
        (".com", False),
        ("b..", False),
        ("-b", False),
        ("b-", False),
    ],
)
def test_a_host_is_a_name_that_a_resolver_accepts(host: str, is_host: bool) -> None:
    text = f"cluster: {{name: prod}}\nbrokers: {{bootstrap: '{host}:9092'}}\n"
    if is_host:
        assert read(text).clusters[0].brokers is not None
        return
    with pytest.raises(ConfigError, match="names no host"):
        read(text)


@pytest.mark.parametrize("chroot", ["/.", "/..", "/kafka/./a", "/kafka/.."])
def test_a_chroot_has_no_relative_parts(chroot: str) -> None:
    with pytest.raises(ConfigError, match="which is no path"):
        read(f"cluster: {{name: prod}}\nzookeeper: {{connect: 'zk1:2181{chroot}'}}\n")
    read("cluster: {name: prod}\nzookeeper: {connect: 'zk1:2181/..a/.b/c..'}\n")


def test_exporters_are_read_by_node_id() -> None:
    jmx = read(EXPORTERS).clusters[0].jmx
    assert jmx is not None
    assert jmx.exporters == {1: "http://b1:7071/metrics", 3000: "https://[::1]:7071/metrics"}
    assert jmx.prometheus is None


def test_prometheus_names_its_nodes_by_a_label_or_by_instance() -> None:
    jmx = read(PROMETHEUS).clusters[0].jmx
    assert jmx is not None
    assert jmx.prometheus is not None
    assert jmx.prometheus.url == "http://prom:9090/prefix"
    assert (jmx.prometheus.labels, jmx.prometheus.node_label) == ({"job": "kafka"}, "node_id")
    by_instance = PROMETHEUS.replace("node_label: node_id", 'instances: {"b1:7071": 1, c1: "3000"}')
    jmx = read(by_instance).clusters[0].jmx
    assert jmx is not None
    assert jmx.prometheus is not None
    assert jmx.prometheus.instances == {"b1:7071": 1, "c1": 3000}


@pytest.mark.parametrize(
    ("jmx", "said"),
    [
        ("{}", "`jmx`: needs `exporters` or `prometheus`, and not both"),
        ("{exporters: {}}", None),
        (
            '{exporters: {b1: "http://b1:7071/metrics"}}',
            "`jmx.exporters`: 'b1' is no node id: write a number like 1 or 3000",
        ),
        (
            '{exporters: {"1": "http://b1", "01": "http://b2"}}',
            "`jmx.exporters`: names a node id twice: remove one",
        ),
        (
            '{exporters: {"1": "b1:7071"}}',
            "`jmx.exporters`: node 1: is no HTTP address: write it like http://b1:7071/metrics",
        ),
        (
            '{exporters: {"1": "http://u:hunter2@b1:7071"}}',
            "`jmx.exporters`: node 1: names a user: remove the part up to `@`",
        ),
        (
            '{prometheus: {url: "http://p:9090"}}',
            (
                "`jmx.prometheus`: needs `node_label` (the label with the node id) or `instances`"
                " (node ids by `instance`), and not both"
            ),
        ),
        (
            '{prometheus: {url: "http://p:9090/?x=1", node_label: n}}',
            "`jmx.prometheus.url`: has a query: remove the part from `?` on",
        ),
        (
            '{prometheus: {url: "http://p:9090", node_label: node-id}}',
            (
                "`jmx.prometheus.node_label`: 'node-id' is no label:"
                " letters, digits and '_', no digit first"
            ),
        ),
        (
            '{exporters: {"1": "http://b1"}, username: u}',
            "`jmx`: `username` and `password_file` belong together: give both or none",
        ),
        (
            '{exporters: {"1": "http://b1"}, ca_file: ca.pem}',
            "`jmx`: takes no `ca_file`: no address begins with https",
        ),
        (
            '{exporters: {"1": "http://b1"}, password: hunter2}',
            "unknown key `password` in `jmx`; did you mean `password_file`?",
        ),
    ],
)
def test_each_problem_of_jmx_says_how_to_mend_it(
    jmx: str, said: str | None, tmp_path: Path
) -> None:
    (tmp_path / "ca.pem").touch()
    with pytest.raises(ConfigError) as caught:
        parse_config(f"cluster: {{name: a}}\njmx: {jmx}\n", tmp_path / "k.yaml")
    (problem,) = caught.value.problems
    if said is not None:
        assert problem == f"{tmp_path}/k.yaml:2: {said}"
    assert "hunter2" not in problem


def test_several_clusters_are_a_list_of_the_same() -> None:
    config = read("clusters:\n- {name: a, controllers: {bootstrap: c1:9093}}\n- {name: b}\n")
    assert [cluster.name for cluster in config.clusters] == ["a", "b"]
    assert config.many


def test_an_unknown_key_names_the_nearest_known_one() -> None:
    text = "cluster: {name: prod}\n" + "\n" * 10 + "zookeper: {connect: zk1}\n"
    assert problems(text) == [
        "kraftgate.yaml:12: unknown key `zookeper` in the top level; did you mean `zookeeper`?"
    ]


def test_an_unknown_key_without_a_neighbour_is_told_all() -> None:
    assert problems("cluster: {name: prod}\nstall: {xyz: 1}\n") == [
        "kraftgate.yaml:2: unknown key `xyz` in `stall`; known are `after`, `trial`"
    ]


def test_a_secret_in_the_file_is_refused_and_not_repeated() -> None:
    (said,) = problems(
        "cluster: {name: p}\ncontrollers:\n  bootstrap: c1:1\n  security: {password: hunter2}\n"
    )
    assert said == (
        "kraftgate.yaml:4: unknown key `password` in `controllers.security`;"
        " did you mean `password_file`?"
    )


def test_a_directory_in_place_of_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    said = (
        f"kraftgate.yaml:3: `brokers.security.password_file`: {tmp_path}/secret is a directory:"
        " set a file"
    )
    text = (
        "cluster: {name: p}\nbrokers:\n  security: {protocol: SASL_SSL, sasl_mechanism: PLAIN,"
        f" username: u, password_file: {tmp_path}/secret}}\n  bootstrap: b1:9092\n"
    )
    assert problems(text) == [said]


def test_all_problems_come_in_one_go() -> None:
    text = """\
cluster: {name: prod}
controllers:
  boostrap: c1:9093
brokers: {bootstrap: "b1:9092,,b2"}
stall: {after: 5}
state_dir: 3
metrics: 5
"""
    assert problems(text) == [
        "kraftgate.yaml:2: `controllers.bootstrap` is missing: add it",
        "kraftgate.yaml:3: unknown key `boostrap` in `controllers`; did you mean `bootstrap`?",
        (
            "kraftgate.yaml:4: `brokers.bootstrap`: has an empty entry: write host:port,"
            " separated by single commas"
        ),
        "kraftgate.yaml:5: `stall.after`: the duration 5 has no unit: write 5s, 5m or 5h",
        'kraftgate.yaml:6: `state_dir`: must be text like "./file", not int: put it in quotes',
        "kraftgate.yaml:7: `metrics`: must hold keys and values; its keys are listen",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "1: must hold keys and values, see the example in `kraftgate run --help`"),
        (
            "stall: {after: 5m}",
            (
                "1: `cluster` is missing: write cluster: {name: prod},"
                " see the example in `kraftgate run --help`"
            ),
        ),
        (
            "cluster: {name: a}\nclusters: [{name: b}]",
            "2: `cluster` and `clusters` exclude each other: keep one",
        ),
        (
            "clusters: [{name: b}]\nzookeeper: {connect: zk}",
            "2: `zookeeper` belongs inside each entry of `clusters`",
        ),
        (
            "clusters:\n- {name: a}\n- {name: a}",
            "3: the cluster name `a` is taken (line 2): choose another",
        ),
        (
            "clusters:\n- {name: a, id: x}\n- {name: b, id: x}",
            "3: the cluster id `x` is taken (line 2): keep one entry",
        ),
        ("clusters: []", "1: `clusters`: must be a list of at least one cluster, each with a name"),
        (
            "cluster: {name: a}\n\ncluster: {name: b}",
            "3: the key `cluster` is given twice (first in line 1): remove one",
        ),
        (
            "cluster: {name: ../a}",
            (
                "1: `cluster.name`: '../a' cannot name a cluster: up to 64 letters, digits, '.',"
                " '_' and '-', beginning with a letter or digit"
            ),
        ),
        (
            "cluster: {name: a}\npublish: {bootstrap: 'k:1', topic: a b}",
            (
                "2: `publish.topic`: 'a b' cannot name a topic: up to 249 letters, digits, '.',"
                " '_' and '-'"
            ),
        ),
        (
            "cluster: {name: 2024}",
            '1: `cluster.name`: must be text like "prod", not int: put it in quotes',
        ),
        (
            "cluster: {name: a}\ncontrollers: {bootstrap: c1}",
            "2: `controllers.bootstrap`: 'c1' has no port: write host:port",
        ),
        (
            "cluster: {name: a}\ncontrollers: {bootstrap: '::1:9093'}",
            (
                "2: `controllers.bootstrap`: '::1:9093' has several colons:"
                " put an IPv6 address in brackets"
            ),
        ),
        (
            "cluster: {name: a}\nzookeeper: {connect: 'zk1:2181/'}",
            "2: `zookeeper.connect`: ends in '/', which is no path: write it like /kafka",
        ),
        (
            "cluster: {name: a}\nzookeeper: {connect: 'zk1:2181/../x'}",
            "2: `zookeeper.connect`: ends in '/../x', which is no path: write it like /kafka",
        ),
        (
            "cluster: {name: a}\nzookeeper: {connect: 'zk1:2181,zk2..example.com:2181'}",
            "2: `zookeeper.connect`: 'zk2..example.com:2181' names no host: write host:port",
        ),
        (
            "cluster: {name: a}\ncontrollers: {bootstrap: 'c:1', security: {protocol: SASL}}",
            (
                "2: `controllers.security.protocol`:"
                " must be PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL"
            ),
        ),
        (
            "cluster: {name: a}\ncontrollers: {bootstrap: 'c:1', security: {protocol: SASL_SSL}}",
            "2: `controllers.security`: protocol SASL_SSL needs `sasl_mechanism`",
        ),
        (
            "cluster: {name: a}\ncontrollers: {bootstrap: 'c:1', security: {username: u}}",
            (
                "2: `controllers.security`: protocol PLAINTEXT takes no `sasl_mechanism`,"
                " `username` or `password_file`: remove them or write SASL_PLAINTEXT or SASL_SSL"
            ),
        ),
        (
            "cluster: {name: a}\nzookeeper: {connect: 'z', security: {protocol: SASL_SSL}}",
            "2: `zookeeper.security.protocol`: must be PLAINTEXT or SSL",
        ),
        (
            "cluster: {name: a}\nzookeeper: {connect: 'z', security: {username: u}}",
            (
                "2: `zookeeper.security`: `username` and `password_file` belong together:"
                " give both or none"
            ),
        ),
        (
            f"cluster: {{name: a}}\nzookeeper: {{connect: 'z', security: {{ca_file: {__file__}}}}}",
            (
                "2: `zookeeper.security`: protocol PLAINTEXT takes no `ca_file`, `cert_file` or"
                " `key_file`: remove them or write SSL"
            ),
        ),
        (
            "cluster: {name: a}\nrun: {spark: {settings: {spark.master: yarn}}}",
            "2: `run.spark.settings`: `spark.master` does not belong here: use `master`",
        ),
        (
            "cluster: {name: a}\nrun: {spark: {settings: {spark.authenticate.secret: abc}}}",
            (
                "2: `run.spark.settings`: `spark.authenticate.secret` does not belong here:"
                " use `secret_file`"
            ),
        ),
        (
            "cluster: {name: a}\nrun: {spark: {settings: {executor.memory: 2g}}}",
            (
                "2: `run.spark.settings`: 'executor.memory' is no setting of Spark: its name"
                " begins with spark."
            ),
        ),
        (
            "cluster: {name: a}\nrun: {spark: {settings: {spark.authenticate: false}}}",
            '2: `run.spark.settings`: must be text like "2g", not bool: put it in quotes',
        ),
    ],
)
def test_each_problem_says_what_and_how_to_mend_it(text: str, said: str) -> None:
    assert problems(text) == [f"kraftgate.yaml:{said}"]


def test_what_is_not_yaml_says_where() -> None:
    (said,) = problems("cluster: {name: a}\nstall: [\n")
    assert said.startswith("kraftgate.yaml:3: not YAML: ")
    for escape in (r"\U00110000", r"\UFFFFFFFF"):  # PyYAML's scanner converts it
        (said,) = problems(f'cluster: {{name: "{escape}"}}\n')
        assert said.startswith("kraftgate.yaml:1: not YAML: ")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ('!!bool "x"', "`x` is not a valid bool"),
        ('!!int ""', "`` is not a valid int"),
        ('!!int "x"', "`x` is not a valid int"),
        ('!!float ""', "`` is not a valid float"),
        ('!!timestamp "x"', "`x` is not a valid timestamp"),
        ("2024-13-45", "`2024-13-45` is not a valid timestamp"),
        ("1" + ":59" * 200 + ".0", f"`1{':59' * 13}` is not a valid float"),
    ],
)
def test_a_value_that_yaml_cannot_convert_says_where(value: str, said: str) -> None:
    assert problems(f"cluster: {{name: a}}\nstall:\n  after: {value}\n") == [
        f"kraftgate.yaml:3: not YAML: {said}: put it in quotes, without a tag"
    ]


def test_a_file_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path / "none.yaml")
    assert str(caught.value) == (
        f"{tmp_path}/none.yaml: No such file or directory: give the file with --config FILE"
    )


@given(st.sampled_from(sorted(ConfigFile.model_fields)), st.data())
def test_a_misspelt_key_is_told_its_own_name(key: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(1, len(key) - 1))
    wrong = key[:at] + "q" + key[at:]
    line = data.draw(st.integers(0, 30))
    text = "cluster: {name: a}\n" + "\n" * line + f"{wrong}: 1\n"
    (said,) = [p for p in problems(text) if "unknown key" in p]
    told = f"kraftgate.yaml:{line + 2}: unknown key `{wrong}` in the top level; did you mean"
    assert said in {f"{told} `{name}`?" for name in (key, key.rstrip("s"), f"{key}s")}


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    try:
        read(text)
    except ConfigError as error:
        assert error.problems  # noqa: PT017  # either outcome is right


@given(st.from_regex(r"[a-z][a-z0-9-]{0,20}[a-z0-9]", fullmatch=True), st.integers(1, 65535))
def test_an_address_comes_back_as_written(host: str, port: int) -> None:
    assert str(parse_host_port(f"{host}:{port}")) == f"{host}:{port}"


@given(st.ip_addresses(v=6), st.integers(1, 65535))
def test_an_ipv6_address_comes_back_in_brackets(host: object, port: int) -> None:
    assert str(parse_host_port(f"[{host}]:{port}")) == f"[{host}]:{port}"


def test_aliases_cannot_make_the_reader_work_without_end() -> None:
    layers = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 30))
    assert any("unknown key `l29`" in said for said in problems(f"l0: &l0 [x]\n{layers}"))


def test_a_key_that_is_not_text_is_refused() -> None:
    assert problems("cluster: {name: a}\n5: x\n") == [
        "kraftgate.yaml:2: the key `5` must be text: put it in quotes"
    ]
