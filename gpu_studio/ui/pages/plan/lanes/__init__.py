"""The parts of the Layers tab."""
