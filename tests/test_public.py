"""What users may rely on, no more and no less."""

import tomllib
from pathlib import Path

import pytest

import rankfall

ROOT = Path(__file__).parents[1]


def test_the_public_surface() -> None:
    assert sorted(rankfall.__all__) == [
        "AcrossUsers",
        "Apart",
        "AtLeast",
        "AtMost",
        "BatchRank",
        "Bound",
        "BubbleRank",
        "C2UCB",
        "C4UCB",
        "Cascade",
        "CascadeDUCB",
        "CascadeHybrid",
        "CascadeHybridEpsilon",
        "CascadeHybridGreedy",
        "CascadeHybridTS",
        "CascadeKLUCB",
        "CascadeLSB",
        "CascadeLSBFull",
        "CascadeLSBTS",
        "CascadeLinTS",
        "CascadeLinUCB",
        "CascadeLinUCBFull",
        "CascadeSWUCB",
        "CascadeTS",
        "CascadeUCB1",
        "CascadeUser",
        "CascadeWOFUL",
        "Catalog",
        "CatalogError",
        "Category",
        "ClickChain",
        "ClickLog",
        "ClusteredUsers",
        "Context",
        "ContractError",
        "Coverage",
        "DCMKLUCB",
        "DependentClick",
        "Discount",
        "DocumentBased",
        "Drifting",
        "DynamicBayesian",
        "Environment",
        "ExaminedCascade",
        "Explanation",
        "FeedbackError",
        "FileError",
        "GRAB",
        "GreedyESCB",
        "Hour",
        "Hybrid",
        "IndependentUsers",
        "Intents",
        "LSBGreedy",
        "Linear",
        "LinearPolicy",
        "ManyUsers",
        "Number",
        "Only",
        "PBMTS",
        "PBMUCB",
        "PDGD",
        "POLICIES",
        "PerItem",
        "Policy",
        "PolicySettings",
        "PositionBased",
        "Prepared",
        "Prior",
        "ProblemError",
        "RankError",
        "RankedContextZooming",
        "RankedEXP3",
        "RankedUCB1",
        "RankedZooming",
        "RankfallError",
        "Ranking",
        "RecurRank",
        "RequestFeatures",
        "Rewards",
        "Run",
        "Segments",
        "SharedModel",
        "Statistics",
        "StoreError",
        "TopRank",
        "UCBCCA",
        "UCBCCAPlus",
        "User",
        "UserBrowsing",
        "UsersRun",
        "VAC2UCB",
        "Weekday",
        "Window",
        "build_catalog",
        "check_environment",
        "check_policy",
        "find_policy",
        "fit_cascade",
        "fit_click_chain",
        "fit_dependent_click",
        "fit_dynamic_bayesian",
        "fit_examined_cascade",
        "fit_hybrid",
        "fit_position_based",
        "fit_simplified_bayesian",
        "fit_user_browsing",
        "generate",
        "generate_intents",
        "learn_prior",
        "load",
        "make_policy",
        "prepare",
        "read_click_log",
        "simulate",
        "simulate_many",
        "simulate_users",
        "theorem_bound",
        "to_pandas",
    ]
    assert dir(rankfall) == sorted(rankfall.__all__)
    for name in rankfall.__all__:
        assert getattr(rankfall, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        rankfall.nonsense  # noqa: B018


@pytest.mark.parametrize("name", rankfall.POLICIES)
def test_every_policy_has_a_name_of_its_own(name: str) -> None:
    assert getattr(rankfall, name) is rankfall.POLICIES[name]


def test_every_error_has_one_root() -> None:
    errors = [getattr(rankfall, name) for name in rankfall.__all__ if name.endswith("Error")]
    assert all(issubclass(error, rankfall.RankfallError) for error in errors)


def test_version_and_changelog_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == rankfall.__version__
    assert f"## {rankfall.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert f"version: {rankfall.__version__}" in (ROOT / "CITATION.cff").read_text()


def test_constraints_hold_versions_and_no_addresses() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert pins
    assert all("==" in line and "/" not in line and "@" not in line for line in pins)
