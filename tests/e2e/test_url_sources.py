"""Datasets of URLs: fetched once, revalidated, resumed; every way in which a server lies is a clear error."""

import gzip
import json
import random
import ssl
import subprocess
import threading

import pytest

from harness import liar
from harness.blobs import digest
from harness.liar import BODY, Liar
from harness.registry import materialize, save_dataset, tree_entries
from harness.server import Server
from harness.wait import wait_for

LOOPBACK = {"fetch": {"private": ["127.0.0.0/8"]}}


@pytest.fixture(scope="module")
def server(binary):
    with Server(config=LOOPBACK, environment={"http_proxy": "", "https_proxy": "", "no_proxy": ""}) as server:
        yield server.prepare()


def fetch(client, *urls, timeout=60):
    return materialize(client, save_dataset(client, *({"url": url} for url in urls)), timeout)


def check_refused(answer, url, status, word):
    error = answer.expect(status).json()
    assert url in error["message"] and word in error["message"], error
    assert error["hint"] and error["field"] == "url", error


def test_a_url_is_fetched_once_and_then_only_revalidated(client):
    with Liar({"/a/b.bin": liar.honest(BODY)}) as web:
        made = fetch(client, f"{web.url}/a/b.bin").expect(200).json()
        assert made["sources"] == [
            {"url": f"{web.url}/a/b.bin", "etag": liar.etag_of(BODY), "digest": digest(BODY), "size": len(BODY)}
        ]
        path = f"http/127.0.0.1:{web.port}/a/b.bin"
        assert tree_entries(client, made["tree"]) == {path: (digest(BODY), len(BODY))}
        assert fetch(client, f"{web.url}/a/b.bin").expect(200).json() == made
        assert [call.headers.get("if-none-match") for call in web.requests] == [None, liar.etag_of(BODY)]
    assert client.get(f"/api/v1/blobs/{digest(BODY)}").expect(200).body == BODY


def test_changed_content_is_seen(client):
    with Liar({"/c": liar.changing(b"one", b"two two")}) as web:
        first, second = (fetch(client, f"{web.url}/c").expect(200).json() for _ in range(2))
        assert first["sources"][0]["digest"] == digest(b"one")
        assert second["sources"][0]["digest"] == digest(b"two two") and first["tree"] != second["tree"]


def test_a_server_without_validators_is_asked_again(client):
    with Liar({"/n": liar.honest(b"plain", etag=False)}) as web:
        assert fetch(client, f"{web.url}/n").expect(200).json() == fetch(client, f"{web.url}/n").expect(200).json()
        assert len(web.requests) == 2


def test_a_status_that_is_no_success(client):
    with Liar({"/gone": liar.status("404 Not Found"), "/down": liar.status("503 Busy")}) as web:
        check_refused(fetch(client, f"{web.url}/gone"), f"{web.url}/gone", 502, "404")
        assert len(web.seen("/gone")) == 1, "what is not there is not asked for again"
        check_refused(fetch(client, f"{web.url}/down"), f"{web.url}/down", 502, "503")
        assert len(web.seen("/down")) > 1


def test_a_body_that_breaks_off(client):
    with Liar({"/cut": liar.truncated(BODY, 1000)}) as web:
        check_refused(fetch(client, f"{web.url}/cut"), f"{web.url}/cut", 422, "broke off")


def test_a_broken_transfer_goes_on_where_it_stopped(client):
    body = b"resume" + BODY
    with Liar({"/resumed": liar.truncated(body, 500_000, then=liar.honest(body))}) as web:
        made = fetch(client, f"{web.url}/resumed").expect(200).json()
        assert made["sources"][0]["digest"] == digest(body)
        first, second = web.seen("/resumed")
        assert second.headers["range"] == "bytes=500000-" and second.headers["if-range"] == liar.etag_of(body)


def test_a_transfer_is_resumed_by_the_next_server(make_server):
    body, go = b"restart" + BODY, threading.Event()

    def handle(call):
        (liar.held(body, 600_000, go) if call.number == 0 else liar.honest(body))(call)

    server = make_server(config=LOOPBACK).start().prepare()
    client = server.client()
    with Liar({"/slow": handle}) as web:
        dataset = save_dataset(client, {"url": f"{web.url}/slow"})
        waiting = threading.Thread(target=lambda: pytest.raises(Exception, materialize, client, dataset))
        waiting.start()
        partial = server.state / "store" / "partial"

        def arrived():
            return sum(file.stat().st_size for file in partial.iterdir() if file.name.startswith("url-")) >= 600_000

        wait_for(arrived, 30, "the first part of the body")
        server.kill()
        go.set()
        waiting.join()
        server.start()
        assert materialize(client, dataset).expect(200).json()["sources"][0]["digest"] == digest(body)
        assert web.seen("/slow")[-1].headers["range"] == "bytes=600000-"
        assert [file for file in partial.iterdir() if file.name.startswith("url-")] == []


