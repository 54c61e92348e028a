"""Short questions to TensorFlow, each answered by a process that ends after it."""
