"""Short questions to TensorFlow. Each is answered by a process that ends afterwards."""
