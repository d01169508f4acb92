"""The linear policies of the registry that are choices and nothing else, by name; and others made of such choices."""

from rankfall import POLICIES, LinearPolicy

LINEAR: dict[str, type[LinearPolicy]] = {
    name: policy
    for name, policy in POLICIES.items()
    if issubclass(policy, LinearPolicy) and policy.why_not_served is None
}


def varied(name: str, **choices: str) -> type[LinearPolicy]:
    """A linear policy like one of the registry, with other choices."""
    own = LINEAR[name]
    same = {choice: getattr(own, choice) for choice in ("coverage", "relevance", "exploration", "feedback")}
    return type(f"{name}Varied", (LinearPolicy,), {**same, **choices})
