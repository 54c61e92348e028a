"""Helpers that every package may use: files, child processes, figures in words, and clocks."""
