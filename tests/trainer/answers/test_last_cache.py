"""The processor's third cache, as Eigen takes it."""

import platform

import pytest

from gpu_studio.trainer.answers import last_cache


@pytest.fixture
def processors(monkeypatch, tmp_path):
    """The folder in which the system tells of processors: here of none at first."""
    monkeypatch.setattr(last_cache, "_PROCESSORS", tmp_path)
    monkeypatch.setattr(last_cache, "_PROCESS", tmp_path)
    return tmp_path


def of(maker, processors):
    """Make processors of this maker, with 32 MiB for each two cores."""
    (processors / "cpuinfo").write_text(f"processor : 0\nvendor_id : {maker}\n")
    for number in range(4):
        folder = processors / f"cpu{number}" / "cache/index3"
        folder.mkdir(parents=True)
        (folder / "size").write_text("32768K\n")


def registers(monkeypatch, found):
    """Let the instruction leave these numbers, by its argument, in whichever register is read."""
    monkeypatch.setattr(last_cache, "_run", lambda _code, argument: found[argument])


def test_that_two_mib_count_where_no_third_cache_is_known(processors):
    assert last_cache.last_cache_bytes() == 2 << 20


@pytest.mark.parametrize("maker", ["GenuineIntel", "", "HygonGenuine"])
def test_that_the_cache_is_what_the_system_tells_of(processors, maker):
    of(maker, processors)
    assert last_cache.last_cache_bytes() == 32 << 20


@pytest.mark.parametrize(
    ("told", "mib"),
    [
        (0x0C009140, 384),  # EPYC 9005, of which a virtual machine has a twelfth
        (0x00400000, 8),
        (0x30009140, 0),  # 6 GiB, of which Eigen leaves out all
    ],
)
def test_that_a_processor_of_amd_s_is_asked_for_all_of_its_cache(monkeypatch, told, mib):
    registers(monkeypatch, {0x80000000: 0x80000021, 0x80000006: told})
    assert last_cache.of_amd() == mib << 20


def test_that_a_processor_of_amd_s_that_tells_nothing_has_what_eigen_assumes(
    monkeypatch, processors
):
    of("AuthenticAMD", processors)
    registers(monkeypatch, {0x80000000: 0x80000004})
    assert last_cache.last_cache_bytes() == 2 << 20


def test_that_the_system_s_word_counts_where_the_processor_cannot_be_asked(monkeypatch, processors):
    of("AuthenticAMD", processors)

    def refused(*_of_page, **_settings):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(last_cache.mmap, "mmap", refused)
    assert last_cache.last_cache_bytes() == 32 << 20


def test_that_no_machine_code_runs_on_another_kind_of_processor(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(OSError, match="aarch64"):
        last_cache.of_amd()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="needs an x86-64 processor")
def test_that_the_instruction_runs():
    """Its first argument returns the highest one that it takes."""
    assert 1 <= last_cache._run(last_cache._CPUID_EAX, 0) < 0x80000000
    assert last_cache.of_amd() >= 0
