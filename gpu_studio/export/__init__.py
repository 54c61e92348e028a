"""Export a plan as a stand-alone script in plain TensorFlow and Keras."""

from gpu_studio.export.facts import ExportError
from gpu_studio.export.script import files_beside, python_script

__all__ = ["ExportError", "files_beside", "python_script"]
