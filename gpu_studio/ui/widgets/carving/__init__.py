"""A card as a bar that is carved."""
