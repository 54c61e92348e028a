"""Kubernetes manifests that train the workers of a script: Indexed Jobs, or a JobSet.

An Indexed Job with a headless Service needs nothing that a cluster does not have. A JobSet, where
its controller is installed, also starts all workers again when one is lost, which is what
synchronous training needs. There is no job kind of TensorFlow's own that is still maintained.
Where servers hold the variables, coordinator, workers and servers are Jobs of their own.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from gpu_studio.common.figures import plural
from gpu_studio.export.jobs.addresses import SCRIPT, config, counts, first_port, restarts
from gpu_studio.export.jobs.yaml_text import yaml_text
from gpu_studio.export.learning import ExportError
from gpu_studio.export.script_text import comment
from gpu_studio.plan import Kubernetes, Plan, cluster_of, strategy_of

CODE = "/gpu-studio"
RUNS = "/runs"
MOST_BYTES = 1_000_000
"""A ConfigMap holds 1 MiB, with what it says of itself."""
_INDEX = "batch.kubernetes.io/job-completion-index"
_GRACE_S = 120
Tables = dict[str, Any]

_ABOUT = """\
# {name}
#
# Trains {workers}, each in a pod of its own, by {script},
# which lies in the ConfigMap. The image must have TensorFlow and Keras; nothing of GPU Studio
# is needed, which wrote this from a plan.
#
#     kubectl apply -f {file}
#     kubectl logs -f -l job-name={job},{label}=0
#     kubectl delete -f {file}
#
# {ending}
# {again}
# TensorFlow's ports ask for no password: whoever reaches them can run what they like in the
# pods. Where others share the cluster, let a NetworkPolicy close them.
"""
_ONCE = (
    "A lost worker ends the job: delete and apply it again, and it goes on from that state. A\n"
    '# kind = "jobset" would start all again by itself.'
)
_ENDING = "Pods that are deleted end after the same step, and can go on from what was kept."
_ENDING_SERVED = (
    "Pods that are deleted end once the coordinator has kept its state, and can go on from it."
)
_ONCE_SERVED = (
    "A lost worker starts again while the others go on. A lost coordinator or server ends all:\n"
    '# delete and apply it again. kind = "jobset" would start all again by itself.'
)
_AGAIN = "A lost worker makes all of them start again from that state."
_WITHOUT_CLAIM = """\
# The plan names no claim, so what the pods write is gone with them: give cluster.kubernetes.claim.
"""
_FILES = """\
# The script reads these, by the same paths: put them into the image.
{files}
"""


def kubernetes(
    plan: Plan, name: str, script: str, beside: Mapping[str, bytes], file: str = "kubernetes.yaml"
) -> str:
    """The manifests of a plan. `name` is the plan's name in small letters, digits and hyphens.

    `script` is the text of its script, and `beside` what the files hold that lie beside that.
    Raises ExportError if no image is named, or if a ConfigMap cannot hold the script.
    """
    cluster = cluster_of(plan)
    wanted = (cluster.kubernetes if cluster else None) or Kubernetes()
    if wanted.image is None:
        raise ExportError(
            "A manifest needs the image of a container that has TensorFlow and Keras: name it in "
            'cluster.kubernetes.image, such as "tensorflow/tensorflow:2.21.0-gpu".'
        )
    name = name if name[0].isalpha() else f"run-{name}"
    code = _code(name, script, beside)
    made = _jobset(plan, name, wanted) if wanted.kind == "jobset" else _job(plan, name, wanted)
    documents = [_in_namespace(each, wanted.namespace) for each in (code, *made)]
    return _about(plan, name, wanted, file) + yaml_text(documents)


def _about(plan: Plan, name: str, wanted: Kubernetes, file: str) -> str:
    several, serves = wanted.kind == "jobset", strategy_of(plan).serves
    text = _ABOUT.format(
        name=comment(plan.name),
        workers=_who(plan),
        script=SCRIPT,
        file=comment(file),
        job=f"{name}-{next(iter(counts(plan)))}-0" if several else _job_name(plan, name),
        label=_INDEX,
        ending=_ENDING_SERVED if serves else _ENDING,
        again=_AGAIN if several else _ONCE_SERVED if serves else _ONCE,
    )
    files = "\n".join(f"#     {comment(each)}" for each in _read(plan))
    return (
        text
        + ("" if wanted.claim else _WITHOUT_CLAIM)
        + (_FILES.format(files=files) if files else "")
    )


def _who(plan: Plan) -> str:
    count = counts(plan)
    workers = f"{count['worker']} workers"
    if "ps" not in count:
        return workers
    servers = plural(count["ps"], "server")
    return f"a coordinator, {plural(count['worker'], 'worker')} and {servers}"


def _job_name(plan: Plan, name: str, kind: str = "chief") -> str:
    """A Job of its own for each kind, where there are several kinds."""
    return f"{name}-{kind}" if strategy_of(plan).serves else name


def _read(plan: Plan) -> list[str]:
    """The files of one's own that the plan names, as it names them."""
    named = (
        plan.model.file,
        plan.model.python,
        plan.model.weights,
        plan.data.file,
        plan.data.folder,
        plan.data.table,
        plan.data.python,
    )
    return [each for each in named if each is not None]


