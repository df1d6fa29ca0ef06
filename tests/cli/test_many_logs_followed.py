"""`qtj logs -f` of a job with more replicas than connections."""

from typing import Any

import pytest

from qtj.monitor.cluster_logs import copy_cluster_logs
from qtj.terminal.errors import InputError
from tests.controller.lab import KEY, Lab, running


async def test_more_logs_than_can_be_followed_at_once_are_refused_with_a_way_out() -> None:
    lab = await running(Lab(), replicaSpecs={"Worker": {"replicas": 91}})
    client: Any = lab.cluster

    sentence = "qcnn has 91 logs, and 90 can be followed at once: name a replica, such as qcnn-worker-0.1"
    with pytest.raises(InputError, match=sentence):
        await copy_cluster_logs(client, KEY, None, follow=True, form=None)
