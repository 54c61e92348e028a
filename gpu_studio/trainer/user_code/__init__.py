"""Python code of the user's own.

It runs only in the trainer's processes, and only if its user allowed it.
"""

from gpu_studio.trainer.user_code.admission import codes_imported_by_name, codes_of, digest_of_part
from gpu_studio.trainer.user_code.calling import UserFunction, find, give, pulling, under_way

__all__ = [
    "UserFunction",
    "codes_imported_by_name",
    "codes_of",
    "digest_of_part",
    "find",
    "give",
    "pulling",
    "under_way",
]
