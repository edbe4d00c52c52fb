"""Where the server listens: loopback and a Unix socket; anything else needs TLS."""

import os
import socket
import ssl
import subprocess

import pytest

from harness.client import Client
from harness.server import StartFailed


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """(certificate, key) for 127.0.0.1 and localhost."""
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=IP:127.0.0.1,DNS:localhost",
            "-keyout",
            folder / "key.pem",
            "-out",
            folder / "cert.pem",
        ],
        check=True,
        capture_output=True,
    )
    return folder / "cert.pem", folder / "key.pem"


def listeners(pid):
    """Local addresses of the TCP sockets that a process listens on, from /proc."""
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            link = os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            continue
        if link.startswith("socket:["):
            inodes.add(link[8:-1])
    found = []
    for name in ("tcp", "tcp6"):
        for line in open(f"/proc/{pid}/net/{name}").readlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                found.append(fields[1].rpartition(":")[0])
    return found


def test_by_default_only_loopback_is_listened_on(make_server):
    server = make_server().start()
    found = listeners(server.pid)
    assert found and set(found) <= {"0100007F", "00000000000000000000000001000000"}, found


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "*:0"])
def test_another_address_without_tls_is_refused(make_server, address):
    with pytest.raises(StartFailed) as refused:
        make_server(options=["--listen", address]).start()
    assert refused.value.code == 2 and "hint:" in refused.value.text
    assert "TLS" in refused.value.text or address.startswith("*")


def test_another_address_works_with_tls(make_server, certificate):
    cert, key = certificate
    server = make_server(options=["--listen", "0.0.0.0:0", "--tls-cert", cert, "--tls-key", key]).start()
    assert server.discovery()["url"].startswith("https://")
    assert "00000000" in listeners(server.pid)


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")  # an old version is what it offers on purpose
def test_tls_is_real(make_server, certificate):
    cert, key = certificate
    server = make_server(options=["--listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key]).start().prepare()
    url = server.discovery()["url"]
    trusted = Client(url, token=server.token, tls=ssl.create_default_context(cafile=cert))
    run = trusted.submit("echo over TLS")
    trusted.wait(run, "Completed")
    assert b"".join(trusted.follow(run)) == b"over TLS\n"
    with pytest.raises(ssl.SSLCertVerificationError):
        Client(url, token=server.token, tls=ssl.create_default_context()).get("/healthz")
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.load_verify_locations(cert)
    old.minimum_version, old.maximum_version = ssl.TLSVersion.MINIMUM_SUPPORTED, ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, OSError)):
        Client(url, token=server.token, tls=old).get("/healthz")


def test_plain_http_on_the_tls_port_is_not_served(make_server, certificate):
    cert, key = certificate
    server = make_server(options=["--listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key]).start()
    port = int(server.discovery()["url"].rpartition(":")[2].strip("/"))
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.sendall(f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        answer = connection.recv(1000)
    assert b"200 OK" not in answer


@pytest.mark.parametrize(
    "options",
    [
        ["--tls-cert", "/nonexistent", "--tls-key", "/nonexistent"],
        ["--tls-cert", "/etc/passwd", "--tls-key", "/etc/passwd"],
        ["--listen", "127.0.0.1"],
        ["--listen", "127.0.0.1:99999"],
        ["--listen", "no.such.host.invalid:0"],
    ],
    ids=str,
)
def test_a_wrong_address_or_certificate_is_a_clear_error(make_server, options):
    with pytest.raises(StartFailed) as refused:
        make_server(options=options).start()
    assert refused.value.code not in (0, -6, -11) and "hint:" in refused.value.text


def test_a_chosen_port_is_kept_and_a_taken_one_is_refused(make_server):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StartFailed) as refused:
            make_server(options=["--listen", f"127.0.0.1:{port}"]).start()
        assert str(port) in refused.value.text
    server = make_server(options=["--listen", f"127.0.0.1:{port}"]).start()
    assert server.discovery()["url"].rstrip("/").endswith(f":{port}")
