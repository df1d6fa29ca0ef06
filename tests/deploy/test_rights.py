"""Rights of a role beside the requests of an audit log, of which the lines here are examples."""

import json
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.chart import DEPLOY
from tests.rights import Request, Right, denied, requests_of, rights_of, unused
from tools.cluster.audit import audit_flags, audit_policy

USER = "system:serviceaccount:quantum:qtj-operator"
ROLE = {"rules": [{"apiGroups": ["", "batch"], "resources": ["jobs"], "verbs": ["create", "get"]}]}
OWN_LEASE = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["update"]}


def line(verb: str = "create", *, decision: str = "allow", user: str = USER, at: int = 0, **about: Any) -> str:
    request = {
        "verb": verb,
        "user": {"username": user},
        "objectRef": {"resource": "pods", "namespace": "quantum", **about},
        "annotations": {"authorization.k8s.io/decision": decision},
        "requestReceivedTimestamp": f"2026-11-23T12:00:{at:02d}.000000Z",
    }
    return json.dumps(request) + "\n"


def read(tmp_path: Path, *lines: str, **since: str) -> list[Request]:
    (tmp_path / "audit.log").write_text("".join(lines))
    return requests_of(tmp_path / "audit.log", USER, **since)


def test_a_role_is_a_right_for_each_combination_of_a_rule() -> None:
    verbs = ("create jobs", "create jobs.batch", "get jobs", "get jobs.batch")

    assert sorted(map(str, rights_of([ROLE]))) == list(verbs)


def test_a_right_on_a_name_is_used_by_a_request_for_that_name_alone(tmp_path: Path) -> None:
    rights = rights_of([{"rules": [OWN_LEASE | {"resourceNames": ["qtj-operator"]}]}])
    lease: dict[str, Any] = {"apiGroup": "coordination.k8s.io", "resource": "leases"}

    assert unused(rights, read(tmp_path, line("update", name="other", **lease))) == [
        "update leases.coordination.k8s.io qtj-operator"
    ]
    assert unused(rights, read(tmp_path, line("update", name="qtj-operator", **lease))) == []


def test_a_right_without_a_request_is_unused(tmp_path: Path) -> None:
    rights = {Right("create", "pods"), Right("delete", "pods"), Right("create", "pods/exec")}

    assert unused(rights, read(tmp_path, line("create"))) == ["create pods/exec", "delete pods"]


def test_a_request_for_a_subresource_uses_the_right_on_it(tmp_path: Path) -> None:
    job: dict[str, Any] = {
        "apiGroup": "quantumtraining.dev",
        "resource": "quantumtrainingjobs",
        "subresource": "status",
    }

    assert (
        unused(
            {Right("update", "quantumtrainingjobs.quantumtraining.dev/status")}, read(tmp_path, line("update", **job))
        )
        == []
    )


def test_a_request_that_was_denied_is_named(tmp_path: Path) -> None:
    found = read(tmp_path, line("get", resource="secrets", name="key", decision="forbid"), line("list"))

    assert denied(found) == ["get secrets key in quantum"]


def test_a_request_that_was_denied_once_and_allowed_later_is_one_of_a_server_that_started(tmp_path: Path) -> None:
    found = read(tmp_path, line("list", decision="forbid"), line("list", at=1))

    assert denied(found) == []


def test_requests_of_others_and_of_earlier_do_not_count(tmp_path: Path) -> None:
    lines = (line("get", user="jane"), line("list", at=1), line("watch", at=2))

    found = read(tmp_path, *lines, since="2026-11-23T12:00:02")

    assert [each.verb for each in found] == ["watch"]


def test_older_files_of_the_log_count_and_a_line_that_is_being_written_does_not(tmp_path: Path) -> None:
    (tmp_path / "audit-2026-11-23T12-00-00.000.log").write_text(line("list"))

    found = read(tmp_path, line("watch"), line("get")[:40])

    assert sorted(each.verb for each in found) == ["list", "watch"]


def test_a_request_that_is_about_no_resource_does_not_count(tmp_path: Path) -> None:
    version: dict[str, Any] = json.loads(line())
    del version["objectRef"]

    assert read(tmp_path, json.dumps(version) + "\n") == []


def test_a_request_that_was_sent_away_before_anybody_asked_for_its_right_does_not_count(tmp_path: Path) -> None:
    busy: dict[str, Any] = json.loads(line())
    del busy["annotations"]

    assert read(tmp_path, json.dumps(busy) + "\n") == []


def test_the_policy_records_one_user_and_nobody_else() -> None:
    policy = json.loads(audit_policy(USER))

    assert policy["rules"] == [{"level": "Metadata", "users": [USER]}, {"level": "None"}]
    assert policy["omitStages"] == ["RequestReceived"], "a watch that begins is recorded when it is answered"
    assert audit_flags(Path("/p"), Path("/l")) == (
        "--audit-policy-file=/p",
        "--audit-log-path=/l",
        "--audit-log-maxbackup=9",
    )


def test_the_rights_of_the_operator_are_read_whole() -> None:
    written = (DEPLOY / "helm/files/operator/rbac.yaml").read_text()
    roles = [each for each in yaml.safe_load_all(written) if "rules" in each]

    rights = {str(each) for each in rights_of(roles)}
    assert {"patch services", "delete jobs.batch", "update leases.coordination.k8s.io qtj-operator"} <= rights
