"""Certificates for a ZooKeeper on loopback and its clients, as PEM files, made by openssl."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.lab.machine.ports import LOOPBACK


@dataclass(frozen=True)
class Certificate:
    """A certificate, its key, and both in one file, as Java takes them."""

    cert: Path
    key: Path
    both: Path


class Authority:
    """One that signs; files go below `place`."""

    def __init__(self, place: Path, name: str = "ca") -> None:
        self._place = place
        self.file = place / f"{name}.pem"
        self._key = place / f"{name}.key"
        subject = ["-subj", f"/CN={name}"]
        _openssl(
            "req", "-x509", "-days", "2", *_NEW, *subject, "-keyout", self._key, "-out", self.file
        )

    def issue(self, name: str, *, address: str = LOOPBACK, days: int = 2) -> Certificate:
        """Make a certificate for CN=`name`, good for an address, and no name of it.

        `days`: how long it is valid; negative: it has expired.
        """
        made = Certificate(*(self._place / f"{name}.{kind}" for kind in ("crt", "key", "pem")))
        request, extension = self._place / f"{name}.csr", self._place / f"{name}.ext"
        extension.write_text(f"subjectAltName=IP:{address}\n")
        _openssl("req", *_NEW, "-subj", f"/CN={name}", "-keyout", made.key, "-out", request)
        signing: list[str | Path] = [
            "-CA",
            self.file,
            "-CAkey",
            self._key,
            "-CAcreateserial",
            "-days",
            str(days),
        ]
        _openssl("x509", "-req", "-in", request, *signing, "-extfile", extension, "-out", made.cert)
        made.both.write_text(made.key.read_text() + made.cert.read_text())
        return made


_NEW = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def tls_settings(port: int, server: Certificate, authority: Authority) -> Mapping[str, str]:
    """What makes a ZooKeeper server speak TLS at `port`, and know clients by certificates."""
    return {
        "secureClientPort": str(port),
        "secureClientPortAddress": LOOPBACK,
        "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
        "authProvider.x509": "org.apache.zookeeper.server.auth.X509AuthenticationProvider",
        "ssl.keyStore.location": str(server.both),
        "ssl.trustStore.location": str(authority.file),
        "ssl.clientAuth": "want",
    }
