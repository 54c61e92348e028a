"""The text of what starts workers: TF_CONFIG, launch commands, jobs for Slurm."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess

import psutil
import pytest
from patience import PATIENCE_S
from training_runs import small_plan

from gpu_studio.export import ExportError
from gpu_studio.export.jobs import KINDS, SUFFIXES, job_text
from gpu_studio.plan import Plan

WORKERS = "distribution.strategy=multi_worker"
SERVED = "distribution.strategy=parameter_server"


def plan_of(*settings: str) -> Plan:
    return small_plan(WORKERS, *settings)


def text_of(kind: str, *settings: str) -> str:
    return job_text(kind, plan_of(*settings), "small", "", {})


def test_that_each_worker_has_its_tf_config_on_a_line():
    lines = text_of("tf_config", "cluster.workers=3", "cluster.port=4000").splitlines()
    told = [json.loads(line) for line in lines]
    workers = ["127.0.0.1:4000", "127.0.0.1:4001", "127.0.0.1:4002"]
    assert [each["cluster"] for each in told] == [{"worker": workers}] * 3
    assert [each["task"] for each in told] == [
        {"type": "worker", "index": index} for index in range(3)
    ]


def test_that_coordinator_workers_and_servers_have_their_tf_config_on_a_line():
    plan = small_plan(SERVED, "cluster.servers=2", "cluster.port=4000")
    told = [json.loads(line) for line in job_text("tf_config", plan, "small", "", {}).splitlines()]
    ports = {"chief": [4000], "worker": [4001, 4002], "ps": [4003, 4004]}
    cluster = {kind: [f"127.0.0.1:{port}" for port in some] for kind, some in ports.items()}
    assert [each["cluster"] for each in told] == [cluster] * 5
    tasks = [(each["task"]["type"], each["task"]["index"]) for each in told]
    assert tasks == [("chief", 0), ("worker", 0), ("worker", 1), ("ps", 0), ("ps", 1)]


@pytest.mark.parametrize("kind", KINDS)
def test_that_a_plan_of_one_process_has_nothing_that_starts_workers(kind):
    with pytest.raises(ExportError, match="multi_worker"):
        job_text(kind, small_plan(), "small", "", {})
    assert kind in SUFFIXES.values()


@pytest.mark.parametrize("kind", ["launch", "sbatch"])
@pytest.mark.parametrize(
    "settings",
    [
        (),
        ("cluster.port=4000", "cluster.restarts=0", "cluster.workers=1"),
        ('devices.visible=["GPU:1", "GPU-5d0"]', "devices.carve="),
        (SERVED, "cluster.servers=3", "cluster.port=4000"),
        ('cluster.slurm={ setup = ["module load cuda", "x=\'a b\'"], folder = "/my \'runs" }',),
    ],
)
def test_that_a_shell_can_read_the_scripts(kind, settings):
    text = text_of(kind, *settings)
    read = subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True)
    assert (read.returncode, read.stderr) == (0, "")
    assert "@" not in text.replace('"$@"', "").replace("USR1@120", "").replace("[@]", "").replace(
        "}[@]}", ""
    )


def test_that_nothing_in_a_plan_s_name_becomes_a_command():
    for kind in ("launch", "sbatch", "kubernetes"):
        plan = plan_of(
            'cluster.kubernetes={ image = "a" }', 'name="x\\n#SBATCH --wrap=ls\\n@script@ $(ls)"'
        )
        lines = job_text(kind, plan, "small", "", {}).splitlines()
        (named,) = [line for line in lines if "--wrap" in line]
        assert named == "# x\\n#SBATCH --wrap=ls\\n@script@ $(ls)"


def test_that_launch_commands_share_out_the_cards_that_the_plan_names():
    assert "cards=(1 GPU-5d0)" in text_of(
        "launch", 'devices.visible=["GPU:1", "GPU-5d0"]', "devices.carve="
    )
    assert "nvidia-smi" in text_of("launch")
    assert "cards=()" in text_of("launch", 'devices.visible=["CPU:0"]')


def test_that_launch_commands_take_the_plan_s_ports_or_free_ones():
    assert "seq 4000 4001" in text_of("launch", "cluster.port=4000")
    assert "export no_grpc_proxy=127.0.0.1 " in text_of("launch")
    assert "bind" in text_of("launch")


def test_that_slurm_is_asked_for_what_the_plan_says():
    wanted = (
        'cluster.slurm={ time = "04:00:00", partition = "gpu", gpus_per_worker = 2, '
        'cpus_per_worker = 8, setup = ["module load cuda"], flags = ["--account=abc"], '
        'folder = "/scratch/me" }'
    )
    lines = text_of("sbatch", "cluster.workers=4", wanted).splitlines()
    options = [line.removeprefix("#SBATCH ") for line in lines if line.startswith("#SBATCH")]
    assert options == [
        "--job-name=small",
        "--ntasks=4",
        "--time=04:00:00",
        "--partition=gpu",
        "--gpus-per-task=2",
        "--cpus-per-task=8",
        "--account=abc",
        "--open-mode=append --output=%x-%j.out",
        "--signal=USR1@120",
    ]
    assert "module load cuda" in lines
    assert any("--output /scratch/me/small" in line for line in lines)


def test_that_workers_are_told_of_a_short_limit_when_half_of_it_is_left():
    for time, seconds in (("04:00:00", 120), ("4", 120), ("3", 90), ("1", 30)):
        wanted = f'cluster.slurm={{ time = "{time}" }}'
        assert f"#SBATCH --signal=USR1@{seconds}\n" in text_of("sbatch", wanted)


def test_that_a_job_that_is_never_started_again_hands_on_slurm_s_own_status():
    once, again = text_of("sbatch", "cluster.restarts=0"), text_of("sbatch")
    assert "    exec srun --kill-on-bad-exit=1" in once
    assert "until workers" not in once
    assert 'until workers "$@"; do' in again


def test_that_what_a_plan_says_is_never_filled_in_as_if_it_were_a_hole():
    line, flag = 'echo "@name@ @script@"', "--comment=@setup@"
    text = text_of("sbatch", f"cluster.slurm={{ setup = ['{line}'], flags = ['{flag}'] }}")
    assert line in text.splitlines()
    assert f"#SBATCH {flag}" in text.splitlines()


def test_that_a_job_of_slurm_says_who_kept_what_it_goes_on_from():
    assert '"All workers start again from what they kept."' in text_of("sbatch")
    said = '"All processes start again from what the coordinator kept."'
    assert said in text_of("sbatch", SERVED)


@pytest.mark.parametrize("kind", ["launch", "sbatch"])
def test_that_only_workers_that_are_all_alike_are_said_to_end_after_the_same_step(kind):
    served = job_text(kind, small_plan(SERVED, "cluster.servers=2"), "small", "", {})
    alike = "all workers end after the same step"
    assert (alike in text_of(kind), alike in served) == (True, False)
    assert "the coordinator keeps its state" in served


def test_that_workers_end_with_a_coordinator_that_fails_before_any_has_reached_it(tmp_path):
    python, pids = tmp_path / "python", tmp_path / "pids"
    python.write_text(
        "#!/bin/bash\n"
        'if [[ $TF_CONFIG == *\'"type": "chief"\'* ]]; then\n'
        '    until [ "$(cat pids | wc -l)" -eq 3 ]; do sleep 0.05; done\n'
        "    exit 3\n"
        "fi\n"
        "echo $$ >> pids\n"
        "exec sleep 600\n"
    )
    python.chmod(0o700)
    pids.touch()
    served = (SERVED, "cluster.servers=1", "cluster.port=4000", "cluster.restarts=0")
    (tmp_path / "launch.sh").write_text(text_of("launch", *served))
    try:
        command = ["bash", tmp_path / "launch.sh"]
        environment = os.environ | {"PYTHON": str(python)}
        done = subprocess.run(command, env=environment, capture_output=True, timeout=PATIENCE_S)
        assert done.returncode == 3
        assert [pid for pid in pids.read_text().split() if psutil.pid_exists(int(pid))] == []
    finally:
        for pid in pids.read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


@pytest.mark.parametrize("kind", ["launch", "sbatch"])
def test_that_the_name_of_a_file_stays_in_the_comment(kind):
    text = job_text(kind, plan_of(), "small", "", {}, "a\ntouch b")
    assert not any(line.startswith("touch") for line in text.splitlines())


def test_that_tasks_of_a_job_get_free_ports_of_their_own_and_pass_by_proxies(tmp_path):
    text = text_of("sbatch", "cluster.workers=3", "cluster.restarts=0")
    # Stand-ins for Slurm: three tasks on one node, one after the other.
    (tmp_path / "srun").write_text(
        '#!/bin/bash\nlabel=; [ "$1" != --label ] || { label=yes; shift; }\n'
        '[ -n "$label" ] || { printf \'%s\\n\' "$CLUSTER" "$no_grpc_proxy"; exit; }\n'
        'for each in 2 0 1; do echo "$each: $(SLURM_PROCID=$each "$@")"; done\n'
    )
    (tmp_path / "scontrol").write_text("#!/bin/sh\necho NodeName=n0 NodeAddr=10.0.0.7 Port=1\n")
    for name in ("srun", "scontrol"):
        (tmp_path / name).chmod(0o700)
    environment = {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "3", "SLURMD_NODENAME": "n0"}
    environment |= {"PATH": f"{tmp_path}:{os.environ['PATH']}", "no_grpc_proxy": "elsewhere"}
    with socket.socket() as taken:
        with contextlib.suppress(OSError):  # or another program has it, which is as well
            taken.bind(("", 10700))
        done = subprocess.run(["bash"], input=text, env=environment, text=True, capture_output=True)
    workers, spared = done.stdout.splitlines()
    addresses = json.loads(f"{{{workers}}}")["worker"]
    ports = [int(each.removeprefix("10.0.0.7:")) for each in addresses]
    assert len(set(ports)) == 3
    assert 10700 not in ports
    assert [port % 3 for port in ports] == [(10700 + index) % 3 for index in range(3)]
    assert spared == "10.0.0.7,10.0.0.7,10.0.0.7,elsewhere"


def test_that_pods_pass_by_proxies():
    text = text_of("kubernetes", 'cluster.kubernetes={ image = "a" }')
    assert 'value: "small-0.small,small-1.small"' in text
