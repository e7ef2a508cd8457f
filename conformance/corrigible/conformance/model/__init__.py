"""Plain data and errors that every other folder uses: outcomes, profiles, vectors. Imports no other folder."""
