"""Which folders may be allowed as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_studio.runs.sources import objection, why_not


def made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_that_a_folder_of_one_s_own_may_be_allowed() -> None:
    assert why_not(made(Path.home() / "src" / "digits")) == ""


@pytest.mark.parametrize(
    "folder", ["/", "/tmp", "/var/tmp", "~", "~/..", "~/Downloads", "~/Downloads/from a stranger"]
)
def test_that_folders_in_which_others_put_files_may_not(folder: str) -> None:
    path = Path(folder).expanduser()
    assert why_not(path if path.exists() else made(path))


def test_that_the_folder_of_temporary_files_and_what_is_in_it_may_not(isolated_home) -> None:
    assert why_not(isolated_home.temporary)
    assert why_not(isolated_home.temporary / "unpacked")


def test_that_a_folder_of_temporary_files_is_not_said_to_be_better_than_the_one_above_it(
    isolated_home,
) -> None:
    """A folder below it is what it is: to allow one below that would be refused again."""
    found = objection(isolated_home.temporary / "experiments")
    assert found is not None
    assert found.advice == "Move it into your home folder, or allow its files one by one."
    above = objection(Path.home())
    assert above is not None
    assert above.advice == "Allow files in it, or a folder below it."


def test_that_a_folder_is_what_its_link_leads_to() -> None:
    link = Path.home() / "looks-harmless"
    link.symlink_to("/")
    assert why_not(link)


def test_that_a_folder_in_which_everyone_may_write_and_one_that_is_gone_may_not() -> None:
    open_to_all = made(Path.home() / "drop")
    open_to_all.chmod(0o777)
    assert "every user" in why_not(open_to_all)
    assert "cannot be looked at" in why_not(Path.home() / "gone")
