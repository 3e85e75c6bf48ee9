"""Downloads from a real server that cuts, stalls, lies and changes its mind."""

import hashlib
import re
import socket
import subprocess
import sys
import time
import urllib.error

import pytest
from dataset_server import Answer

from onkel.datasets.download import DownloadError, Patience, _passing, download

BODY = bytes(range(1, 251)) * 4000  # a million bytes, none of them the start of a web page
DOWNLOAD = "from sys import argv; from pathlib import Path; from onkel.datasets.download import download as fetch; "
DOWNLOAD += "fetch(argv[1], Path(argv[2]))"
HASTY = Patience(timeout=0.3, tries=3, pause=0.01)


@pytest.fixture
def get(site, tmp_path):
    site.files["/file"] = BODY
    target = tmp_path / "file"

    def run(**options):
        return download(site.url + "/file", target, **{"patience": HASTY, **options})

    run.target, run.part, run.tag = target, tmp_path / "file.part", tmp_path / "file.part.tag"
    return run


def is_whole(get, body=BODY):
    return get.target.read_bytes() == body and not get.part.exists() and not get.tag.exists()


def test_whole(site, get):
    seen = []
    digest = get(progress=lambda done, total: seen.append((done, total)))
    assert is_whole(get)
    assert digest == hashlib.sha256(BODY).hexdigest()
    assert seen[-1] == (len(BODY), len(BODY))
    assert seen == sorted(seen)
    assert site.ranges() == [None]


@pytest.mark.parametrize("stall", [False, True], ids=["cut off", "stalled"])
def test_goes_on_where_it_broke_off(site, get, stall):
    site.script["/file"] = [Answer(cut=300_000, stall=stall), Answer(cut=700_000, stall=stall)]
    get()
    assert is_whole(get)
    assert site.ranges() == [None, "bytes=300000-", "bytes=700000-"]
    assert site.requests[1][1]["If-Range"] == '"1"'


def test_a_server_that_stalls_for_good(site, get):
    site.always = Answer(cut=400_000, stall=True)
    begin = time.perf_counter()
    with pytest.raises(DownloadError, match=r"given up after 3 tries, the last one: timed out"):
        get()
    assert time.perf_counter() - begin < 10
    assert not get.target.exists()
    site.always = Answer()
    get()
    assert is_whole(get)
    assert site.ranges()[-1] == "bytes=400000-"


def test_a_server_without_ranges(site, get):
    site.script["/file"] = [Answer(cut=300_000, ranges=False), Answer(ranges=False)]
    get()
    assert is_whole(get)


def test_a_server_that_always_cuts_off_is_given_up(site, get):
    site.always = Answer(cut=300_000, ranges=False)
    with pytest.raises(DownloadError, match="the connection ended after 300000 of 1000000 bytes"):
        get()
    assert len(site.requests) == 1 + HASTY.tries  # one that brought something, then tries in vain


def test_a_file_that_changes_on_the_way(site, get):
    other = BODY[::-1]
    site.script["/file"] = [Answer(cut=300_000), Answer(body=other, version='"2"')]
    get()
    assert is_whole(get, other)


def test_a_file_that_gets_shorter_on_the_way(site, get):
    short = BODY[:1000]
    site.script["/file"] = [Answer(cut=300_000), Answer(body=short), Answer(body=short)]
    get()
    assert is_whole(get, short)


@pytest.mark.parametrize("version", [None, 'W/"1"'])
def test_no_resume_without_a_name_of_the_version(site, get, version):
    site.script["/file"] = [Answer(cut=300_000, version=version)]
    get()
    assert is_whole(get)
    assert site.ranges() == [None, None]


def test_resumes_by_date(site, get):
    date = (("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT"),)
    site.script["/file"] = [Answer(cut=300_000, version=None, headers=date), Answer(version=date[0][1])]
    get()
    assert is_whole(get)
    assert site.ranges() == [None, "bytes=300000-"]


def test_a_part_from_elsewhere_is_not_taken_up(site, get):
    get.part.write_bytes(b"x" * 1000)
    get.tag.write_text('http://elsewhere/file\n"1"')
    get()
    assert is_whole(get)
    assert site.ranges() == [None]


def test_cut_off_after_the_last_byte(site, get):
    get.part.write_bytes(BODY)
    get.tag.write_text(f'{site.url}/file\n"1"')
    get()
    assert is_whole(get)
    assert site.ranges() == ["bytes=1000000-"]


@pytest.mark.parametrize("status", [500, 503, 429])
def test_passing_trouble(site, get, status):
    site.script["/file"] = [Answer(status=status), Answer(status=status)]
    get()
    assert is_whole(get)


