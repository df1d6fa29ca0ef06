"""The log of a pod, which the API server fetches from the kubelet of its node."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from kubernetes.aio import client as kubernetes

from qtj.cluster.request import opened

__all__ = ["SILENCE_SECONDS", "LogLine", "read_log"]

_SECONDS, _NANOSECONDS = 19, 29
"""Characters of a time to the second, and to the nanosecond; its offset follows.

The kubelet writes all of them, so texts compare as times do: `RFC3339NanoFixed` of k8s.io/cri-client 0.34.4,
pkg/logs/logs.go.
"""

SILENCE_SECONDS = 60.0
"""Longer than the API server takes to find a node out of reach, 30 s: its sentence names the node."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a log.

    Attributes:
        time: When it was written, in the form of RFC 3339 with nanoseconds.
        text: The line, with its line break.
    """

    time: str
    text: bytes


async def read_log(
    transport: kubernetes.ApiClient, namespace: str, pod: str, container: str, *, follow: bool = False, after: str = ""
) -> AsyncIterator[LogLine]:
    """Yields the lines of a log.

    A pod without a node has an empty log (Kubernetes 1.34, pkg/registry/core/pod/strategy.go, `LogLocation`).

    Args:
        transport: The connection.
        namespace: The namespace of the pod.
        pod: The name of the pod.
        container: The name of the container.
        follow: Whether to wait for more, until the container ends or the connection does.
        after: The time of the last line that is known: later lines are yielded.

    Raises:
        ApiError: There is no such pod, its container has not started, its node does not answer, or the connection is
            lost.
    """
    query = {"container": container, "timestamps": "true", **({"follow": "true"} if follow else {})}
    if after:
        query["sinceTime"] = after[:_SECONDS] + after[_NANOSECONDS:]  # the API takes whole seconds
    rest, silence = b"", None if follow else SILENCE_SECONDS
    async with opened(transport, f"/api/v1/namespaces/{namespace}/pods/{pod}/log", query, silence) as answer:
        async for piece in answer.content.iter_any():
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                if (found := _parsed(line)).time > after:
                    yield found
    if rest and (found := _parsed(rest)).time > after:
        yield found


def _parsed(line: bytes) -> LogLine:
    time, _, text = line.partition(b" ")
    return LogLine(time.decode(errors="replace"), text + b"\n")
