from real_runs import ended, start

__all__ = ["ended", "start"]
