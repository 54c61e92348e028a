"""What the Plan page shows and edits: the document, its facts, carve, lanes, strategy."""