def test_a_resumed_body_that_changed_starts_anew(client):
    old, new = b"old" + BODY, b"new!" + BODY
    with Liar({"/moved": liar.truncated(old, 700_000, then=liar.honest(new))}) as web:
        assert fetch(client, f"{web.url}/moved").expect(200).json()["sources"][0]["digest"] == digest(new)


def test_redirects_are_followed_but_not_for_ever(client):
    handlers = {"/to": liar.honest(b"there"), "/from": liar.redirect("/to")}
    handlers |= {
        "/loop": liar.redirect("/pool"),
        "/pool": liar.redirect("/loop"),
        "/file": liar.redirect("file:///etc/passwd"),
    }
    with Liar(handlers) as web:
        made = fetch(client, f"{web.url}/from").expect(200).json()
        assert made["sources"][0]["digest"] == digest(b"there")
        assert list(tree_entries(client, made["tree"])) == [f"http/127.0.0.1:{web.port}/from"]
        check_refused(fetch(client, f"{web.url}/loop"), f"{web.url}/loop", 502, "redirects more than")
        fetch(client, f"{web.url}/file").expect(400, 422, 502)


def test_more_bytes_than_announced(client):
    with Liar({"/longer": liar.longer(b"exact")}) as web:
        check_refused(fetch(client, f"{web.url}/longer"), f"{web.url}/longer", 422, "more bytes")


