"""A web page in somebody's browser cannot speak with the server: Host and Origin are checked on every request."""

import pytest

from harness.client import make_submit


@pytest.fixture
def tcp(server):
    return server.tcp_client()


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:80",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "0.0.0.0",
        "169.254.169.254",
        "[::2]",
        "a b",
        "",
    ],
)
def test_a_foreign_host_is_refused(tcp, host):
    for path in ("/healthz", "/api/v1/server"):
        answer = tcp.request("GET", path, headers={"Host": host})
        assert answer.status in (400, 403, 421), f"Host {host!r} on {path}: {answer.status}"


def test_hosts_of_this_machine_are_welcome(tcp):
    port = tcp.url.rpartition(":")[2].strip("/")
    for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
        tcp.request("GET", "/api/v1/server", headers={"Host": host}).expect(200)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "https://127.0.0.1.evil.example", "null", "file://", "http://localhost.evil.example"]
)
def test_a_foreign_origin_changes_nothing(tcp, origin):
    submit = make_submit("true")
    tcp.request("POST", tcp.path("runs"), json_body=submit, headers={"Origin": origin}).expect(403)
    tcp.get(tcp.path("runs", submit["id"])).expect(404)
    tcp.request("DELETE", tcp.path("runs", "absent_run"), headers={"Origin": origin}).expect(403)
    tcp.request("PUT", tcp.path("computes", "by-a-page"), json_body={}, headers={"Origin": origin}).expect(403)
    tcp.get(tcp.path("computes", "by-a-page")).expect(404)


def test_a_cross_site_request_is_refused(tcp):
    tcp.request("POST", tcp.path("runs"), json_body=make_submit("true"), headers={"Sec-Fetch-Site": "cross-site"}).expect(403)


def test_a_foreign_page_may_not_read_or_listen(tcp):
    for path in (tcp.path("events"), tcp.path("runs"), "/metrics"):
        with tcp.open("GET", path, headers={"Origin": "http://evil.example"}) as response:
            assert response.status == 403


def test_no_answer_invites_other_origins(tcp):
    for path in ("/healthz", "/api/v1/server"):
        answer = tcp.request("GET", path)
        assert not [name for name in answer.headers if name.startswith("access-control-")]
        assert answer.headers.get("x-content-type-options") == "nosniff"


def test_a_preflight_gets_no_permission(tcp):
    answer = tcp.request(
        "OPTIONS", tcp.path("runs"), headers={"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    )
    assert answer.status >= 400 and "access-control-allow-origin" not in answer.headers


def test_html_written_by_a_run_is_never_rendered(tcp):
    run = tcp.submit("mkdir -p outputs; echo '<script>alert(1)</script>' | tee outputs/page.html")
    tcp.wait(run, "Completed")
    for answer in (tcp.file(run, "outputs/page.html").expect(200), tcp.get(tcp.path("runs", run, "logs")).expect(200)):
        assert answer.headers["content-type"].startswith("application/octet-stream")
        assert answer.headers.get("x-content-type-options") == "nosniff"
    assert tcp.file(run, "outputs/page.html").headers["content-disposition"].startswith("attachment")


def test_a_file_name_cannot_inject_a_header(tcp):
    run = tcp.submit('mkdir -p outputs; echo x > "outputs/$(printf \'a\\r\\nSet-Cookie: b=c\\r\\n"d\')"')
    tcp.wait(run)
    for path in tcp.files(run):
        if path.startswith("outputs/"):
            assert "set-cookie" not in tcp.file(run, path).expect(200).headers
