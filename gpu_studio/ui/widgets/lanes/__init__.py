"""What the Layers tab is made of: lanes that layers are dragged between, a timeline, and the model's graph."""
