"""The log of a service, without the service: export it, replay it with another policy, import click logs."""
