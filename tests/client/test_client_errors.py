"""What callers are told when the service refuses, and settings that make no sense."""

import logging
import pickle
from typing import Any

import pytest
from unreliable_service import KEY, Connect, Service

from rankfall.client import (
    ConflictError,
    InvalidError,
    NotFoundError,
    RefusedError,
    ServiceError,
    UnavailableError,
)

pytestmark = pytest.mark.stress


@pytest.mark.parametrize(
    ("trouble", "kind", "code"),
    [
        ("400", InvalidError, "bad_request"),
        ("401", RefusedError, "unauthorized"),
        ("403", RefusedError, "forbidden"),
        ("404", NotFoundError, "not_found"),
        ("409", ConflictError, "conflict"),
        ("413", InvalidError, "too_large"),
        ("422", InvalidError, "invalid"),
        ("broken", ServiceError, "bad_response"),
        ("moved", ServiceError, "bad_response"),
        ("garbage", ServiceError, "bad_response"),
        ("list", ServiceError, "bad_response"),
    ],
)
def test_errors_are_told_apart_and_not_repeated(
    client: Any, service: Service, trouble: str, kind: type[ServiceError], code: str
) -> None:
    service.trouble.append(trouble)
    with pytest.raises(ServiceError) as caught:
        client.rank()
    assert type(caught.value) is kind
    assert caught.value.code == code
    assert str(caught.value.status) == trouble or not trouble.isdecimal()
    assert len(service.seen) == 1
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.code, copy.status, str(copy)) == (code, caught.value.status, str(caught.value))


def test_an_error_names_the_place(client: Any, service: Service) -> None:
    service.trouble.append("422")
    with pytest.raises(InvalidError, match=r"^k must be at least 1 \(body.k\)$"):
        client.rank(k=0)


def test_the_key_stays_secret(client: Any, service: Service, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        service.trouble.append("401")
        with pytest.raises(RefusedError, match=r"no such key: \*\*\*") as caught:
            client.rank()
        service.trouble.extend(["dropped"] * 4)
        with pytest.raises(UnavailableError) as lost:
            client.rank()
    assert KEY not in repr(client) + repr(caught.value) + repr(lost.value) + caplog.text
    assert "Client('http://127.0.0.1:" in repr(client)


@pytest.mark.parametrize("key", ["", "two words", "line\n", "ключ"])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(connect: Connect, key: str) -> None:
    with pytest.raises(InvalidError, match="visible ASCII") as caught:
        connect(api_key=key)
    assert not key or key not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["localhost:8321", "ftp://x", "http://", "http://u:p@x", "http://x/?a=b", "http://x:port"]
)
def test_addresses_that_lead_nowhere(connect: Connect, url: str) -> None:
    with pytest.raises(InvalidError, match="address"):
        connect(url)


@pytest.mark.parametrize("options", [{"retries": -1}, {"timeout": 0}, {"deadline": float("nan")}])
def test_settings_that_make_no_sense(connect: Connect, options: Any) -> None:
    with pytest.raises(InvalidError, match=next(iter(options))):
        connect(**options)
