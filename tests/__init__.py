"""Mirrors the folders of the source."""
