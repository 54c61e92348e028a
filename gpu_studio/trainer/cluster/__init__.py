"""A run of several processes: the supervisor that starts and watches them, and its members.

The supervisor is the trainer process of the run: it holds the lock, writes the events, hears the
commands, and imports no TensorFlow. Each member trains in a process of its own, with a channel to
the supervisor; if either end closes, the other ends.
"""
