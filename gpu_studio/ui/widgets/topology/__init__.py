"""How the cards are joined, drawn."""