@pytest.mark.parametrize("status", [404, 403, 410])
def test_lasting_trouble_is_not_tried_again(site, get, status):
    site.always = Answer(status=status)
    with pytest.raises(DownloadError, match=f"HTTP Error {status}") as caught:
        get()
    assert len(site.requests) == 1
    assert f"{site.url}/file" in str(caught.value)
    assert f"save that file as {get.target}" in str(caught.value)
    assert not get.target.exists()


def test_follows_redirects(site, get):
    site.script["/file"] = [Answer(status=302, headers=(("Location", "/moved"),)) for _ in range(2)]
    site.files["/moved"] = BODY
    site.script["/moved"] = [Answer(cut=300_000)]
    get()
    assert is_whole(get)
    assert [path for path, _ in site.requests] == ["/file", "/moved", "/file", "/moved"]
    assert site.ranges()[-1] == "bytes=300000-"


def test_a_server_that_promises_too_much(site, get):
    site.always = Answer(length=len(BODY) + 1, ranges=False)
    with pytest.raises(DownloadError, match="ended after 1000000 of 1000001"):
        get()


@pytest.mark.parametrize("piece", ["bytes 5-999999/1000000", "bytes", "pages 3-4/5"])
def test_another_piece_than_the_one_asked_for(site, get, piece):
    site.script["/file"] = [Answer(cut=300_000), Answer(piece=piece)]
    get()
    assert is_whole(get)
    assert site.ranges() == [None, "bytes=300000-", None]


def test_a_whole_of_unknown_length(site, get):
    site.script["/file"] = [Answer(cut=300_000), Answer(piece="bytes 300000-999999/*")]
    get()
    assert is_whole(get)


@pytest.mark.parametrize("page", [b"<!DOCTYPE html><html>Please log in</html>", b"\n  <html>"])
def test_a_web_page_in_place_of_the_file(site, get, page):
    site.files["/file"] = page
    with pytest.raises(DownloadError, match="a web page in place of the file"):
        get()
    assert not list(get.target.parent.iterdir())


def test_a_wrong_file(site, get):
    site.script["/file"] = [Answer(body=BODY[:-1] + b"!")]
    right = hashlib.sha256(BODY).hexdigest()
    with pytest.raises(DownloadError, match=f"the right file has {right}"):
        get(sha256=right)
    assert not list(get.target.parent.iterdir())
    get(sha256=right)
    assert is_whole(get)


def test_content_that_will_not_do(get):
    def check(part):
        raise ValueError(f"{part.stat().st_size} bytes are too many")

    with pytest.raises(DownloadError, match="1000000 bytes are too many"):
        get(check=check)
    assert not list(get.target.parent.iterdir())


@pytest.mark.parametrize("suffix", [".xz", ".bz2", ".gz", ".zip"])
def test_not_the_packing_of_the_name(site, tmp_path, suffix):
    site.files["/file"] = b"1 1:1\n"
    with pytest.raises(DownloadError, match=f"not a {suffix} file"):
        download(site.url + "/file", tmp_path / f"file{suffix}", patience=HASTY)


def test_nobody_answers(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but it does not listen
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/file"
        with pytest.raises(DownloadError, match=r"given up after 3 tries.*refused"):
            download(url, tmp_path / "file", patience=HASTY)


def test_an_unknown_host_is_not_tried_again():
    assert not _passing(urllib.error.URLError(socket.gaierror(-2, "Name or service not known")))


def test_other_schemes_are_refused(tmp_path):
    (tmp_path / "source").write_bytes(BODY)
    with pytest.raises(DownloadError, match="only http and https"):
        download((tmp_path / "source").as_uri(), tmp_path / "file")


def test_no_room_for_the_file(site, tmp_path):
    site.files["/file"] = BODY
    (tmp_path / "file.part").mkdir()
    with pytest.raises(DownloadError, match=re.escape(str(tmp_path / "file"))):
        download(site.url + "/file", tmp_path / "file", patience=HASTY)


def test_killed_on_the_way(site, get):
    site.script["/file"] = [Answer(cut=600_000, stall=True)]
    process = subprocess.Popen([sys.executable, "-c", DOWNLOAD, site.url + "/file", str(get.target)])
    try:
        deadline = time.monotonic() + 120
        while not (get.part.exists() and get.part.stat().st_size == 600_000):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait()
    assert not get.target.exists()
    get()
    assert is_whole(get)
    assert site.ranges() == [None, "bytes=600000-"]
