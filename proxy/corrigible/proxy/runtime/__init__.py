"""What waits or runs elsewhere: look-ups, workers, the dispatcher."""
