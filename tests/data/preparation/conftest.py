from pathlib import Path

import pytest
from section_4_1 import Made, random_ratings


@pytest.fixture
def random(tmp_path: Path) -> Made:
    """Ratings drawn at random."""
    return random_ratings(tmp_path)
