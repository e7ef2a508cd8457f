"""Packs as folders: read, made, shown as a page, and their cases."""
