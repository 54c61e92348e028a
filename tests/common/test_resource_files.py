"""The bundled files are found in a checkout and in an installed package."""

from __future__ import annotations

import pytest

from gpu_studio.common import paths
from gpu_studio.common.paths import resource


def test_that_the_digits_are_found():
    assert resource("data/digits.npz").is_file()


@pytest.mark.parametrize("place", ["package/resources", "resources"])
def test_that_resources_lie_in_the_package_or_beside_it(monkeypatch, tmp_path, place):
    (tmp_path / place).mkdir(parents=True)
    (tmp_path / place / "icon.svg").write_text("<svg/>")
    monkeypatch.setattr(paths, "_PACKAGE", tmp_path / "package")
    assert resource("icon.svg") == tmp_path / place / "icon.svg"


def test_that_a_missing_resource_names_both_places(monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "_PACKAGE", tmp_path / "package")
    with pytest.raises(
        FileNotFoundError, match=r"neither .*package/resources/a\.svg nor .*/resources/a\.svg"
    ):
        resource("a.svg")
