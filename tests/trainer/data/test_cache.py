"""Files of others' data sets: found in Keras' cache, or downloaded from a server that these tests run themselves."""

from __future__ import annotations

import functools
import hashlib
import http.server
import os
import socket
import threading
from pathlib import Path

import pytest

from gpu_studio.trainer.data.cache import Download, fetch, keras_home
from gpu_studio.trainer.errors import DataError

CONTENT = b"some data" * 1000


@pytest.fixture
def server(tmp_path):
    """A web server with `data.bin` on it; its address."""
    (tmp_path / "data.bin").write_bytes(CONTENT)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()
        thread.join(timeout=10)


def closed_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_that_a_file_in_the_cache_needs_no_network(cached):
    path = cached("there.bin", b"x")
    assert fetch(Download("datasets/there.bin", "http://127.0.0.1:1/nowhere")) == path


def test_that_the_cache_is_where_keras_home_says(monkeypatch, tmp_path):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    assert keras_home() == tmp_path


def test_that_the_cache_is_in_the_home_folder_by_default(monkeypatch, tmp_path):
    monkeypatch.delenv("KERAS_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert keras_home() == tmp_path / ".keras"


def test_that_the_cache_moves_where_keras_moves_it_if_the_home_cannot_be_written(monkeypatch):
    monkeypatch.delenv("KERAS_HOME")
    monkeypatch.setenv("HOME", "/proc/no-such-home")
    assert keras_home() == Path("/tmp/.keras")


@pytest.mark.slow
def test_that_a_missing_file_is_downloaded_for_its_owner_only(server):
    download = Download("datasets/set/data.bin", f"{server}/data.bin", hashlib.sha256(CONTENT).hexdigest())
    path = fetch(download)
    assert path == Path(os.environ["KERAS_HOME"], "datasets/set/data.bin")
    assert path.read_bytes() == CONTENT
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert list(path.parent.iterdir()) == [path]
    assert socket.getdefaulttimeout() is None


@pytest.mark.slow
def test_that_a_download_with_a_wrong_checksum_is_refused_and_leaves_nothing(server):
    download = Download("datasets/data.bin", f"{server}/data.bin", "0" * 64)
    with pytest.raises(DataError, match="does not match"):
        fetch(download)
    assert list(download.path.parent.iterdir()) == []


@pytest.mark.slow
def test_that_a_file_that_the_server_does_not_have_is_refused(server):
    download = Download("datasets/none.bin", f"{server}/none.bin")
    with pytest.raises(DataError, match="404"):
        fetch(download)
    assert list(download.path.parent.iterdir()) == []


@pytest.mark.slow
def test_that_without_a_network_the_error_says_which_file_to_put_where():
    origin = f"http://127.0.0.1:{closed_port()}/data.bin"
    download = Download("datasets/data.bin", origin)
    with pytest.raises(DataError, match=r"data\.bin is not there, and it cannot be downloaded") as refused:
        fetch(download)
    assert "digits" in refused.value.suggestions[0]
    assert f"Download {origin} on a machine with a network and put it at {download.path}." in refused.value.suggestions


@pytest.mark.slow
def test_that_a_cache_that_cannot_be_written_is_refused_and_named(monkeypatch):
    monkeypatch.setenv("KERAS_HOME", "/proc/keras")
    with pytest.raises(DataError, match=r"/proc/keras/datasets/data\.bin is not there"):
        fetch(Download("datasets/data.bin", "http://127.0.0.1:1/data.bin"))
