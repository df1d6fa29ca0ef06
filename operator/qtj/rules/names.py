"""Rules of Kubernetes for names, labels and variables. Each returns a sentence about a text that breaks it.

Source: k8s.io/apimachinery 0.34, pkg/util/validation/validation.go; each rule names its function there.
"""

import re

__all__ = [
    "config_key",
    "dns_label",
    "dns_subdomain",
    "env_name",
    "image_name",
    "label_value",
    "port_name",
    "qualified_name",
]

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_LABEL = re.compile(_LABEL)
_DNS_SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_PORT = re.compile(r"(?=.*[a-z])(?!.*--)[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_ENV = re.compile(r"[ -<>-~]+")

_HOST = r"[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?"
_REGISTRY = rf"({_HOST}(\.{_HOST})*|\[[0-9A-Fa-f:]+\])(:[0-9]+)?"
_FOLDER = r"[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*"
_TAG = r"[A-Za-z0-9_][-.A-Za-z0-9_]{0,127}"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*([-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9A-Fa-f]{32,}"
_IMAGE = re.compile(rf"({_REGISTRY}/)?{_FOLDER}(/{_FOLDER})*(:{_TAG})?(@{_DIGEST})?")

_MOST = 63
_MOST_OF_SUBDOMAIN = 253
_MOST_OF_PORT = 15


def dns_label(text: str) -> str | None:
    """`IsDNS1123Label`."""
    if len(text) > _MOST:
        return _too_long(text, _MOST)
    if _DNS_LABEL.fullmatch(text):
        return None
    return f'"{text}" may have only a-z, 0-9 and -, and has to begin and end with a letter or digit'


def dns_subdomain(text: str) -> str | None:
    """`IsDNS1123Subdomain`."""
    if len(text) > _MOST_OF_SUBDOMAIN:
        return _too_long(text, _MOST_OF_SUBDOMAIN)
    if _DNS_SUBDOMAIN.fullmatch(text):
        return None
    return f'"{text}" may have only a-z, 0-9, - and dots, and each part has to begin and end with a letter or digit'


def qualified_name(text: str) -> str | None:
    """`IsQualifiedName`: the key of a label."""
    prefix, slash, name = text.rpartition("/")
    if slash and (wrong := dns_subdomain(prefix)):
        return f"the part before the slash: {wrong}"
    if len(name) > _MOST:
        return _too_long(name, _MOST)
    if _QUALIFIED.fullmatch(name):
        return None
    return f'"{text}" is not a key: {_ALPHANUMERIC}; a domain and a slash may precede it'


def label_value(text: str) -> str | None:
    """`IsValidLabelValue`."""
    if len(text) > _MOST:
        return _too_long(text, _MOST)
    if not text or _QUALIFIED.fullmatch(text):
        return None
    return f'"{text}" is not the value of a label: {_ALPHANUMERIC}; for other text use an annotation'


def env_name(text: str) -> str | None:
    """`IsRelaxedEnvVarName`: the rule by default since Kubernetes 1.32 (RelaxedEnvironmentVariableValidation).

    Without that feature gate, 1.30 and 1.31 accept only letters, digits, _, - and dots, and no digit at the beginning.
    """
    if _ENV.fullmatch(text):
        return None
    return f'"{text}" may have only printable ASCII characters except =: rename the variable'


def config_key(text: str) -> str | None:
    """`IsConfigMapKey`, for Secrets too."""
    if len(text) > _MOST_OF_SUBDOMAIN:
        return _too_long(text, _MOST_OF_SUBDOMAIN)
    if _CONFIG_KEY.fullmatch(text) and text != "." and not text.startswith(".."):
        return None
    return f'"{text}" is not a key: it may have only letters, digits, -, _ and dots, and must not begin with two dots'


def port_name(text: str) -> str | None:
    """`IsValidPortName`."""
    if len(text) > _MOST_OF_PORT:
        return _too_long(text, _MOST_OF_PORT)
    if _PORT.fullmatch(text):
        return None
    return f'"{text}" may have only a-z, 0-9 and single - between them, and must have a letter'


def image_name(text: str) -> str | None:
    """The grammar of github.com/distribution/reference, by which the kubelet reads the name of an image."""
    if _IMAGE.fullmatch(text):
        return None
    return (
        f'"{text}" is no name of an image: write REGISTRY/NAME:TAG, with a name of lowercase letters, digits, dots, _ '
        "and -"
    )


_ALPHANUMERIC = "it may have letters, digits, -, _ and dots, and has to begin and end with a letter or digit"


def _too_long(text: str, most: int) -> str:
    return f"this has {len(text)} characters, and Kubernetes accepts {most}: shorten it"
