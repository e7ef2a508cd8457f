"""What a run looks like to a person, to CI and to other programs."""
