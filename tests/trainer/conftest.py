from written_code import written

__all__ = ["written"]
