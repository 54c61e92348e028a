"""Python code of the user's own, which runs in the trainer's processes only, and there only if its user allowed it."""

from gpu_studio.trainer.user_code.calling import Function, give
from gpu_studio.trainer.user_code.codes import codes_imported_by_name, codes_of, digest_of_part
from gpu_studio.trainer.user_code.running import under_way

__all__ = ["Function", "codes_imported_by_name", "codes_of", "digest_of_part", "give", "under_way"]
