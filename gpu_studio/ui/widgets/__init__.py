"""Small widgets with no rules of their own."""
