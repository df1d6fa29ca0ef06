"""The rules of Kubernetes about names, each at its bounds."""

from collections.abc import Callable

import pytest

from qtj.rules.names import (
    config_key,
    dns_label,
    dns_subdomain,
    env_name,
    label_value,
    port_name,
    qualified_name,
)

Rule = Callable[[str], str | None]


@pytest.mark.parametrize(
    ("rule", "most"),
    [
        (dns_label, 63),
        (dns_subdomain, 253),
        (qualified_name, 63),
        (label_value, 63),
        (config_key, 253),
        (port_name, 15),
    ],
)
def test_a_name_may_be_as_long_as_kubernetes_takes_and_no_longer(rule: Rule, most: int) -> None:
    assert rule("a" * most) is None
    assert rule("a" * (most + 1)) == f"this has {most + 1} characters, and Kubernetes accepts {most}: shorten it"


def test_the_domain_before_the_slash_of_a_key_is_measured_on_its_own() -> None:
    assert qualified_name(f"{'d' * 253}/{'n' * 63}") is None
    assert qualified_name(f"{'d' * 254}/n") == (
        "the part before the slash: this has 254 characters, and Kubernetes accepts 253: shorten it"
    )
    assert qualified_name(f"d/{'n' * 64}") == "this has 64 characters, and Kubernetes accepts 63: shorten it"


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (dns_label, "a"),
        (dns_label, "0-9"),
        (dns_label, "a--b"),
        (dns_subdomain, "a.b-c.0"),
        (qualified_name, "A_b.C-d"),
        (qualified_name, "example.com/x"),
        (label_value, ""),
        (label_value, "v1.0_A-b"),
        (config_key, "settings.json"),
        (config_key, ".hidden"),
        (config_key, "_"),
        (config_key, "a..b"),
        (port_name, "http-2"),
        (port_name, "9a"),
        (env_name, " "),
        (env_name, "a b.c~<>"),
    ],
)
def test_what_kubernetes_takes_breaks_no_rule(rule: Rule, text: str) -> None:
    assert rule(text) is None


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        *((dns_label, text) for text in ("", "-a", "a-", "A", "a.b", "a_b", "ä", "a\n")),
        *((dns_subdomain, text) for text in ("", ".a", "a.", "a..b", "a.-b", "A.b", "a\n")),
        *((qualified_name, text) for text in ("", "/a", "a/", "-a", "a-", ".a", "a b", "a\n", "A/b", "a/b/c")),
        *((label_value, text) for text in ("-a", "a-", "a b", "a/b", "ä", "a\n")),
        *((config_key, text) for text in ("", ".", "..", "..a", "a/b", "a b", "ä", "a\n")),
        *((port_name, text) for text in ("", "80", "-a", "a-", "a--b", "A", "a_b", "a\n")),
        *((env_name, text) for text in ("", "A=B", "ä", "a\tb", "a\n", "\x7f")),
    ],
)
def test_what_kubernetes_refuses_is_quoted_or_named(rule: Rule, text: str) -> None:
    sentence = rule(text)

    assert sentence is not None
    assert f'"{text}"' in sentence or sentence.startswith('the part before the slash: "')


def test_a_key_of_a_label_is_refused_with_the_whole_of_it() -> None:
    sentence = qualified_name("example.com/-a")

    assert sentence is not None
    assert sentence.startswith('"example.com/-a" is not a key: it may have letters, digits, -, _ and dots')
