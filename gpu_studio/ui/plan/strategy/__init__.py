"""The parts of the Strategy tab."""
