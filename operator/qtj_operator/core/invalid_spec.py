"""Specs that can never run, and that the schema cannot reject. Each check is named after the problem."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from pydantic import ValidationError

from qtj_contract import STATES, Env
from qtj_contract.quantities import bytes_of, in_words
from qtj_operator.api import conditions
from qtj_operator.api.conditions import Reason
from qtj_operator.api.job import Job
from qtj_operator.api.memory import program_bytes, state_bytes
from qtj_operator.api.names import replica_host
from qtj_operator.api.program import PROGRAM_FOLDER, PROGRAM_VOLUME, Program
from qtj_operator.api.reading import TEXT, dotted, faults
from qtj_operator.api.requirements import REQUIREMENTS_FOLDER, REQUIREMENTS_NAME, Requirements
from qtj_operator.api.spec import EngineDevice
from qtj_operator.api.template import CLUSTER_DNS_ON_HOST, Container, PodSpec, PodTemplate, mount_at, volume_of
from qtj_operator.core.decision import Move
from qtj_operator.core.impersonation import impersonation, operators_account
from qtj_operator.core.observed import Observed
from qtj_operator.core.platform import Platform
from qtj_operator.manifests.tf_config import tf_config

__all__ = ["MAX_VARIABLE", "fault", "invalid_inference", "invalid_spec"]

_WRITTEN = frozenset(Env) - {Env.PARAMETERS, Env.STUDY, Env.ENGINE_DEVICE}
"""Variables that the operator always writes. Those of a study are in the template of each trial."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The pods that a spec asks for, and terms for messages about them.

    Attributes:
        job: The job.
        platform: What its pods run on.
        templates: Pod templates by their path in the spec.
        states: Statevectors that exist at the same time.
        replicas: Replicas that train together; 0 for inference.
        purpose: What the statevectors are for.
        loss: What happens to weights in a folder that the pods do not share.
    """

    job: Job
    platform: Platform
    templates: Mapping[str, PodTemplate]
    states: int = STATES
    replicas: int = 0
    purpose: str = "per replica"
    loss: str = "the weights would be lost with the pod"


Check = Callable[[Workload], str | None]

_HOST_NAME_MAX = 64
"""Characters (uname(2)). The kubelet starts no pod whose name is longer: `GetNodenameForKernel` in
pkg/kubelet/kubelet_pods.go, Kubernetes 1.34."""


def invalid_spec(seen: Observed, _now: datetime) -> Move | None:
    """Fails the job with one message, before any pod exists."""
    sentence = fault(seen.job, seen.platform)
    return None if sentence is None else Move(conditions=(conditions.failed(Reason.INVALID_SPEC, sentence),))


def fault(job: Job, platform: Platform) -> str | None:
    """Returns one sentence about the problem of a spec; None if there is none."""
    return _first_problem(_of_training(job, platform)) or tf_config_too_long(job) or impersonation(job, platform)


def _of_training(job: Job, platform: Platform) -> Workload:
    return Workload(job=job, platform=platform, templates=_templates(job), replicas=job.training_size)


def invalid_inference(job: Job, platform: Platform) -> str | None:
    """Returns the problem of inference's own template, which may be edited until it is used; None if there is none."""
    written, where = job.inference.template if job.inference else None, "spec.inference.template"
    if written is None:
        return None
    try:
        template = job.inference_template
    except ValidationError as error:
        path, what = next(faults(error))
        return f"{dotted((where, *path))}: {what}"
    loss = "inference could not read the weights"
    workload = Workload(
        job=job, platform=platform, templates={where: template}, states=1, purpose="for inference", loss=loss
    )
    return _first_problem(workload) or operators_account(where, written, job, platform)


def _first_problem(workload: Workload) -> str | None:
    return next((problem for check in _CHECKS if (problem := check(workload)) is not None), None)


def metadata_that_is_no_text(workload: Workload) -> str | None:
    """A label or an annotation is y or 1 in YAML, which is true or a number: the API server cannot read such a pod."""
    for where, template in workload.templates.items():
        for field in ("labels", "annotations"):
            for key, value in getattr(template.metadata, field).items():
                if not isinstance(value, str | None):
                    return f"{where}.metadata.{field}.{key}: {TEXT}"
    return None


def restarted_by_the_kubelet(workload: Workload) -> str | None:
    """From Kubernetes 1.35 on, the kubelet would restart a program, but its first end decides how the replica ended."""
    for where, _, main in _programs(workload.templates):
        if main.restart_policy or main.restart_policy_rules:
            return f"{where} sets restartPolicy: remove it, the operator restarts replicas"
    return None


def reserved_variable(workload: Workload) -> str | None:
    """A container sets TF_CONFIG or another variable of ours: one of the two values would be lost without a message."""
    circuit = workload.job.spec.circuit
    written = _WRITTEN | {Env.ENGINE_DEVICE} if circuit and circuit.engine_device else _WRITTEN
    for where, container, _ in _containers(workload.templates):
        for variable in container.env:
            if variable.name in written:
                return (
                    f"{where} sets {variable.name}, which the operator writes for every replica: "
                    "remove it from the template"
                )
    return None


