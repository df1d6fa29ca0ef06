"""Why a pod does not start, or why a pod that blocks it is not deleted.

Where an image cannot be pulled, it is said in the words of the kubelet, with what helps. The kubelet (Kubernetes 1.34,
pkg/kubelet/images/image_manager.go) says the same in two wrappings by turns::

    ErrImagePull       rpc error: code = NotFound desc = WORDS
    ImagePullBackOff   Back-off pulling image "NAME": ErrImagePull: rpc error: code = NotFound desc = WORDS

Before 1.32, it leaves the words out while it waits for its next try.
"""

import re
from collections.abc import Iterable
from datetime import datetime

from qtj_contract import printable
from qtj_operator.api.conditions import Fact, Reason
from qtj_operator.api.status import Condition
from qtj_operator.core.pod import Pod, Waiting
from qtj_operator.core.removal import held_up

__all__ = ["pending_reason", "terminating_reason", "with_known_words"]

_STARTING = {"ContainerCreating", "PodInitializing"}


def pending_reason(pod: Pod) -> tuple[Reason, str] | None:
    """Returns why a pod does not start, with one sentence; None if it starts within seconds."""
    if pod.gates:
        return Reason.QUEUED, f"{pod.name} waits to be admitted by its queue (scheduling gate {', '.join(pod.gates)})"
    if pod.unscheduled:
        return Reason.UNSCHEDULABLE, f"no node can run {pod.name}: {pod.unscheduled}"
    waiting = pod.waiting
    if waiting is None or waiting.reason in _STARTING:
        return None
    if waiting.reason in _PULL_REASONS:
        return Reason.IMAGE_NOT_PULLED, _not_pulled(pod, waiting)
    return Reason.CONTAINER_NOT_STARTED, f"{pod.name} cannot start ({waiting.reason}): {waiting.message}"


def terminating_reason(pods: Iterable[Pod], now: datetime) -> tuple[Reason, str] | None:
    """Returns why the deletion of one of the pods is late, with one sentence; None if that is unknown."""
    sentence = next((why for pod in pods if (why := held_up(pod, now)) is not None), None)
    return None if sentence is None else (Reason.TERMINATING, sentence)


_PULL_REASONS = {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable"}

_WRAPPING = re.compile(
    r'^(Back-off pulling image "[^"]*"|ErrImagePull|RegistryUnavailable|rpc error: code = \w+ desc =)(: ?| |$)'
)
_LONGEST = 300
_UNKNOWN = "check its name and whether the node may pull it"
_HINTS = (
    (
        re.compile(r"denied|unauthorized|forbidden|authoriz|authentic|no basic auth|\b40[13]\b", re.IGNORECASE),
        "check its name, and that imagePullSecrets of the template allow to pull it",
    ),
    (
        re.compile(r"not found|manifest unknown|name unknown|invalid reference|couldn't parse", re.IGNORECASE),
        "correct its name or its tag",
    ),
    (
        re.compile(r"pull policy of Never", re.IGNORECASE),
        "load it onto the node, or change imagePullPolicy",
    ),
    (
        re.compile(r"time-?out|timed out|deadline exceeded|refused|no such host|unreachable|reset|x509|tls:|EOF"),
        "check that the node reaches the registry",
    ),
)
"""By what the kubelet says. The first that applies: a registry that denies does not tell whether there is an image."""


def _not_pulled(pod: Pod, waiting: Waiting) -> str:
    """Returns the sentence about an image that cannot be pulled."""
    words = _words(waiting.message)
    hint = next((hint for found, hint in _HINTS if found.search(words)), _UNKNOWN)
    return f"{_what(pod, waiting)}{f' ({words})' if words else ''}: {hint}"


def with_known_words(before: Iterable[Condition], fact: Fact) -> Fact:
    """Returns a fact with the words of the condition before, where only the wait for the next try is said now."""
    if fact.reason != Reason.IMAGE_NOT_PULLED or not fact.message.endswith(f": {_UNKNOWN}"):
        return fact
    beginning = f"{fact.message.removesuffix(f': {_UNKNOWN}')} ("
    known = (each.message for each in before if each.type == fact.type and each.message.startswith(beginning))
    return Fact(fact.type, fact.status, fact.reason, next(known, fact.message))


def _what(pod: Pod, waiting: Waiting) -> str:
    return f'image "{waiting.image}" of {pod.name} cannot be pulled'


def _words(message: str) -> str:
    """Returns what the kubelet says without its wrappings, in one line; the end of it names the cause."""
    words = printable(" ".join(message.split()))
    while found := _WRAPPING.match(words):
        words = words[found.end() :]
    words = words.rstrip(". ")
    return words if len(words) <= _LONGEST else f"... {words[-_LONGEST:]}"
