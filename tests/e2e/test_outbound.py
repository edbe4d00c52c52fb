"""Where definitions of environments may send the server: nowhere that a dataset may not."""

import contextlib
import socket
import threading

import pytest

from harness.builds import Builds, definition, site
from harness.environments import UV, Index


class Listener:
    """A service of the machine's own network that nobody should reach; counts who does."""

    def __init__(self, address):
        self.socket = socket.create_server((address, 0))
        self.port, self.heard = self.socket.getsockname()[1], []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self.socket.accept()
                with peer:
                    self.heard.append(peer.recv(4096))

    def close(self):
        self.socket.close()


@pytest.fixture
def listener():
    service = Listener("127.0.0.1")
    yield service
    service.close()


@pytest.fixture
def index(tmp_path):
    index = Index(tmp_path / "index")
    index.add("own", "1.0")
    yield index
    index.close()


@pytest.fixture
def server(make_server, tmp_path, index):
    return make_server(config=site(tmp_path / "cache", index=index.url)).start().prepare()


@pytest.mark.parametrize(
    "line",
    [
        "--extra-index-url http://127.0.0.1:{port}/latest/meta-data",
        "--index-url http://localhost:{port}/simple",
        "--find-links http://2130706433:{port}/",
        "x @ http://127.0.0.1:{port}/x-1.0-py3-none-any.whl",
        "git+http://127.1:{port}/repository@main",
        "--find-links file:///etc",
        "x @ file:///etc/x-1.0-py3-none-any.whl",
        "git+ssh://git@example.org/repository",
    ],
)
def test_a_definition_that_names_a_private_place_is_refused_at_once(server, listener, line):
    client = server.client()
    asked = definition(line.format(port=listener.port), "own")
    answer = client.post(client.path("environment-builds"), {"definition": asked})
    assert answer.status in (403, 422, 400), answer.body
    error = answer.json()
    assert error["field"] == "environment.definition.python.condaDependencies.dependencies.pip"
    assert error["hint"]
    assert not listener.heard


def test_a_name_that_means_a_private_address_is_refused_when_a_tool_goes_there(server):
    name = socket.gethostname()
    try:
        listener = Listener(socket.gethostbyname(name))
    except OSError:
        pytest.skip("this machine's name has no address")
    builds = Builds(server.client())
    build = builds.start(definition(f"x @ http://{name}:{listener.port}/x-1.0-py3-none-any.whl"))
    builds.wait(build["id"], "failed")
    listener.close()
    assert "may not be reached" in builds.log(build["id"]) and "hint: " in builds.log(build["id"])
    assert not listener.heard


def test_what_the_site_names_is_reached_through_the_way_out(server):
    builds = Builds(server.client())
    builds.make(definition("own"))


def test_a_site_may_allow_addresses(make_server, tmp_path, index):
    more = Index(tmp_path / "more")
    more.add("other", "1.0")
    try:
        config = site(tmp_path / "cache", index=index.url) | {"fetch": {"private": ["127.0.0.1"]}}
        builds = Builds(make_server(config=config).start().prepare().client())
        builds.make(definition(f"--extra-index-url {more.url}", "own", "other"))
    finally:
        more.close()


def test_tools_get_no_secrets_of_the_servers_environment(make_server, tmp_path, index):
    seen, program = tmp_path / "seen", tmp_path / "uv"
    program.write_text(f'#!/bin/sh\nenv >> {seen}\nexec {UV} "$@"\n')
    program.chmod(0o755)
    own = {"AWS_SECRET_ACCESS_KEY": "a-secret", "PIP_RETRIES": "2", "OURS": "1", "no_proxy": "*"}
    config = site(tmp_path / "cache", index=index.url, uv=str(program), variables=["OURS"])
    Builds(make_server(config=config, environment=own).start().prepare().client()).make(definition("own"))
    text = seen.read_text()
    assert "a-secret" not in text and "no_proxy" not in text
    assert "PIP_RETRIES=2" in text and "OURS=1" in text and "https_proxy=http://lathe:" in text
