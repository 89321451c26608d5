"""Set functions as tables over counts or closed forms, and their properties with witnesses."""
