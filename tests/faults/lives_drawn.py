"""What is drawn for the steps of a random life."""

from typing import Any

from hypothesis import strategies as st

SHAPES: dict[str, dict[str, Any]] = {
    "one worker": {"replicaSpecs": {"Worker": {}}},
    "two workers": {"replicaSpecs": {"Worker": {"replicas": 2}}},
    "evaluator": {"replicaSpecs": {"Chief": {}, "Worker": {"replicas": 2}, "Evaluator": {}}},
    "mirrored": {"strategy": "Mirrored", "replicaSpecs": {"Worker": {}}},
    "no strategy": {"strategy": "None", "replicaSpecs": {"Worker": {"replicas": 2}, "PS": {}}},
    "parameter server": {
        "strategy": "ParameterServer",
        "replicaSpecs": {"Chief": {}, "PS": {}, "Worker": {"replicas": 2}, "Evaluator": {}},
    },
    "many workers": {
        "strategy": "ParameterServer",
        "replicaSpecs": {"Chief": {}, "PS": {}, "Worker": {"replicas": 12}},
    },
}

WAITING: dict[str, dict[str, Any]] = {
    "no node": {
        "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available"}
        ]
    },
    "no image": {
        "containerStatuses": [
            {"name": "trainer", "image": "trainer:1", "state": {"waiting": {"reason": "ErrImagePull", "message": "no"}}}
        ]
    },
}

shapes = st.sampled_from(["two workers", "two workers", "parameter server", *SHAPES])
ELASTIC = {"minReplicas": 1, "scaleDownAfterSeconds": 16, "scaleUpAfterSeconds": 60}
ELASTIC_SHAPES = {"one worker", "two workers", "evaluator"}
"""Shapes of jobs that may be elastic, if no queue holds them."""

policies = st.sampled_from(
    [
        {},
        {"backoffLimit": 0},
        {"backoffLimit": 9, "cleanPodPolicy": "All"},
        {"backoffLimit": 1, "activeDeadlineSeconds": 60, "cleanPodPolicy": "None"},
        {"backoffLimit": 9, "pendingDeadlineSeconds": 20, "successPolicy": "AllWorkers"},
        {"backoffLimit": 9, "activeDeadlineSeconds": 900, "pendingDeadlineSeconds": 300, "ttlSecondsAfterFinished": 0},
        {"ttlSecondsAfterFinished": 100, "successPolicy": "AllWorkers"},
        {"backoffLimit": 9, "elastic": ELASTIC},
        {"backoffLimit": 9, "elastic": {**ELASTIC, "maxReplicas": 5}},
    ]
)
queues = st.sampled_from([{}, {}, {"schedulingPolicy": {"queueName": "team"}}])
clocks = st.sampled_from([0, 0, 0, 90, -90])
"""By how many seconds the operator's clock is ahead."""

node_clocks = st.sampled_from([0, 0, 7200, -7200])
inferences = st.sampled_from([None, {}, {"args": ["infer", "--again"]}])
which = st.integers(0, 14)
works = st.sampled_from([*["everybody"] * 3, "the operator", "nobody"])
"""Who gets round to its work after a step; after everybody, what would happen anyway has happened."""