def own_dns_name(workload: Workload) -> str | None:
    """A template gives its pods DNS names, and so does the job's one Service: peers look for the names in TF_CONFIG."""
    if not (workload.job.shares_service and workload.replicas):
        return None
    for where, template in workload.templates.items():
        for field in ("hostname", "subdomain"):
            if template.spec.written.get(field):
                return (
                    f"{where}.spec sets {field}, which the operator writes where replicaService is Shared: "
                    "remove it from the template"
                )
        if template.spec.written.get("setHostnameAsFQDN") is True and _longest_host(workload.job) > _HOST_NAME_MAX:
            return (
                f"{where}.spec sets setHostnameAsFQDN, and where replicaService is Shared, hosts then have names of "
                f"more than {_HOST_NAME_MAX} characters, which Linux does not allow: remove it from the template"
            )
    return None


def _longest_host(job: Job) -> int:
    return max(
        len(f"{replica_host(job.name, job.namespace, each.role, each.index, shared=True)}.cluster.local")
        for each in job.replicas()
    )


def names_that_do_not_resolve(workload: Workload) -> str | None:
    """A pod asks other name servers than the cluster's, and finds none of the names in TF_CONFIG."""
    if workload.replicas < 2:
        return None
    for where, template in workload.templates.items():
        pod = template.spec
        asks_node = pod.dns_policy == "Default" or (pod.on_host_network and pod.dns_policy == "ClusterFirst")
        others = isinstance(pod.dns_config, Mapping) and pod.dns_config.get("nameservers")
        if asks_node and not others:
            host = "hostNetwork and " if pod.on_host_network else ""
            better = CLUSTER_DNS_ON_HOST if pod.on_host_network else "ClusterFirst"
            return (
                f"{where}.spec sets {host}dnsPolicy: {pod.dns_policy}, which asks the name servers of the node, and "
                f"these do not know the names of other replicas: write dnsPolicy: {better}"
            )
    return None


def root_that_must_not_be(workload: Workload) -> str | None:
    """A container runs as root where its author has forbidden it: the kubelet would never start it."""
    for where, container, pod in _containers(workload.templates):
        forbidden = container.security_context.get("runAsNonRoot", pod.security_context.get("runAsNonRoot"))
        if forbidden is True and container.runs_as_root(pod):
            return (
                f"{where} has runAsUser: 0 and runAsNonRoot: true, so the kubelet would never start it: "
                "remove one of them, or write runAsNonRoot: false in the securityContext of this container"
            )
    return None


def artifacts_that_are_lost(workload: Workload) -> str | None:
    """file:// artifacts inside the container, or on a volume that only this pod has, would be lost with it."""
    uri = workload.job.spec.artifacts.uri
    url = urlsplit(uri)
    if url.scheme != "file" or workload.platform.keeps_files:
        return None
    for where, pod, main in _programs(workload.templates):
        mount = mount_at(PurePosixPath(url.path), main)
        volume = volume_of(mount, pod) if mount else None
        if volume is None or volume.kind in _OWN_VOLUMES:
            volume_name = "no volume" if volume is None else f"the {volume.kind} volume {volume.name}"
            return (
                f"artifacts.uri {uri} is on {volume_name} that {where} mounts, so {workload.loss}: "
                "mount a shared volume there, or use gs://"
            )
    return None


_OWN_VOLUMES = {"emptyDir", "configMap", "secret", "downwardAPI", "projected", "ephemeral", "image"}
"""Kinds of volumes that are created and deleted with their pod, or that no program can write."""


def too_large_for_its_memory(workload: Workload) -> str | None:
    """If even the least that a program needs exceeds the memory limit, the kernel would kill it again and again."""
    circuit = workload.job.spec.circuit
    if circuit is None:
        return None
    state, states = state_bytes(circuit), workload.states
    for where, _, main in _programs(workload.templates):
        limit = main.resources.limits.get("memory")
        allowed = bytes_of(limit)
        program = program_bytes(circuit, is_trainer=main.is_trainer, replicas=workload.replicas)
        needed = states * state + program
        if allowed is not None and needed > allowed:
            beside = f", and {in_words(program)} for the trainer" if program else ""
            each = f"{states} state{'s' if states > 1 else ''} of {in_words(state)}{beside}"
            return (
                f"{circuit.qubits} qubits need at least {in_words(needed)} {workload.purpose} ({each}), and the limit "
                f"of {where} is {limit}: raise resources.limits.memory or lower circuit.qubits"
            )
    return None


