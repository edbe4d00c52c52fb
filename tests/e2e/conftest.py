"""Fixtures: servers in their own state folders, and clients that speak with them."""

import contextlib
import os
import pathlib
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import campaign, meeting, paths, processes  # noqa: E402
from harness.attempt import HeldAttempt  # noqa: E402
from harness.client import new_id  # noqa: E402
from harness.server import Server, holding_config, isolated_config  # noqa: E402
from harness.tutorial import small_mnist, tutorial_site, ws  # noqa: E402, F401


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.get_closest_marker("last") is not None)
    if os.geteuid() != 0:
        for item in items:
            if item.get_closest_marker("root"):
                item.add_marker(pytest.mark.skip(reason="needs root"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """A failure shows the end of the server's log."""
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for name, value in getattr(item, "funcargs", {}).items():
            log = isinstance(value, Server) and value.state / "server.log"
            if log and log.exists():
                report.sections.append((f"server.log of {name}", "\n".join(log.read_text(errors="replace").splitlines()[-60:])))


@pytest.fixture(scope="session", autouse=True)
def visible_campaigns(request):
    """A campaign runs for minutes or hours: how far it is shows on the terminal although output is captured."""
    capture = request.config.pluginmanager.getplugin("capturemanager")

    def say(text):
        with capture.global_and_fixture_disabled():
            print(f"\n{text}", flush=True)

    campaign.say = say


@pytest.fixture(scope="session", autouse=True)
def binary(request):
    needs_server = any("test_contract" not in item.nodeid for item in request.session.items)
    if needs_server and not paths.BINARY.exists():
        pytest.exit(f"{paths.BINARY} does not exist; build it, or name another one in LATHE_BIN", returncode=3)
    return paths.BINARY


@pytest.fixture(scope="module")
def server(binary):
    """A server for the tests of one file."""
    with Server() as server:
        yield server


@pytest.fixture(scope="module", params=["plain", pytest.param("isolated", marks=pytest.mark.root)])
def any_server(request, binary):
    """As `server`, once with plain runners and once with runners in their own mount and network namespaces."""
    server = Server()
    if request.param == "isolated":
        server.write_config(isolated_config(server.state))
    with server:
        yield server


@pytest.fixture
def make_server(binary):
    """Makes servers of the test's own; all are closed at its end. They are not started yet."""
    made = []

    def make(*arguments, **options):
        made.append(Server(*arguments, **options))
        return made[-1]

    yield make
    for server in made:
        server.close()


class Holder:
    """A server whose runners never come: the test plays them."""

    def __init__(self, server, folder):
        self.server, self.folder, self.client = server, folder, server.client()
        # Held attempts keep their nodes, so there must be many.
        self.client.put(self.client.path("computes", "pool"), {"vm_size": "machine", "max_nodes": 64}).expect(200)

    def submit(self, **fields):
        """A new run and its first attempt, not claimed yet."""
        run = self.client.submit("true", **fields)
        return self.attempt(run)

    def attempt(self, run, number=1):
        return HeldAttempt(self.server, self.folder, run, number)


@pytest.fixture(scope="module")
def holder(binary):
    with tempfile.TemporaryDirectory(prefix="lathe-held-") as folder:
        with Server(config=holding_config(folder)) as server:
            yield Holder(server, pathlib.Path(folder))
        for pid in processes.with_environment("LATHE_HOLD", folder):
            processes.kill(pid)


class Folders:
    """As pytest's factory, with folders that runs see."""

    def __init__(self, stack):
        self.stack = stack

    def mktemp(self, _):
        return self.stack.enter_context(meeting.folder())


@pytest.fixture(scope="session")
def tmp_path_factory():
    with contextlib.ExitStack() as stack:
        yield Folders(stack)


@pytest.fixture
def tmp_path():
    """In place of pytest's own, which runs cannot see."""
    with meeting.folder() as folder:
        yield folder


@pytest.fixture
def meeting_place(tmp_path):
    """The name says that scripts of runs meet the test there."""
    return tmp_path


@pytest.fixture
def client(server):
    return server.client()


@pytest.fixture
def mark():
    """A value of the variable E2E_MARK by which a run's processes are found; none may be left."""
    value = new_id("mark")
    yield value
    left = processes.with_environment("E2E_MARK", value)
    for pid in left:
        processes.kill(pid)
    assert not left, f"processes left behind: {left}"
