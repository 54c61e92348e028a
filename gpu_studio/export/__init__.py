"""Export a plan as a stand-alone script in plain TensorFlow and Keras."""

from gpu_studio.export.learning import ExportError, UnseenError
from gpu_studio.export.refusals import writable
from gpu_studio.export.script import files_beside, python_script

__all__ = ["ExportError", "UnseenError", "files_beside", "python_script", "writable"]
