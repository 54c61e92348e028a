"""A result whose worker is lost while it is copied is not lost; one that is given up is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture
def value(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Any], None]], Any]:
    """A result of TensorFlow's on a worker that is lost just as somebody copies it.

    `then` is what the coordinator does with it thereupon.
    """
    import tensorflow as tf
    from tensorflow.python.distribute.coordinator.values import RemoteValueImpl

    def made(then: Callable[[Any], None]) -> Any:
        lost, copied = RemoteValueImpl(None, None), []

        def copy(self: Any) -> Any:
            copied.append(self)
            if len(copied) > 1:
                return self._values
            then(self)
            raise tf.errors.UnavailableError(None, None, "recvmsg: Connection reset by peer")

        monkeypatch.setattr(RemoteValueImpl, "_copy_to_local", copy)
        lost._set_values(tf.constant(1))
        return lost

    return made


def test_that_work_of_a_worker_that_is_lost_meanwhile_is_had_from_another(value) -> None:
    import tensorflow as tf

    from gpu_studio.trainer.served.dispatch import fetched

    assert fetched(value(lambda lost: lost._set_values(tf.constant(7)))) == 7


def test_that_work_that_the_coordinator_has_given_up_is_told(value) -> None:
    import tensorflow as tf

    from gpu_studio.trainer.served.dispatch import fetched

    given_up = tf.errors.AbortedError(None, None, "a server is gone")
    with pytest.raises(tf.errors.AbortedError, match="a server is gone"):
        fetched(value(lambda lost: lost._set_error(given_up)))
