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
_CONFIG_KEY = re.compile(r"(?!\.\.|\.\Z)[-._a-zA-Z0-9]+")
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


_ALPHANUMERIC = "it may have letters, digits, -, _ and dots, and has to begin and end with a letter or digit"


def dns_label(text: str) -> str | None:
    """`IsDNS1123Label`."""
    rule = f'"{text}" may have only a-z, 0-9 and -, and has to begin and end with a letter or digit'
    return _broken(text, _DNS_LABEL, rule)


def dns_subdomain(text: str) -> str | None:
    """`IsDNS1123Subdomain`."""
    rule = f'"{text}" may have only a-z, 0-9, - and dots, and each part has to begin and end with a letter or digit'
    return _broken(text, _DNS_SUBDOMAIN, rule, _MOST_OF_SUBDOMAIN)


def qualified_name(text: str) -> str | None:
    """`IsQualifiedName`: the key of a label."""
    prefix, slash, name = text.rpartition("/")
    if slash and (wrong := dns_subdomain(prefix)):
        return f"the part before the slash: {wrong}"
    return _broken(name, _QUALIFIED, f'"{text}" is not a key: {_ALPHANUMERIC}; a domain and a slash may precede it')


def label_value(text: str) -> str | None:
    """`IsValidLabelValue`."""
    rule = f'"{text}" is not the value of a label: {_ALPHANUMERIC}; for other text use an annotation'
    return _broken(text, _QUALIFIED, rule) if text else None


def env_name(text: str) -> str | None:
    """`IsRelaxedEnvVarName`: the rule by default since Kubernetes 1.32 (RelaxedEnvironmentVariableValidation).

    Without that feature gate, 1.30 and 1.31 accept only letters, digits, _, - and dots, and no digit at the beginning.
    """
    rule = f'"{text}" may have only printable ASCII characters except =: rename the variable'
    return _broken(text, _ENV, rule, None)


def config_key(text: str) -> str | None:
    """`IsConfigMapKey`, for Secrets too."""
    rule = "it may have only letters, digits, -, _ and dots, and must not begin with two dots"
    return _broken(text, _CONFIG_KEY, f'"{text}" is not a key: {rule}', _MOST_OF_SUBDOMAIN)


def port_name(text: str) -> str | None:
    """`IsValidPortName`."""
    rule = f'"{text}" may have only a-z, 0-9 and single - between them, and must have a letter'
    return _broken(text, _PORT, rule, _MOST_OF_PORT)


def image_name(text: str) -> str | None:
    """The grammar of github.com/distribution/reference, by which the kubelet reads the name of an image."""
    rule = "write REGISTRY/NAME:TAG, with a name of lowercase letters, digits, dots, _ and -"
    return _broken(text, _IMAGE, f'"{text}" is no name of an image: {rule}', None)


def _broken(text: str, pattern: re.Pattern[str], rule: str, most: int | None = _MOST) -> str | None:
    """Returns what is wrong with a text: it is too long, or breaks the rule of the pattern; None if nothing is."""
    if most is not None and len(text) > most:
        return f"this has {len(text)} characters, and Kubernetes accepts {most}: shorten it"
    return None if pattern.fullmatch(text) else rule
