"""What workers of servers cannot share, as the trainer and scripts find it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gpu_studio.trainer.errors import PlanRefused

pytestmark = pytest.mark.slow


def test_that_an_optimizer_that_a_model_brings_is_refused_where_it_overwrites_what_others_add() -> (
    None
):
    import keras

    from gpu_studio.trainer.served.refusals import refuse_alone

    class Own(keras.optimizers.Ftrl):
        """One of a user's own."""

    model = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(1)])
    refuse_alone(model, keras.optimizers.Adam(0.01, weight_decay=0.1, clipnorm=1.0))
    wrong = {
        "The optimizer Ftrl writes weights anew": [keras.optimizers.Ftrl(), Own()],
        "The optimizer has use_ema": [keras.optimizers.SGD(0.1, use_ema=True)],
        "The optimizer has gradient_accumulation_steps": [
            keras.optimizers.SGD(0.1, gradient_accumulation_steps=2)
        ],
    }
    for words, optimizers in wrong.items():
        for optimizer in optimizers:
            with pytest.raises(PlanRefused, match=words) as refused:
                refuse_alone(model, optimizer)
            assert 'cluster.updates = "sync"' in refused.value.suggestions[0]


def test_that_a_metric_that_must_see_all_batches_is_refused() -> None:
    from gpu_studio.trainer.served.refusals import refuse_sequential

    summing = SimpleNamespace(name="hits", sequential=False)
    refuse_sequential([summing, SimpleNamespace(name="of Keras")])
    with pytest.raises(PlanRefused, match="The metric most is no sum over the samples"):
        refuse_sequential([summing, SimpleNamespace(name="most", sequential=True)])
