"""The background process that trains: `python -m gpu_studio.trainer RUN`.

Nothing else imports TensorFlow and Keras.
"""
