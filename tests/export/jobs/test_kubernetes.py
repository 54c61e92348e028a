"""Manifests are valid by Kubernetes' own schemas, strictly: a key that is not known is an error."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml
from training_runs import small_plan

from gpu_studio.export import ExportError
from gpu_studio.export.jobs import job_text

VERSION = "1.37"
IMAGE = 'image = "tensorflow/tensorflow:2.21.0-gpu"'
SCRIPT = "import os\n\nprint('hello')\n"
BESIDE = {"digits.npz": b"\0numbers"}


def _table(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


_YES = {"type": "boolean"}
_NAME = {"type": "string", "pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$", "maxLength": 63}
_COUNT = {"type": "integer", "minimum": 0}
# After api/jobset/v1alpha2/jobset_types.go of kubernetes-sigs/jobset; the job inside is checked as
# the Job that it becomes.
JOBSET = _table(
    apiVersion={"const": "jobset.x-k8s.io/v1alpha2"},
    kind={"const": "JobSet"},
    metadata=_table(name=_NAME, namespace=_NAME),
    spec={
        **_table(
            network=_table(enableDNSHostnames=_YES, subdomain=_NAME, publishNotReadyAddresses=_YES),
            failurePolicy=_table(maxRestarts=_COUNT),
            replicatedJobs={
                "type": "array",
                "items": _table(
                    name=_NAME,
                    replicas=_COUNT,
                    template=_table(metadata={"type": "object"}, spec={"type": "object"}),
                ),
            },
        ),
        "required": ["replicatedJobs"],
    },
)


def documents(*settings: str, **more: Any) -> list[dict[str, Any]]:
    plan = small_plan("distribution.strategy=multi_worker", "cluster.workers=3", *settings)
    text = job_text("kubernetes", plan, "small", SCRIPT, BESIDE, **more)
    return list(yaml.safe_load_all(text))


def problems(document: dict[str, Any]) -> list[str]:
    """What Kubernetes would find wrong."""
    if document["kind"] == "JobSet":
        checker = jsonschema.Draft202012Validator(JOBSET)
        found = [error.message for error in checker.iter_errors(document)]
        return found + [
            each
            for job in document["spec"]["replicatedJobs"]
            for each in problems({**_JOB, "spec": job["template"]["spec"]})
        ]
    try:
        kubernetes_validate.validate(document, VERSION, strict=True)
    except kubernetes_validate.ValidationError as error:
        return [str(error)]
    return []


_JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}}


@pytest.mark.parametrize("more", [IMAGE, f'{IMAGE}, namespace = "me", claim = "runs"'])
@pytest.mark.parametrize("cards", [0, 2])
@pytest.mark.parametrize(
    ("kind", "kinds"),
    [("job", ["ConfigMap", "Service", "Job"]), ("jobset", ["ConfigMap", "JobSet"])],
)
def test_that_a_manifest_is_valid(kind, kinds, more, cards):
    wanted = f'cluster.kubernetes={{ {more}, kind = "{kind}", gpus_per_worker = {cards} }}'
    made = documents(wanted)
    assert [each["kind"] for each in made] == kinds
    assert [problems(each) for each in made] == [[]] * len(made)
    assert ("nvidia.com/gpu" in json.dumps(made)) == bool(cards)
    assert {each["metadata"].get("namespace") for each in made} == (
        {"me"} if "namespace" in more else {None}
    )


@pytest.mark.parametrize("kind", ["job", "jobset"])
def test_that_coordinator_workers_and_servers_have_a_job_each_in_a_valid_manifest(kind):
    wanted = f'cluster.kubernetes={{ {IMAGE}, kind = "{kind}" }}'
    made = documents(wanted, "distribution.strategy=parameter_server", "cluster.servers=2")
    assert [problems(each) for each in made] == [[]] * len(made)
    if kind == "jobset":
        jobs = [
            (each["name"], each["template"]["spec"]) for each in made[-1]["spec"]["replicatedJobs"]
        ]
        first = ("small-chief-0-0.small", "small-worker-0-0.small", "small-ps-0-1.small")
    else:
        jobs = [(each["metadata"]["name"], each["spec"]) for each in made if each["kind"] == "Job"]
        first = ("small-chief-0.small", "small-worker-0.small", "small-ps-1.small")
        assert made[1]["spec"]["selector"].items() <= (
            jobs[0][1]["template"]["metadata"]["labels"].items()
        )
    assert [name.rpartition("-")[2] for name, _ in jobs] == ["chief", "worker", "ps"]
    assert [job["completions"] for _, job in jobs] == [1, 3, 2]
    pods = [job["template"]["spec"] for _, job in jobs]
    assert [pod["restartPolicy"] for pod in pods] == ["Never", "OnFailure", "Never"]
    for kind_of, pod in zip(("chief", "worker", "ps"), pods, strict=True):
        given = {each["name"]: each.get("value", "") for each in pod["containers"][0]["env"]}
        assert f'"type": "{kind_of}", "index": $(INDEX)' in given["TF_CONFIG"]
        assert set(first) <= set(given["no_grpc_proxy"].split(","))


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("job", ("spec",)),
        ("job", ("spec", "template", "spec", "containers", 0)),
        ("jobset", ("spec",)),
        ("jobset", ("spec", "failurePolicy")),
        ("jobset", ("spec", "replicatedJobs", 0, "template", "spec")),
    ],
)
def test_that_a_misspelt_key_and_a_wrong_type_are_caught(kind, path):
    sound = documents(f'cluster.kubernetes={{ {IMAGE}, kind = "{kind}" }}')[-1]
    for wrong in (
        {"paralelism": 3},
        {"name": 3, "replicatedJobs": 3, "maxRestarts": "3", "completions": "3"},
    ):
        broken = copy.deepcopy(sound)
        part: Any = broken
        for step in path:
            part = part[step]
        part.update({key: value for key, value in wrong.items() if key in part or len(wrong) == 1})
        assert broken != sound
        try:
            assert problems(broken)
        except TypeError:
            assert broken["spec"]["replicatedJobs"] == 3  # so wrong that the test cannot go on


def test_that_each_pod_finds_its_number_and_the_names_of_all():
    for kind, first in (("job", "small-0.small:23456"), ("jobset", "small-worker-0-0.small:23456")):
        spec = documents(f'cluster.kubernetes={{ {IMAGE}, kind = "{kind}" }}')[-1]["spec"]
        job = spec if kind == "job" else spec["replicatedJobs"][0]["template"]["spec"]
        assert (job["completions"], job["parallelism"], job["backoffLimit"]) == (3, 3, 0)
        container = job["template"]["spec"]["containers"][0]
        index, config, spared = container["env"]
        assert "job-completion-index" in index["valueFrom"]["fieldRef"]["fieldPath"]
        # As Kubernetes puts the number in.
        told = json.loads(config["value"].replace("$(INDEX)", "2"))
        assert told["task"] == {"type": "worker", "index": 2}
        assert told["cluster"]["worker"][0] == first
        assert len(set(told["cluster"]["worker"])) == 3
        names = [each.removesuffix(":23456") for each in told["cluster"]["worker"]]
        assert spared == {"name": "no_grpc_proxy", "value": ",".join(names)}
        assert container["command"][1:3] == ["/gpu-studio/train.py", "--resume"]


def test_that_the_script_and_its_data_come_along_as_long_as_a_config_map_holds_them():
    held = documents(f"cluster.kubernetes={{ {IMAGE} }}")[0]
    assert held["data"] == {"train.py": SCRIPT}
    assert held["binaryData"] == {"digits.npz": "AG51bWJlcnM="}
    plan = small_plan("distribution.strategy=multi_worker", f"cluster.kubernetes={{ {IMAGE} }}")
    with pytest.raises(ExportError, match="1 MiB"):
        job_text("kubernetes", plan, "small", SCRIPT, {"digits.npz": bytes(900_000)})


def test_that_an_image_must_be_named_and_a_name_begins_with_a_letter():
    with pytest.raises(ExportError, match=r"cluster\.kubernetes\.image"):
        documents()
    plan = small_plan("distribution.strategy=multi_worker", f"cluster.kubernetes={{ {IMAGE} }}")
    text = job_text("kubernetes", plan, "7-digits", SCRIPT, {})
    assert {each["metadata"]["name"] for each in yaml.safe_load_all(text)} == {
        "run-7-digits",
        "run-7-digits-code",
    }


def test_that_it_says_what_the_image_must_have_and_that_nothing_is_kept_without_a_claim():
    settings = (
        "distribution.strategy=multi_worker",
        f"cluster.kubernetes={{ {IMAGE} }}",
        "model.name=",
        "model.options={}",
        "model.file=nets/mine.keras",
    )
    text = job_text("kubernetes", small_plan(*settings), "small", SCRIPT, {})
    assert "#     nets/mine.keras\n" in text
    assert "gone with them" in text
