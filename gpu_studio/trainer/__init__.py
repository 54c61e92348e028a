"""The background process that trains. `python -m gpu_studio.trainer RUN`; the only importer of TensorFlow and Keras."""
