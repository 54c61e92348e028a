"""`runs show`."""

from __future__ import annotations


def test_that_a_run_is_shown_with_its_figures(gpu_studio, ended):
    run = ended("--checkpoint-every", "5").directory
    shown = gpu_studio("runs", "show", "latest")
    assert shown.code == 0
    for text in (
        run.id,
        "steps trained 10 of 10 (100 %)",
        "step-00000010",
        "val_loss 0.2000",
        "CPU:0 2 MiB",
    ):
        assert text in " ".join(shown.out.split())
    document = gpu_studio("runs", "show", run.id, "--json").document
    assert (document["state"], document["step"], document["metrics"]) == (
        "finished",
        10,
        {"loss": 0.5},
    )
    assert [row["metrics"]["val_loss"] for row in document["epochs_table"]] == [0.4, 0.2]
    assert document["checkpoints"] == ["step-00000005", "step-00000010"]


def test_that_a_lost_run_is_shown_with_the_reason_and_the_way_on(gpu_studio, ended):
    run = ended("--crash-at", "3", "--checkpoint-every", "2").directory
    shown = gpu_studio("runs", "show", run.id).out
    assert "segmentation fault" in shown
    assert f"gpu-studio resume {run.id}" in shown
    assert "Fatal Python error" in shown
    document = gpu_studio("runs", "show", run.id, "--json").document
    assert document["state"] == "lost"
    assert document["suggestions"]
