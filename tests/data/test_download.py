"""Downloads, against a real server on this machine that can cut, refuse and lie."""

import hashlib
import io
import os
import socket
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner
from needs import small_disk

from rankfall.cli import app
from rankfall.data import find
from rankfall.data.download import download
from rankfall.errors import FileError, ProblemError

pytestmark = pytest.mark.stress


def archive() -> bytes:
    """A small MovieLens zip, with noise that keeps it from packing down to nothing."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as packed:
        packed.writestr("ml-1m/ratings.dat", "1::10::5::978300760\n2::10::4::978301968\n")
        packed.writestr("ml-1m/movies.dat", "10::Heat (1995)::Action\n")
        packed.writestr("ml-1m/noise", os.urandom(3_000_000))
    return made.getvalue()


class Publisher(ThreadingHTTPServer):
    """Serves one zip and its MD5, and remembers what was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = archive()
        self.md5: str | None = f"MD5 (ml-1m.zip) = {hashlib.md5(self.content).hexdigest()}\n"
        self.cut_after: list[int] = []  # for each of the next responses, after how many bytes to hang up
        self.ranges = True
        self.lengths = True
        self.refuse: int | None = None
        self.asked: list[str | None] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Publisher

    def do_GET(self) -> None:
        if self.path.endswith(".md5"):
            if self.server.md5 is None:
                self.send_error(404)
            else:
                self._send(200, self.server.md5.encode(), {})
            return
        self.server.asked.append(self.headers["Range"])
        content = self.server.content
        if self.server.refuse:
            self.send_error(self.server.refuse)
        elif self.headers["Range"] and self.server.ranges:
            start = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                self._send(416, b"", {"Content-Range": f"bytes */{len(content)}"})
            else:
                span = f"bytes {start}-{len(content) - 1}/{len(content)}"
                self._send(206, content[start:], {"Content-Range": span})
        else:
            self._send(200, content, {})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if self.server.lengths:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        cut = self.server.cut_after.pop(0) if self.server.cut_after and not self.path.endswith(".md5") else None
        try:
            self.wfile.write(body[:cut])
            self.wfile.flush()
        except OSError:  # the other side hung up, as a full disk makes it do
            return
        if cut is not None:
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    with Publisher() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RANKFALL_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("no_proxy", "*")
    return tmp_path / "data"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_it_arrives_whole_and_only_once(publisher: Publisher, folder: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    path = download("movielens-1m", publisher=publisher.address, progress=lambda *now: seen.append(now))
    assert path == folder / "ml-1m.zip"
    assert path.read_bytes() == publisher.content
    assert names(folder) == ["ml-1m.zip"]
    assert seen[0] == (0, len(publisher.content))
    assert seen[-1] == (len(publisher.content), len(publisher.content))
    assert seen == sorted(seen)
    assert find("movielens-1m").counts().ratings == 2
    assert download("movielens-1m", publisher=publisher.address) == path
    assert publisher.asked == [None]


def test_a_cut_is_continued_at_once(publisher: Publisher) -> None:
    publisher.cut_after = [1_000_000, 700_000]
    path = download("movielens-1m", publisher=publisher.address)
    assert path.read_bytes() == publisher.content
    assert publisher.asked == [None, "bytes=1000000-", "bytes=1700000-"]


def test_a_dead_line_leaves_a_part_that_the_next_call_continues(publisher: Publisher, folder: Path) -> None:
    publisher.cut_after = [500_000, 0]
    with pytest.raises(FileError, match=r"lost the connection to .*ml-1m\.zip after 500,000 bytes; they are kept"):
        download("movielens-1m", publisher=publisher.address)
    assert names(folder) == ["ml-1m.zip.part"]
    assert (folder / "ml-1m.zip.part").read_bytes() == publisher.content[:500_000]
    assert download("movielens-1m", publisher=publisher.address).read_bytes() == publisher.content
    assert publisher.asked[-1] == "bytes=500000-"
    assert names(folder) == ["ml-1m.zip"]


def test_it_does_not_try_forever(publisher: Publisher, folder: Path) -> None:
    publisher.cut_after = [1000] * 50
    with pytest.raises(FileError, match="lost the connection"):
        download("movielens-1m", publisher=publisher.address)
    assert len(publisher.asked) == 5
    assert names(folder) == ["ml-1m.zip.part"]


def test_a_server_that_ignores_ranges(publisher: Publisher) -> None:
    publisher.cut_after, publisher.ranges = [1_000_000], False
    assert download("movielens-1m", publisher=publisher.address).read_bytes() == publisher.content
    assert publisher.asked == [None, "bytes=1000000-"]


def test_a_part_that_is_all_there_already(publisher: Publisher, folder: Path) -> None:
    folder.mkdir()
    (folder / "ml-1m.zip.part").write_bytes(publisher.content)
    assert download("movielens-1m", publisher=publisher.address).read_bytes() == publisher.content


def test_a_part_longer_than_the_file_is_begun_anew(publisher: Publisher, folder: Path) -> None:
    folder.mkdir()
    (folder / "ml-1m.zip.part").write_bytes(b"x" * (len(publisher.content) + 1))
    assert download("movielens-1m", publisher=publisher.address).read_bytes() == publisher.content


def test_a_part_of_something_else_is_noticed_and_removed(publisher: Publisher, folder: Path) -> None:
    folder.mkdir()
    (folder / "ml-1m.zip.part").write_bytes(b"x" * 1000)
    with pytest.raises(FileError, match=r"arrived damaged: its MD5 is \w+, the publisher says \w+; the download"):
        download("movielens-1m", publisher=publisher.address)
    assert names(folder) == []
    assert download("movielens-1m", publisher=publisher.address).read_bytes() == publisher.content


def test_without_a_published_checksum_the_zip_itself_is_checked(publisher: Publisher, folder: Path) -> None:
    publisher.md5 = None
    good = publisher.content
    middle = len(good) // 2
    publisher.content = good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1 :]
    with pytest.raises(FileError, match=r"arrived damaged: ml-1m/noise inside it does not match|Bad CRC"):
        download("movielens-1m", publisher=publisher.address)
    publisher.content = b"<html>log in first</html>"
    with pytest.raises(FileError, match="arrived damaged: File is not a zip file"):
        download("movielens-1m", publisher=publisher.address)
    assert names(folder) == []
    publisher.content = good
    assert download("movielens-1m", publisher=publisher.address).read_bytes() == good


