"""The guide: its links and pictures, what it quotes of the program, its plans, and its search."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from patience import PATIENCE_S

import gpu_studio
from gpu_studio.common.guide import FIRST, anchor_of, guide
from gpu_studio.lab.study import loads_study, points_of
from gpu_studio.plan import loads, validate
from gpu_studio.runs.failure_guide import PARTS, place_of_failure

WORDS = (
    *("physical device", "logical device", "slice", "replica", "global batch", "micro-batch"),
    *("stage", "plan", "run", "host", "worker", "study", "benchmark", "practice card"),
    *("all-reduce", "bubble", "soft placement", "slot"),
)
LINK = re.compile(r"(!?)\[[^\]]*\]\(([^)]+)\)")
QUOTED = re.compile(r"^> (.+)$", re.MULTILINE)
PLAN = re.compile(r"```toml\n(.*?)```", re.DOTALL)
KIND = re.compile(r'(?:^    kind = |[ (]kind=)"(?!stable)(\w+)"', re.MULTILINE)
PAGES = tuple(guide().pages)


@cache
def said_by_the_program() -> str:
    """The source of what explains failures, with texts of several lines joined into one."""
    package = Path(gpu_studio.__file__).parent
    rooms = ((package / room).rglob("*.py") for room in ("contract", "runs", "trainer"))
    source = "\n".join(path.read_text() for room in rooms for path in room)
    return re.sub(r"""["']\s*\n\s*f?["']""", "", source)


def test_that_every_page_is_listed_on_the_first_one():
    assert {path.stem for path in guide().folder.glob("*.md")} == set(PAGES)
    assert PAGES[0] == FIRST
    assert len(PAGES) >= 11


@pytest.mark.parametrize("page", PAGES)
def test_that_every_link_and_picture_of_a_page_leads_somewhere(page):
    links = LINK.findall(re.sub(r"```.*?```", "", guide().pages[page], flags=re.DOTALL))
    for is_picture, target in links:
        if is_picture:
            assert (guide().folder / target).is_file()
            continue
        name, _, anchor = target.partition("#")
        assert name == "" or (guide().folder / name).is_file(), target
        anchors = [each.anchor for each in guide().sections(name.removesuffix(".md") or page)]
        assert not anchor or anchor in anchors, target


def test_that_every_link_and_picture_of_the_readme_leads_somewhere():
    root = Path(gpu_studio.__file__).parents[1]
    links = [target for _, target in LINK.findall((root / "README.md").read_text())]
    assert len(links) > 8
    for target in links:
        name, _, anchor = target.partition("#")
        assert (root / name).is_file(), target
        anchors = [each.anchor for each in guide().sections(Path(name).stem)] if anchor else [""]
        assert anchor in anchors, target


@pytest.mark.parametrize("page", PAGES)
def test_that_the_headings_of_a_page_have_anchors_of_their_own(page):
    anchors = [section.anchor for section in guide().sections(page)]
    assert len(anchors) == len(set(anchors))


def test_that_every_drawing_and_picture_is_shown_and_small():
    shown = {target for text in guide().pages.values() for _, target in LINK.findall(text)}
    for path in (*guide().folder.glob("drawings/*"), *guide().folder.glob("images/*")):
        assert f"{path.parent.name}/{path.name.replace('-dark.png', '.png')}" in shown
        assert path.stat().st_size < 150_000
        assert path.suffix == ".png" or "<title>" in path.read_text()


def test_that_the_pictures_are_those_that_make_pictures_takes():
    script = Path(gpu_studio.__file__).parents[1] / "packaging/pictures.py"
    taken = re.findall(r'take\("(\w+)"', script.read_text())
    in_both_themes = [f"{name}{theme}.png" for name in taken for theme in ("", "-dark")]
    assert sorted(in_both_themes) == sorted(path.name for path in guide().folder.glob("images/*"))


def test_that_every_word_of_the_program_is_explained():
    titles = " ".join(section.title for section in guide().sections("concepts")).lower()
    assert [word for word in WORDS if word not in titles] == []


def test_that_what_the_guide_quotes_of_failures_is_what_the_program_says():
    quoted = QUOTED.findall(guide().pages["failures"])
    assert len(quoted) > 20
    for quote in quoted:
        parts = [part.strip() for part in quote.split("…") if part.strip(" :.()")]
        assert parts
        assert [part for part in parts if part not in said_by_the_program()] == [], quote


SMALL = 'version = 1\nmodel = { name = "mlp" }\ndata = { name = "digits" }\n'
"""A plan over which the guide's parts of plans are laid."""


def cluster(part: str) -> str:
    """The part, of a plan of several workers where it says nothing of the strategy."""
    return part if "strategy" in part else f'distribution.strategy = "multi_worker"\n{part}'


def test_that_every_kind_of_failure_has_its_part_with_what_to_do():
    package = Path(gpu_studio.__file__).parent
    files = (
        path for room in ("contract", "runs", "trainer") for path in (package / room).rglob("*.py")
    )
    found = {kind for path in files for kind in KIND.findall(path.read_text())}
    assert found <= set(PARTS)
    assert len(found) > 5
    places = [place_of_failure("", kind) for kind in PARTS]
    assert [place for place in places if guide().section(place) is None] == []


def test_that_every_plan_and_study_in_the_guide_is_right():
    found = [text for page in guide().pages.values() for text in PLAN.findall(page)]
    studies = [text for text in found if "[[axes]]" in text]
    plans = [text for text in found if text not in studies]
    small = loads(SMALL)
    assert len(plans) >= 4
    for text in plans:
        assert validate(loads(text if "version = " in text else SMALL + cluster(text))) == []
    for text in studies:
        points = points_of(loads_study(text), small)
        assert len(points) > 1
        assert [problem for each in points for problem in validate(each.plan)] == []


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("bubble", "concepts#bubble"),
        ("OUT of memory device", "failures#out-of-memory-on-a-device"),
        ("batch_size", "options#trainingbatch_size"),
        ("tf.recompute_grad", "options#distributionplacedrecompute"),
        # As people ask, in words that are not those of the guide.
        ("how do I stop a run?", "train#pause-stop-and-go-on"),
        ("loss is NaN", "failures#the-loss-is-no-number"),
        ("oom", "failures#out-of-memory-on-a-device"),
        ("bubbles", "concepts#bubble"),
        ("allreduce", "concepts#all-reduce"),
        ("pipeline", "concepts#stage"),
        ("fp16", "options#trainingmixed_precision"),
        ("freeze layers", "options#modelfrozen"),
        ("early-stopping", "options#early-stopping"),
        ("segfault", "failures#a-crash-in-native-code"),
        ("overfitting", "train#loss-and-metrics"),
        ("no GPU", "devices#cards-that-are-not-there"),
        ("theme", "index#settings"),
        ("sampling", "index#settings"),
        ("uninstall", "index"),
        ("logout", "train#closing-logging-out-restarting"),
        ("my own data", "built-ins#data-of-your-own"),
    ],
)
def test_that_words_are_found_first_where_they_are_the_heading_or_alone(words, place):
    assert guide().search(words)[0].section.place == place


