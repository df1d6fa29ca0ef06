"""Ports of this machine: who has taken which, and where nobody can say."""

import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from qtj.local.addresses import NoFreePortError, PortLease


def refusing(code: int) -> Callable[..., None]:
    """A file system that answers every lock with an error."""

    def lockf(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    return lockf


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.ENOTSUP, errno.EINVAL, errno.ENOLCK])
def test_where_no_file_can_be_locked_a_port_is_taken_without_a_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    monkeypatch.setattr(fcntl, "lockf", refusing(code))
    lease = PortLease(tmp_path)

    ports = {lease.take() for _ in range(10)}

    lease.close()
    assert len(ports) == 10


@pytest.mark.parametrize("code", [errno.EACCES, errno.EAGAIN])
def test_a_port_that_another_run_has_locked_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    monkeypatch.setattr(fcntl, "lockf", refusing(code))
    lease = PortLease(tmp_path)

    with pytest.raises(NoFreePortError, match="no port between 20000 and 31999 is free"):
        lease.take()

    lease.close()
