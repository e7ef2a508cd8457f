"""Numbers from a log of episodes, and from nothing else: tasks are what was sampled, so tasks are what is resampled."""
