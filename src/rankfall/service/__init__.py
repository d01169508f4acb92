"""The ranking service: rankings out, feedback in, nothing lost."""