def too_large_for_its_gpu(workload: Workload) -> str | None:
    """Where a GPU must compute and its memory is named, the engine would refuse the circuit in each attempt."""
    circuit = workload.job.spec.circuit
    room = bytes_of(circuit.gpu_memory) if circuit and circuit.engine_device == EngineDevice.GPU else None
    if circuit is None or room is None:
        return None
    state, states = state_bytes(circuit), workload.states
    if states * state <= room:
        return None
    each = f"{states} state{'s' if states > 1 else ''} of {in_words(state)}"
    return (
        f"{circuit.qubits} qubits need at least {in_words(states * state)} of a GPU ({each}), and circuit.gpuMemory is "
        f"{circuit.gpu_memory}: lower circuit.qubits, or set circuit.engineDevice to auto"
    )


def tf_config_too_long(job: Job) -> str | None:
    """Every replica gets the addresses of all others in one environment variable, and Linux limits its size."""
    size = len(tf_config(job, job.leader)) + len("TF_CONFIG=") + 1
    if size <= MAX_VARIABLE:
        return None
    return (
        f"TF_CONFIG would have {size} bytes for {job.size} replicas, and Linux allows {MAX_VARIABLE} in one variable: "
        "use fewer replicas, or a shorter name for the job or its namespace"
    )


MAX_VARIABLE = 128 * 1024
"""MAX_ARG_STRLEN of the Linux kernel, execve(2)."""


def program_without_a_place(workload: Workload) -> str | None:
    """A template has another volume where `spec.program` is to be."""
    program = workload.job.spec.program
    return _unusable_program(program, _programs(workload.templates)) if program else None


_CHECKS: tuple[Check, ...] = (
    metadata_that_is_no_text,
    restarted_by_the_kubelet,
    reserved_variable,
    own_dns_name,
    names_that_do_not_resolve,
    root_that_must_not_be,
    artifacts_that_are_lost,
    program_without_a_place,
    too_large_for_its_memory,
    too_large_for_its_gpu,
)


def _templates(job: Job) -> Mapping[str, PodTemplate]:
    """Returns the templates that replicas use, by their path in the spec."""
    return {
        "spec.template" if spec.template is None else f"spec.replicaSpecs.{role}.template": job.template(role)
        for role, spec in job.spec.replica_specs
    }


def _programs(templates: Mapping[str, PodTemplate]) -> Iterator[tuple[str, PodSpec, Container]]:
    """Yields for each template the path of its main container, its pod, and that container."""
    for where, template in templates.items():
        main = template.spec.main
        yield f"{where}.spec.containers[{main.name}]", template.spec, main


def _containers(templates: Mapping[str, PodTemplate]) -> Iterator[tuple[str, Container, PodSpec]]:
    for where, template in templates.items():
        pod = template.spec
        for field, containers in (("initContainers", pod.init_containers), ("containers", pod.containers)):
            for container in containers:
                if container.name != REQUIREMENTS_NAME:  # it has what the main container has
                    yield f"{where}.spec.{field}[{container.name}]", container, pod


_FIELD = "spec.program"


def _unusable_program(program: Program, pods: Iterable[tuple[str, PodSpec, Container]]) -> str | None:
    """Returns one sentence about the first template that has no place for the program; None if all have one.

    Args:
        program: The program.
        pods: Where the main container is in the spec, its pod, and that container, with the program.
    """
    return next((problem for each in pods for problem in _problems(program.requirements, *each)), None)


def _problems(requirements: Requirements | None, where: str, pod: PodSpec, main: Container) -> Iterator[str]:
    yield from _taken(_FIELD, PROGRAM_VOLUME, PROGRAM_FOLDER, where, pod, main)
    if requirements is not None:
        field = f"{_FIELD}.requirements"
        yield from _taken(field, REQUIREMENTS_NAME, REQUIREMENTS_FOLDER, where, pod, main)
        yield from _not_installable(field, requirements, where, pod, main)


def _taken(field: str, volume: str, folder: str, where: str, pod: PodSpec, main: Container) -> Iterator[str]:
    if sum(each.name == volume for each in pod.volumes) > 1:
        yield f"{where} is in a pod with a volume {volume}, as {field} gets one: rename the volume"
    mounts = [mount for mount in main.volume_mounts if PurePosixPath(mount.mount_path).is_relative_to(folder)]
    if len(mounts) > 1:
        yield f"{where} mounts {mounts[0].name} at {mounts[0].mount_path}, where {field} is: mount it elsewhere"


def _not_installable(
    field: str, requirements: Requirements, where: str, pod: PodSpec, main: Container
) -> Iterator[str]:
    if sum(each.name == REQUIREMENTS_NAME for each in (*pod.init_containers, *pod.containers)) > 1:
        yield f"{where} is in a pod with a container {REQUIREMENTS_NAME}, as {field} gets one: rename the container"
    if requirements.cache and requirements.cache not in {each.name for each in pod.volumes}:
        yield f"{where} is in a pod without a volume {requirements.cache}, which {field}.cache names: add the volume"
    if any(each.name == "PYTHONPATH" and each.value_from for each in main.env):
        yield f"{where} takes PYTHONPATH from elsewhere, and {field} adds a folder to it: write its value"
