from real_runs import ended, start, training

__all__ = ["ended", "start", "training"]
