"""Dialogs and questions."""
