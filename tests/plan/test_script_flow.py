"""What a script does after its first call of `fit`, and whether that is the first, by its text."""

from __future__ import annotations

from textwrap import dedent

import pytest

from gpu_studio.plan.scripts import FitCall, fit_in


def read(text: str) -> FitCall | None:
    return fit_in(dedent(text).encode())


ONE, OTHER = "m.fit(x, epochs=1, batch_size=8)", "m.fit(x, epochs=2, batch_size=8, callbacks=c)"


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        (f"{ONE}\n{OTHER}", ()),
        (f"{ONE}\nif tune:\n  {OTHER}", ()),
        (f"def f():\n  {ONE}\n  {OTHER}\nf()", ()),
        (f"if tune:\n  {ONE}\nelse:\n  {OTHER}", ("epochs",)),
        (f"def f():\n  {ONE}\ndef g():\n  {OTHER}\ng()", ("epochs",)),
        (f"def f():\n  {ONE}\ndef g():\n  {ONE}\ng()", ()),
        (f"def f():\n  {ONE}\ndef g():\n  m.fit(x, epochs=1, batch_size=n())", ("batch_size",)),
    ],
)
def test_that_a_script_decides_where_another_call_may_come_first(
    text: str, unknown: tuple[str, ...]
) -> None:
    found = read(text)
    assert found is not None
    assert found.unknown == unknown
    assert found.known == {k: v for k, v in (("epochs", 1), ("batch_size", 8)) if k not in unknown}
    assert found.callbacks == ("epochs" in unknown)


@pytest.mark.parametrize(
    ("text", "later"),
    [
        ("m.fit(x, epochs=1)\nn.fit(y, epochs=2)", 2),
        ("m.fit(x)\nm.fit(y)", 2),
        ("if logs:\n  m.fit(x, epochs=1)\nelse:\n  m.fit(y, epochs=1)", 0),
        ("if a:\n  m.fit(x, epochs=1)\nelif b:\n  m.fit(y, epochs=1)\nm.fit(z)", 5),
        ("if a:\n  m.fit(x, epochs=1)\n  m.fit(y, epochs=1)", 3),
        ("for x in d:\n  if a: m.fit(x, epochs=1)\n  else: m.fit(y, epochs=1)", 2),
        ("s.fit(x)\nm.fit(y, epochs=2)", 0),
        ("m.fit(x, epochs=1)\ns.fit(y)", 0),
        ("for fold in folds:\n  with scope():\n    m.fit(x, epochs=1)", 3),
        ("while True: m.fit(x, epochs=1)", 1),
        ("for column in x: s.fit(column)\nm.fit(y, epochs=2)", 0),
        ("for fold in folds:\n  def late():\n    m.fit(x, epochs=1)", 0),
        ("def f(d):\n  m.fit(d, epochs=1)\nf(x)", 0),
        ("def f(d):\n  m.fit(d, epochs=1)\nf(x)\nf(y)", 4),
        ("def f(d):\n  m.fit(d, epochs=1)\n  f(d)", 0),
        ("def f(d):\n  m.fit(d, epochs=1)\ndef main():\n  for d in x: f(d)\nmain()", 4),
        ("def f(d):\n  m.fit(d, epochs=1)\nscores = {d: f(d) for d in x}", 3),
        ("scores = [m.fit(d, epochs=1) for d in x]", 1),
        ("def f(trial):\n  m.fit(x, epochs=1)\nstudy.optimize(f, n_trials=9)", 3),
        ("def f(d):\n  m.fit(d, epochs=1)\nParallel()(delayed(f)(d) for d in x)", 3),
        ("def f():\n  m.fit(d, epochs=1)\nThread(target=f).start()", 0),
    ],
)
def test_that_a_further_call_that_trains_is_known(text: str, later: int) -> None:
    found = read(text)
    assert found is not None
    assert found.later == later


@pytest.mark.parametrize(
    ("text", "unwritten"),
    [
        ("m.fit(x, epochs=2)\nprint(m.evaluate(x))\nm.save('m.keras')", "m.save in line 3"),
        ("m.fit(\n  x,\n  epochs=2,\n)\nif a.out:\n  save_model(m)", "save_model in line 6"),
        ("def go(m):\n  m.fit(x, epochs=2)\ngo(m)\nself.m.save(a)", "save in line 4"),
        (
            "class A:\n def go(self):\n  self.m.fit(x, epochs=2)\nA().go()\nplt.savefig(a)",
            "plt.savefig in line 5",
        ),
        ("m.save('first.keras')\nm.fit(x, epochs=2)\nm.evaluate(x)", ""),
        ("m.fit(x, epochs=2)\nclass C:\n  def on_end(self): self.model.save('c.keras')", ""),
        ("def go(m):\n  m.fit(x, epochs=2)\ndef picture(): plt.savefig(a)\ngo(m)", ""),
    ],
)
def test_that_what_would_be_written_after_fit_is_known(text: str, unwritten: str) -> None:
    found = read(text)
    assert found is not None
    assert found.unwritten == unwritten
    measured = [number for number, line in enumerate(text.splitlines(), 1) if "m.evaluate(" in line]
    assert found.unmeasured == (f"m.evaluate in line {measured[0]}" if measured else "")
