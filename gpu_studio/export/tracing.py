"""The part of a script that traces a compiled step once, whatever the sizes of the batches."""

from __future__ import annotations

KINDS_OF = '''\
def kinds_of(batch):
    """The types and shapes of batches like this one, of any size.

    They are what the batch has in common with its first sample alone.
    """
    kind = tf.type_spec_from_value

    def first_of(part):
        return part[:1] if part.shape.rank else part

    def common(part, first):
        return kind(part).most_specific_common_supertype([kind(first)])

    first = tf.nest.map_structure(first_of, batch, expand_composites=True)
    return tf.nest.map_structure(common, batch, first)


'''
"""The function that says what a step is traced for."""
_ONCE = '''\
def traced_once(step):
    """The step, traced for batches of any size, as the last of an epoch may be smaller.

    Else TensorFlow would trace it for the first size, and once more for others.
    """
    traced = []

    def stepped(*batch):
        if not traced:
            traced.append(step.get_concrete_function(*kinds_of(batch)))
        return step(*batch)

    return stepped


'''
TRACED_ONCE = KINDS_OF + _ONCE
"""The functions that trace a step once."""
