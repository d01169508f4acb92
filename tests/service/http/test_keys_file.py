"""Keys are read again when their file changes, and wrong ones are answered slowly."""

import asyncio
import hashlib
import json
from pathlib import Path

import httpx
import pytest
from in_process import service
from served import JSON, RANK, problem
from waiting import PATIENCE

from rankfall.errors import FileError
from rankfall.service.http import wrong_keys
from rankfall.service.http.keys_file import LOOK_EVERY, KeysFile
from rankfall.service.http.wrong_keys import WrongKeys


class Ticking:
    """A clock that goes on by itself: each look at the file is due."""

    now = 0.0

    def __call__(self) -> float:
        self.now += LOOK_EVERY
        return self.now


def write(path: Path, *keys: str) -> Path:
    blocks = [f'[[key]]\nsha256 = "{hashlib.sha256(key.encode()).hexdigest()}"\nrights = ["rank"]\n' for key in keys]
    path.write_text("\n".join(blocks))
    return path


def test_keys_come_and_go_with_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "keys.toml", "first")
    keys = KeysFile(path, Ticking())
    assert keys.grant("first") is not None
    write(path, "first", "second")
    assert keys.grant("second") is not None
    write(tmp_path / "new.toml", "third").rename(path)
    assert keys.grant("third") is not None
    assert keys.grant("first") is keys.grant("second") is None


def test_a_file_that_cannot_be_read_changes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path / "keys.toml", "first")
    keys = KeysFile(path, Ticking())
    for broken in ("", "nonsense", "[[key]]\nrights = []"):
        path.write_text(broken)
        assert keys.grant("first") is not None
    path.unlink()
    assert keys.grant("first") is not None
    assert keys.grant("") is None
    assert [record.message for record in caplog.records] == ["the API keys stay as they were"] * 4
    write(path, "second")
    assert keys.grant("second") is not None
    with pytest.raises(FileError):
        KeysFile(tmp_path / "none.toml")


def test_the_file_is_looked_at_now_and_then(tmp_path: Path) -> None:
    path, clock = write(tmp_path / "keys.toml", "first"), Ticking()
    keys = KeysFile(path, lambda: clock.now)
    write(path, "second")
    assert keys.grant("second") is None
    clock()
    assert keys.grant("second") is not None


# Wrong keys


def test_many_addresses_take_bounded_memory() -> None:
    wrong = WrongKeys(monotonic=lambda: 0.0)
    for n in range(wrong_keys.ADDRESSES + 100):
        wrong.wait(f"10.0.{n // 256}.{n % 256}")
    assert len(wrong._paid) == wrong_keys.ADDRESSES


def test_time_forgives() -> None:
    clock = Ticking()
    wrong = WrongKeys(lambda: clock.now)
    while (longest := wrong.wait("192.0.2.1")) is not None:
        assert longest <= wrong_keys.LONGEST
    assert wrong.wait("192.0.2.1") is None
    clock.now += wrong_keys.LONGEST + wrong_keys.AT_ONCE * wrong_keys.EVERY + 0.01
    assert wrong.wait("192.0.2.1") == 0.0


@pytest.mark.stress
def test_wrong_keys_wait_and_right_ones_do_not(
    tmp_path: Path, small_catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One wrong key is held back for ever here, further ones are refused; meanwhile the right one is served at once."""
    monkeypatch.setattr(wrong_keys, "AT_ONCE", 1)
    monkeypatch.setattr(wrong_keys, "EVERY", 1e6)
    monkeypatch.setattr(wrong_keys, "LONGEST", 1e6)
    keys = str(write(tmp_path / "keys.toml", "right"))

    async def test() -> None:
        async with service(tmp_path / "data", small_catalog, keys=keys) as (client, _):

            async def ask(key: str) -> httpx.Response:
                return await client.post(RANK, content=json.dumps({}), headers={"X-API-Key": key, **JSON})

            problem(await ask("wrong"), 401, "unauthorized")
            both = [asyncio.create_task(ask("wrong")) for _ in range(2)]
            done, held = await asyncio.wait(both, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
            problem(done.pop().result(), 429, "too_many")
            for _ in range(50):
                assert (await ask("right")).status_code == 200
            (waiting,) = held
            assert waiting.cancel(), "it is held back still"

    asyncio.run(test())
