"""What can be done with the log of a service, without the service: export, replay, and a start from clicks of old."""
