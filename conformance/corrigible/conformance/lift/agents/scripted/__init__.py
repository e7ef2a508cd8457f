"""Scripted agents."""
