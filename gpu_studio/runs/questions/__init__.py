"""Short questions to TensorFlow, answered by a trainer process of their own and kept."""