def test_that_words_that_are_nowhere_and_no_words_are_not_found():
    assert guide().search("bubble xylophone") == []
    assert guide().search("  ") == []


def test_that_what_was_found_is_shown_with_the_words_around_it():
    (hit,) = guide().search("NVLink PCIe switch")
    assert "NVLink" in hit.excerpt
    assert len(hit.excerpt) < 200


@pytest.mark.parametrize(
    ("place", "title"),
    [
        ("options#training.batch_size", "training.batch_size"),
        ("options#training.metrics.0.name", "training.metrics"),
        ("options#training.schedule.options.decay", "training.schedule"),
        ("options#training.outputs.head.loss_weight", "training.outputs.NAME.loss_weight"),
        ("options#devices.carve.0.slices_mib.2", "devices.carve.slices_mib"),
        ("options#training.early_stopping.on", "training.early_stopping.monitor"),
        ("plan.md#file-tab", "File tab"),
        ("runs", "Runs"),
    ],
)
def test_that_a_key_of_a_plan_leads_to_its_place(place, title):
    section = guide().section(place)
    assert section is not None
    assert section.title == title


@pytest.mark.parametrize("place", ["nowhere", "plan#nothing", "../plan", "options#x.y"])
def test_that_a_place_that_is_not_there_is_none(place):
    assert guide().section(place) is None


def test_that_anchors_are_those_of_a_forge():
    assert anchor_of("Stop, *now* & `resume`") == "stop-now--resume"
    assert anchor_of("training.batch_size") == "trainingbatch_size"


def test_that_reading_the_guide_starts_neither_tensorflow_nor_a_window():
    code = (
        "import sys; from gpu_studio.cli import main; assert main(['guide', 'concepts']) == 0; "
        "print([name for name in ('tensorflow', 'keras', 'PySide6') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.stdout.startswith("# Words and ideas"), done.stderr
    assert done.stdout.rstrip().endswith("[]")