def test_a_checksum_file_that_is_none(publisher: Publisher, folder: Path) -> None:
    publisher.md5 = "<html>"
    with pytest.raises(FileError, match=r"ml-1m\.zip\.md5 says '<html>'; expected an MD5 checksum"):
        download("movielens-1m", publisher=publisher.address)
    assert names(folder) == []


@pytest.mark.parametrize("status", [404, 503])
def test_a_server_that_refuses(publisher: Publisher, folder: Path, status: int) -> None:
    publisher.refuse = status
    with pytest.raises(FileError, match=rf"ml-1m\.zip responds {status}"):
        download("movielens-1m", publisher=publisher.address)
    assert names(folder) == []


def test_offline(folder: Path) -> None:
    with socket.socket() as closed:  # bound and not listening: connections are refused
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(FileError, match=r"cannot reach .*refused; is this machine online\? A copy put at .*ml-1m"):
            download("movielens-1m", publisher=address)
    assert names(folder) == []


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "tiny", megabytes=1) as folder:
        yield folder


@pytest.mark.parametrize(
    ("lengths", "message"),
    [(True, r"has no room for 3,\d+,\d+ more bytes"), (False, r"cannot write .*\.part: No space left on device")],
)
def test_a_full_disk(
    publisher: Publisher, tiny_disk: Path, monkeypatch: pytest.MonkeyPatch, lengths: bool, message: str
) -> None:
    monkeypatch.setenv("RANKFALL_DATA", str(tiny_disk))
    publisher.lengths = lengths  # without a length, it is noticed only when the disk is full
    with pytest.raises(FileError, match=message):
        download("movielens-1m", publisher=publisher.address)
    assert "ml-1m.zip" not in names(tiny_disk)


def test_movielens_small_is_fetched_where_it_did_not_come_along(
    publisher: Publisher, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankfall.data.datasets.EMBEDDED", folder / "none")
    assert download.__kwdefaults__ is not None
    monkeypatch.setitem(download.__kwdefaults__, "publisher", publisher.address)
    with pytest.raises(FileError, match="get it with: rankfall data get movielens-small"):
        find("movielens-small")
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as packed:
        packed.writestr("ml-latest-small/ratings.csv", "userId,movieId,rating,timestamp\n1,10,5.0,1\n")
        packed.writestr("ml-latest-small/movies.csv", "movieId,title,genres\n10,Heat (1995),Action|Crime\n")
    publisher.content, publisher.md5 = made.getvalue(), None
    said = CliRunner().invoke(app, ["data", "get", "movielens-small"])
    assert said.exit_code == 0, said.output
    lines = said.stdout.splitlines()
    assert lines[0].startswith("Terms: "), "before anything is fetched"
    assert lines[1] == f"movielens-small is at {folder / 'ml-latest-small.zip'}"
    assert "newest edition only" in lines[2]
    assert find("movielens-small").counts().ratings == 1


def test_what_cannot_be_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ProblemError, match=r"yahoo-r2 cannot be downloaded\. .* ask for R2 at Yahoo! Webscope"):
        download("yahoo-r2")
    with pytest.raises(ProblemError, match="movielens-small is part of rankfall"):
        download("movielens-small")
    with pytest.raises(ProblemError, match="no data set is called 'ml-1m'; choose from"):
        download("ml-1m")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RANKFALL_DATA", str(tmp_path / "file" / "data"))
    with pytest.raises(FileError, match="cannot make the folder"):
        download("movielens-1m")
