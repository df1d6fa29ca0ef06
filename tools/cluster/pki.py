"""Certificates and kubeconfigs: who is who in the cluster."""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .paths import PKI, write
from .shell import run

CA = PKI / "ca.crt"
CA_KEY = PKI / "ca.key"
SERVICE_ACCOUNT_KEY = PKI / "service-account.key"
SERVICE_ACCOUNT_PUBLIC = PKI / "service-account.pub"
DAYS = "3650"


@dataclass(frozen=True)
class Identity:
    """A certificate: as whom a component speaks, and under which names it is spoken to.

    Attributes:
        name: of its files.
        user: the common name, which Kubernetes reads as the user.
        group: the organisation, which Kubernetes reads as the group.
        names: DNS names and addresses, for those that serve.
    """

    name: str
    user: str
    group: str = ""
    names: Sequence[str] = ()

    @property
    def certificate(self) -> Path:
        return PKI / f"{self.name}.crt"

    @property
    def key(self) -> Path:
        return PKI / f"{self.name}.key"

    @property
    def subject(self) -> str:
        return (f"/O={self.group}" if self.group else "") + f"/CN={self.user}"


def ensure_authority() -> None:
    """Makes the certificate authority and the key that signs service-account tokens, once."""
    if CA.exists() and SERVICE_ACCOUNT_PUBLIC.exists():
        return
    PKI.mkdir(parents=True, exist_ok=True)
    PKI.chmod(0o700)
    _request("-x509", "-subj", "/CN=qtj-cluster", "-keyout", CA_KEY, "-out", CA)
    curve = ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1")
    run("openssl", "genpkey", *curve, "-out", SERVICE_ACCOUNT_KEY)
    run("openssl", "pkey", "-in", SERVICE_ACCOUNT_KEY, "-pubout", "-out", SERVICE_ACCOUNT_PUBLIC)


def ensure(identity: Identity) -> None:
    """Issues a certificate unless there is one."""
    if identity.certificate.exists():
        return
    names = ",".join(("IP:" if _is_address(name) else "DNS:") + name for name in identity.names)
    _request(
        *("-x509", "-CA", CA, "-CAkey", CA_KEY, "-subj", identity.subject),
        *("-addext", "basicConstraints=critical,CA:FALSE"),
        *("-addext", "extendedKeyUsage=clientAuth,serverAuth"),
        *(("-addext", f"subjectAltName={names}") if names else ()),
        *("-keyout", identity.key, "-out", identity.certificate),
    )


def ensure_kubeconfig(path: Path, server: str, identity: Identity) -> None:
    """Writes a kubeconfig that holds its certificates, so that it works wherever it is copied to."""
    ensure(identity)
    text = kubeconfig(server, *(part.read_bytes() for part in (CA, identity.certificate, identity.key)))
    if not path.exists() or path.read_text() != text:
        write(path, text, mode=0o600)


def kubeconfig(server: str, ca: bytes, certificate: bytes, key: bytes) -> str:
    """The text of a kubeconfig (JSON is YAML)."""
    cluster = {"server": server, "certificate-authority-data": _base64(ca)}
    user = {"client-certificate-data": _base64(certificate), "client-key-data": _base64(key)}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "qtj", "cluster": cluster}],
        "users": [{"name": "qtj", "user": user}],
        "contexts": [{"name": "qtj", "context": {"cluster": "qtj", "user": "qtj"}}],
        "current-context": "qtj",
    }
    return json.dumps(config, indent=1)


def _request(*words: str | Path) -> None:
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    run("openssl", "req", *curve, "-days", DAYS, *words)


def _is_address(name: str) -> bool:
    return name.replace(".", "").isdigit()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
