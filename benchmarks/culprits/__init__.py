"""Is the culprit found? Worlds x detectors x kinds of anomaly x methods."""
