"""Safe defaults for security contexts, which never contradict what the author of the template wrote.

They meet the "restricted" Pod Security Standard. An author who asks for more gets no default that forbids it, at the
level of the pod or of the container: the API server refuses `allowPrivilegeEscalation: false` beside `privileged: true`
or CAP_SYS_ADMIN (`ValidateSecurityContext` in pkg/apis/core/validation, Kubernetes 1.34), the kubelet starts no
container as root with `runAsNonRoot: true` (`verifyRunAsNonRoot` in pkg/kubelet/kuberuntime), and root without
capabilities cannot change the owner of a file. The image of a privileged container usually runs as root.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from qtj_operator.api.template import Container, PodSpec
from qtj_operator.manifests.manifest import Manifest

__all__ = ["container_security", "pod_security"]

_ROOT = 0
_SYS_ADMIN = {"SYS_ADMIN", "CAP_SYS_ADMIN"}


def pod_security(pod: PodSpec) -> Manifest:
    """Returns the security context of a pod."""
    as_root = pod.security_context.get("runAsUser") == _ROOT
    non_root: Manifest = {} if as_root else {"runAsNonRoot": True}
    return _completed(pod.security_context, {**non_root, "seccompProfile": {"type": "RuntimeDefault"}})


def container_security(container: Container, pod: PodSpec) -> Manifest:
    """Returns the security context of a container."""
    theirs = container.security_context
    privileged, as_root = theirs.get("privileged") is True, container.runs_as_root(pod)
    defaults: Manifest = {}
    if not privileged and not _adds_sys_admin(theirs):
        defaults["allowPrivilegeEscalation"] = False
    if not privileged and not as_root:
        defaults["capabilities"] = {"drop": ["ALL"]}
    may_be_root = as_root or (privileged and "runAsUser" not in theirs)
    if may_be_root and "runAsNonRoot" not in pod.security_context:
        defaults["runAsNonRoot"] = False
    return _completed(theirs, defaults)


def _adds_sys_admin(context: Mapping[str, Any]) -> bool:
    capabilities = context.get("capabilities")
    added = capabilities.get("add") if isinstance(capabilities, Mapping) else None
    return isinstance(added, list) and any(name in _SYS_ADMIN for name in added if isinstance(name, str))


def _completed(theirs: Mapping[str, Any], defaults: Mapping[str, Any]) -> Manifest:
    missing = {name: value for name, value in defaults.items() if name not in theirs}
    return {**deepcopy(dict(theirs)), **missing}
