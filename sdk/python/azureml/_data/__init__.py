"""What datastores and datasets share. Not for scripts."""
