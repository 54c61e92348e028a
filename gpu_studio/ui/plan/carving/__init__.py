"""A card as a bar that the user carves into slices."""
