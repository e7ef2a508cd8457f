"""The leak audit: whether an answer can be had elsewhere than in the feedback."""
