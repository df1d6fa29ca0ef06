"""The audit log of an API server: each request of some users, without its content.

Source: Kubernetes documentation, "Auditing" (audit.k8s.io/v1). A line of JSON is one stage of one request.
"""

import json
from pathlib import Path


def audit_policy(*users: str) -> str:
    """The policy that records these users and nobody else.

    A request is recorded when it has been answered; a watch, which may never end, also when it begins.
    """
    rules = [{"level": "Metadata", "users": list(users)}, {"level": "None"}]
    policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": rules}
    return json.dumps(policy, indent=1)


def audit_flags(policy: Path, log: Path) -> tuple[str, ...]:
    """What an API server needs to write the log; a full file (100 MB) gets a date in its name, and nine are kept."""
    return (f"--audit-policy-file={policy}", f"--audit-log-path={log}", "--audit-log-maxbackup=9")
