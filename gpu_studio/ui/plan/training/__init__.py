"""The parts of the Training tab."""
