"""The machines of a cluster: what would keep its workers from training, before they start."""