def _in_namespace(document: Tables, namespace: str | None) -> Tables:
    if namespace is not None:
        document["metadata"]["namespace"] = namespace
    return document


def _code(name: str, script: str, beside: Mapping[str, bytes]) -> Tables:
    """The ConfigMap of the script and of what lies beside it."""
    held = {each: base64.b64encode(content).decode() for each, content in beside.items()}
    if len(script.encode()) + sum(map(len, held.values())) > MOST_BYTES:
        raise ExportError(
            "The script and what it reads are larger than the 1 MiB that Kubernetes keeps in a "
            "ConfigMap: put them into the image, and train there by --to script."
        )
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{name}-code"},
        "data": {SCRIPT: script},
        **({"binaryData": held} if held else {}),
    }


def _job(plan: Plan, name: str, wanted: Kubernetes) -> list[Tables]:
    port = first_port(plan)  # every pod has an address of its own, so one serves all
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {
            "clusterIP": "None",
            # Else a name resolves once its pod is ready, and each waits for the others' names.
            "publishNotReadyAddresses": True,
            "selector": {"app": name} if strategy_of(plan).serves else {"job-name": name},
            "ports": [{"name": "grpc", "port": port}],
        },
    }
    hosts = {
        kind: [f"{_job_name(plan, name, kind)}-{index}.{name}:{port}" for index in range(count)]
        for kind, count in counts(plan).items()
    }
    jobs = [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": _job_name(plan, name, kind)},
            "spec": _job_spec(plan, name, wanted, hosts, kind, subdomain=name),
        }
        for kind in hosts
    ]
    return [service, *jobs]


def _jobset(plan: Plan, name: str, wanted: Kubernetes) -> tuple[Tables]:
    port = first_port(plan)
    hosts = {
        kind: [f"{name}-{kind}-0-{index}.{name}:{port}" for index in range(count)]
        for kind, count in counts(plan).items()
    }
    jobset = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name},
        "spec": {
            "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
            "failurePolicy": {"maxRestarts": restarts(plan)},
            "replicatedJobs": [
                {
                    "name": kind,
                    "replicas": 1,
                    "template": {"spec": _job_spec(plan, name, wanted, hosts, kind)},
                }
                for kind in hosts
            ],
        },
    }
    return (jobset,)


def _job_spec(
    plan: Plan,
    name: str,
    wanted: Kubernetes,
    hosts: Mapping[str, list[str]],
    kind: str,
    subdomain: str | None = None,
) -> Tables:
    count, comes_back = len(hosts[kind]), strategy_of(plan).serves and kind == "worker"
    claim: Tables = {"persistentVolumeClaim": {"claimName": wanted.claim}}
    volumes: list[Tables] = [
        {"name": "code", "configMap": {"name": f"{name}-code"}},
        {"name": "runs", **(claim if wanted.claim else {"emptyDir": {}})},
        # NCCL talks through it within a pod, and has 64 MiB without.
        {"name": "shm", "emptyDir": {"medium": "Memory"}},
    ]
    pod: Tables = {
        **({"subdomain": subdomain} if subdomain else {}),
        "restartPolicy": "OnFailure" if comes_back else "Never",
        "terminationGracePeriodSeconds": _GRACE_S,
        "containers": [_container(plan, name, wanted, hosts, kind)],
        "volumes": volumes,
    }
    return {
        "completionMode": "Indexed",
        "completions": count,
        "parallelism": count,
        # One that is started again alone could not join the others, but for workers of servers.
        "backoffLimit": restarts(plan) if comes_back else 0,
        "template": {"metadata": {"labels": {"app": name}}, "spec": pod},
    }


def _container(
    plan: Plan, name: str, wanted: Kubernetes, hosts: Mapping[str, list[str]], kind: str
) -> Tables:
    # Kubernetes puts the number into TF_CONFIG, so that no shell has to.
    annotation = {"fieldRef": {"fieldPath": f"metadata.annotations['{_INDEX}']"}}
    task = config(hosts, kind, 0).replace('"index": 0', '"index": $(INDEX)')
    names = [each.rpartition(":")[0] for some in hosts.values() for each in some]
    cards: Tables = {"resources": {"limits": {"nvidia.com/gpu": wanted.gpus_per_worker}}}
    return {
        "name": kind,
        "image": wanted.image,
        "command": ["python", f"{CODE}/{SCRIPT}", "--resume", "--output", f"{RUNS}/{name}"],
        "env": [
            {"name": "INDEX", "valueFrom": annotation},
            {"name": "TF_CONFIG", "value": task},
            # Or they ask a proxy for each other, and wait for ever.
            {"name": "no_grpc_proxy", "value": ",".join(names)},
        ],
        "ports": [{"name": "grpc", "containerPort": first_port(plan)}],
        **(cards if wanted.gpus_per_worker and not strategy_of(plan).serves else {}),
        "volumeMounts": [
            {"name": "code", "mountPath": CODE},
            {"name": "runs", "mountPath": RUNS},
            {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108
        ],
    }
