"""The description for software centres, with screenshots where an address for them is known."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from PySide6.QtGui import QImageReader

from gpu_studio.common.paths import resource

PACKAGING = Path(__file__).parents[2] / "packaging"
ADDRESS = "https://example.org/gpu studio & more/"


@pytest.fixture
def metainfo(monkeypatch):
    monkeypatch.syspath_prepend(PACKAGING)
    import metainfo

    return metainfo


def test_that_a_description_with_screenshots_is_accepted(metainfo, tmp_path: Path):
    if shutil.which("appstreamcli") is None:
        pytest.skip("needs appstreamcli; on Debian: sudo apt-get install appstream")
    path = tmp_path / metainfo.METAINFO
    path.parent.mkdir()
    shutil.copyfile(resource("desktop") / metainfo.METAINFO, path)
    metainfo.describe(tmp_path, "https://example.org/gpu-studio/")
    command = ("appstreamcli", "validate", "--strict", "--no-net", path)
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert path.read_text().count("<image>https://example.org/gpu-studio/") == len(metainfo.SHOWN)


def test_that_the_screenshots_are_there_and_large_enough_to_be_shown(metainfo):
    for name in metainfo.SHOWN:
        size = QImageReader(str(PACKAGING / "screenshots" / name)).size()
        assert size.width() >= 1024
        assert size.height() >= 576


def test_that_an_address_is_written_as_xml_and_what_is_none_is_refused(metainfo):
    assert "/gpu studio &amp; more/train-dark.png" in metainfo.with_screenshots(
        "  <content_rating/>", ADDRESS
    )
    for wrong in ("/usr/share/screenshots", "http://example.org/shots"):
        with pytest.raises(LookupError, match="begins with https"):
            metainfo.with_screenshots("", wrong)


def test_that_a_wheel_takes_the_description_with_screenshots_only_where_an_address_is_given(
    metainfo, monkeypatch, tmp_path: Path
):
    from wheel_hook import MadeFilesHook

    place = f"gpu_studio/resources/desktop/{metainfo.METAINFO}"
    for address in ("", ADDRESS):
        monkeypatch.setenv(metainfo.ADDRESS, address)
        hook = MadeFilesHook(str(PACKAGING.parent), {}, None, None, str(tmp_path), "wheel")
        build_data = {"shared_data": {}, "force_include": {}}
        hook.initialize("standard", build_data)
        written = {target: Path(made) for made, target in build_data["force_include"].items()}
        assert list(written) == ([place] if address else [])
        for made in written.values():
            assert made.read_text().count("<screenshot") == len(metainfo.SHOWN) + 1
        hook.finalize("standard", build_data, "")


def test_that_no_wheel_is_begun_with_an_address_that_is_none(metainfo, capsys, tmp_path: Path):
    import artefacts

    assert artefacts.main(["wheel", "--screenshots", "ftp://x", "--outdir", str(tmp_path)]) == 1
    assert "ftp://x is no address from which" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
