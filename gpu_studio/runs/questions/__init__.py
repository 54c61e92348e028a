"""Short questions to TensorFlow, answered by a trainer process and cached."""
