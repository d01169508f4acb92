"""A soak: servers under load while all kinds of faults happen, and the checks that nothing acknowledged got lost."""
