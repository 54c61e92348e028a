"""The queue: plans that wait for their devices, and the process that starts them."""
