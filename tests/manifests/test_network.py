"""The NetworkPolicy for namespaces with jobs, beside the Services that the operator makes."""

from pathlib import Path
from typing import Any

import yaml

from qtj_operator.manifests.service import replica_ports
from tests.jobs import a_job

POLICY = Path(__file__).parents[2] / "deploy" / "network" / "jobs.yaml"


def test_the_network_policy_lets_somebody_in_to_each_port_of_a_replica() -> None:
    policy: dict[str, Any] = yaml.safe_load(POLICY.read_text())

    let_in = {port["port"]: rule["from"] for rule in policy["spec"]["ingress"] for port in rule["ports"]}
    assert let_in.keys() == set(replica_ports(a_job()).values())
    assert let_in[2223] == [{"podSelector": {"matchLabels": {"quantumtraining.dev/profiles": "true"}}}]
