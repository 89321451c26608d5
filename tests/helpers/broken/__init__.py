"""Files that are broken in every way, by reader."""
