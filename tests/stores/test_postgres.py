import psycopg
import pytest
from postgres import Cluster

pytestmark = pytest.mark.stress


def test_a_database_is_fresh_for_every_test(postgres: Cluster, postgres_url: str) -> None:
    other = postgres.fresh()
    for url in (postgres_url, other):
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE kept (n int)")
    postgres.drop(other)


def test_what_was_committed_survives_a_crash(postgres: Cluster, postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS n")
    with psycopg.connect(postgres_url) as connection:
        connection.execute("DELETE FROM kept")
        postgres.stop("immediate")
        with pytest.raises(psycopg.OperationalError):
            connection.commit()
    assert not postgres.running
    postgres.start()
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT n FROM kept").fetchall() == [(7,)]
        assert connection.execute("SHOW fsync").fetchall() == [("on",)]


def test_connections_can_be_cut(postgres: Cluster, postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        assert postgres.cut(postgres_url) == 1
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