@pytest.mark.parametrize("level", [0, 1, 6, 9])
def test_large_gzip_files_of_every_kind_are_taken(client, level):
    chance = random.Random(level)
    data = chance.randbytes(2 << 20) + b"many words many words\n" * 200_000 + bytes(1 << 20) + chance.randbytes(70_000)
    packed = gzip.compress(data, level)
    damaged = bytearray(packed)
    damaged[len(packed) // 2] ^= 1
    with Liar({"/good.gz": liar.honest(packed), "/bad.gz": liar.honest(bytes(damaged))}) as web:
        assert fetch(client, f"{web.url}/good.gz").expect(200).json()["sources"][0]["digest"] == digest(packed)
        fetch(client, f"{web.url}/bad.gz").expect(422)


def test_compression_that_lies_and_compression_that_does_not(client):
    packed = gzip.compress(b"real")
    handlers = {
        "/encoding": liar.lying_encoding(b"this is not gzip at all"),
        "/page.gz": liar.honest(b"<html>sign in</html>"),
        "/cut.gz": liar.honest(packed[:-3]),
        "/changed.gz": liar.honest(packed[:-8] + b"\0\0\0\0" + packed[-4:]),
        "/two.gz": liar.honest(packed + packed),
        "/good.gz": liar.honest(packed),
        "/encoded": liar.encoded(b"unpacked on the way"),
    }
    with Liar(handlers) as web:
        check_refused(fetch(client, f"{web.url}/encoding"), f"{web.url}/encoding", 422, "compressed")
        check_refused(fetch(client, f"{web.url}/page.gz"), f"{web.url}/page.gz", 422, "gzip")
        check_refused(fetch(client, f"{web.url}/cut.gz"), f"{web.url}/cut.gz", 422, "ends in the middle")
        check_refused(fetch(client, f"{web.url}/changed.gz"), f"{web.url}/changed.gz", 422, "checksum")
        fetch(client, f"{web.url}/two.gz").expect(200)
        assert fetch(client, f"{web.url}/good.gz").expect(200).json()["sources"][0]["digest"] == digest(packed)
        made = fetch(client, f"{web.url}/encoded").expect(200).json()
        assert made["sources"][0]["digest"] == digest(b"unpacked on the way")


def test_a_server_that_is_not_there(client):
    with Liar({}) as web:
        url = f"{web.url}/x"
    check_refused(fetch(client, url), url, 502, "could not be fetched")


def test_private_addresses_need_a_rule_of_the_site(make_server):
    client = make_server(environment={"http_proxy": ""}).start().prepare().client()
    with Liar({"/secret": liar.honest(b"metadata")}) as web:
        for url in (f"{web.url}/secret", f"http://localhost:{web.port}/secret"):
            refused = fetch(client, url).expect(403).json()
            assert "config.yaml" in refused["hint"]
        assert web.requests == []


def test_the_proxy_of_the_environment_is_used(make_server):
    with Liar({"/exdb/mnist/a.gz": liar.honest(gzip.compress(b"digits"))}) as proxy:
        client = make_server(environment={"http_proxy": proxy.url, "no_proxy": ""}).start().prepare().client()
        url = "http://mnist.invalid/exdb/mnist/a.gz"
        made = fetch(client, url).expect(200).json()
        assert proxy.requests[0].target == url
        assert list(tree_entries(client, made["tree"])) == ["http/mnist.invalid/exdb/mnist/a.gz"]


def test_no_proxy_is_honoured(make_server):
    with Liar({}) as proxy, Liar({"/direct": liar.honest(b"direct")}) as web:
        environment = {"http_proxy": proxy.url, "no_proxy": "example.org,127.0.0.1"}
        client = make_server(config=LOOPBACK, environment=environment).start().prepare().client()
        fetch(client, f"{web.url}/direct").expect(200)
        assert proxy.requests == [] and len(web.requests) == 1


def test_two_at_once_fetch_a_url_once(server, client):
    go = threading.Event()

    def handle(call):
        if call.number == 0:
            liar.held(b"shared" + BODY, 10, go)(call)
        else:
            liar.honest(b"shared" + BODY)(call)

    with Liar({"/shared": handle}) as web:
        dataset = save_dataset(client, {"url": f"{web.url}/shared"})
        answers = []
        threads = [
            threading.Thread(target=lambda: answers.append(materialize(server.client(), dataset))) for _ in range(4)
        ]
        [thread.start() for thread in threads]
        wait_for(lambda: web.seen("/shared"), 30, "the first request")
        go.set()
        [thread.join() for thread in threads]
        assert {answer.expect(200).json()["tree"] for answer in answers} == {answers[0].json()["tree"]}
        whole = [call for call in web.seen("/shared") if "if-none-match" not in call.headers]
        assert len(whole) == 1


def test_a_client_that_goes_away_ends_the_transfer(server, client):
    over = threading.Event()

    def handle(call):
        call.head("200 OK", Content_Length=1 << 40, ETag='"endless"')
        try:
            while True:
                call.send(bytes(65536))
        except OSError:
            over.set()

    with Liar({"/endless": handle}) as web:
        dataset = save_dataset(client, {"url": f"{web.url}/endless"})
        path = client.path("datasets", "by-id", dataset, "materialize")
        with client.open("POST", path, headers={"Accept": "application/x-ndjson"}) as response:
            while json.loads(response.readline())["progress"]["fetched_bytes"] == 0:
                pass
        assert over.wait(30), "the transfer goes on for nobody"
    client.get("/healthz").expect(200)


def test_a_server_that_stops_ends_its_transfers(make_server):
    go = threading.Event()
    server = make_server(config=LOOPBACK).start().prepare()
    client = server.client()
    with Liar({"/held": liar.held(BODY, 10, go)}) as web:
        dataset = save_dataset(client, {"url": f"{web.url}/held"})
        waiting = threading.Thread(
            target=lambda: pytest.raises(Exception, lambda: materialize(client, dataset).expect(200))
        )
        waiting.start()
        wait_for(lambda: web.seen("/held"), 30, "the transfer")
        server.stop()
        waiting.join()
        go.set()
        server.start()
        assert materialize(client, dataset).expect(200).json()["files"] == 1


def test_several_urls_are_fetched_side_by_side(client):
    """Each answers only when all four have been asked."""
    together = threading.Barrier(4, timeout=30)

    def handle(call):
        together.wait()
        liar.honest(call.target.encode())(call)

    paths = [f"/side/{i}" for i in range(4)]
    with Liar({path: handle for path in paths}) as web:
        made = fetch(client, *(web.url + path for path in paths)).expect(200).json()
        assert [source["digest"] for source in made["sources"]] == [digest(path.encode()) for path in paths]


def test_one_bad_url_among_good_ones_is_named(client):
    with Liar({"/good": liar.honest(b"good"), "/bad": liar.status("404 Not Found")}) as web:
        urls = [f"{web.url}/good", f"{web.url}/bad"]
        check_refused(fetch(client, *urls), urls[1], 502, "404")


def test_https_is_verified(make_server, tmp_path):
    """libcurl brings a TLS of its own beside the server's."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
    ]
    command += ["-subj", "/CN=liar", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    plain = {"https_proxy": "", "no_proxy": ""}
    trusting = make_server(config=LOOPBACK, environment=plain | {"SSL_CERT_FILE": str(certificate)}).start().prepare()
    stranger = make_server(config=LOOPBACK, environment=plain).start().prepare()
    with Liar({"/secure": liar.honest(BODY)}, tls=context) as web:
        made = fetch(trusting.client(), f"{web.url}/secure").expect(200).json()
        assert made["sources"][0]["digest"] == digest(BODY)
        check_refused(fetch(stranger.client(), f"{web.url}/secure"), f"{web.url}/secure", 502, "could not be fetched")
