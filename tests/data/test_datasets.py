"""The data sets that have a name."""

import pytest

from rankfall.data import DATASETS, dataset_called
from rankfall.errors import ProblemError


def test_every_data_set_has_terms_and_a_citation() -> None:
    assert all(dataset.terms and dataset.citation for dataset in DATASETS.values())


def test_a_name_that_no_data_set_has() -> None:
    with pytest.raises(ProblemError, match="no data set is called 'nonsense'; choose from movielens-small"):
        dataset_called("nonsense")
