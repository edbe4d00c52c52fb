"""Runners on other machines, in network namespaces, and a network that fails between them and the server: partitions of both
ways and of one, loss, resets, a narrow line, latency. A run notices nothing; what it says arrives once, when it can."""

import http.client
import os
import random
import socket
import subprocess
import sys
import time

import pytest

from harness import network, processes
from harness.campaign import Campaign
from harness.certificates import make_certificate
from harness.checker import check_events, check_files, check_machine, check_processes
from harness.client import make_submit, new_id
from harness.load import JOURNAL, METRIC
from harness.proxy import TcpProxy
from harness.server import Server
from harness.wait import wait_for

pytestmark = [pytest.mark.root, pytest.mark.skipif(not network.is_possible(), reason="needs network namespaces and iptables")]

MACHINES = 3
LINES = 60
TALK = f"{JOURNAL}; mkdir -p outputs; i=0; while [ $i -lt {LINES} ]; do echo line $i; i=$((i+1)); sleep 0.02; done; head -c 300000 /dev/zero > outputs/large"
WHOLE = b"".join(b"line %d\n" % i for i in range(LINES))
FAULTS = {
    "partition": lambda net, machine: net.partition(machine),
    "deaf": lambda net, machine: net.partition(machine, ["INPUT"]),
    "dumb": lambda net, machine: net.partition(machine, ["OUTPUT"]),
    "loss 10 %": lambda net, machine: net.lose(machine, 0.1),
    "loss 30 %": lambda net, machine: net.lose(machine, 0.3),
    "reset": lambda net, machine: net.reset(machine),
    "narrow": lambda net, machine: net.narrow(machine),
}


def free_port(address):
    with socket.create_server((address, 0)) as taken:
        return taken.getsockname()[1]


@pytest.fixture(scope="module")
def far(binary, tmp_path_factory):
    """(server, network): every runner is on one of three machines, and speaks TLS with the server."""
    with network.Network(MACHINES) as net:
        certificate, key = make_certificate(tmp_path_factory.mktemp("tls"), net.address)
        port = free_port(net.address)
        options = ["--listen", f"{net.address}:{port}", "--tls-cert", certificate, "--tls-key", key]
        with Server(options=options, config=net.launcher(port, certificate)) as server:
            server.far_port, server.far_certificate = port, certificate
            yield server, net


def submit(client, machine, mark, line=TALK, **fields):
    """A run on a machine of the test's choice: the launcher goes by the last digit of its id."""
    name = new_id("far")[:-1] + str(machine)
    return client.submit(line, id=name, environment={"variables": {"E2E_MARK": mark}}, **fields)


def check_whole(client, run):
    done = client.wait(run, "Completed", deadline=90)
    check_events(client, run)
    assert len(done["attempts"]) == 1 and client.log(run) == WHOLE
    assert client.file(run, "outputs/large").expect(200).body == bytes(300000)
    assert list(client.items(client.path("runs", run, "metrics"))) == [METRIC]


@pytest.mark.campaign
def test_a_network_that_fails_costs_no_run_anything(far, mark):
    """Each fault begins and ends at a random moment, on one machine after the other, and they heal in another order."""
    server, net = far
    campaign, client = Campaign("network", "LATHE_NETWORK_FAULTS", 7), server.client()
    for block in campaign.blocks(MACHINES):
        runs, kinds = [], list(FAULTS)
        for machine, (number, chance) in enumerate(block):
            runs.append(submit(client, machine, mark))
            wait_for(lambda: client.log(runs[-1]) or client.run(runs[-1])["ended"], 30, "the first line")
            FAULTS[kinds[number % len(kinds)]](net, machine)
            time.sleep(chance.uniform(0, 0.5))  # the moment of the fault, not a wait
        order = list(range(len(block)))
        random.Random(campaign.seed).shuffle(order)
        for machine in order:
            time.sleep(block[machine][1].uniform(0, 0.8))  # how long it lasts
            net.heal(machine)
        for run in runs:
            check_whole(client, run)
        campaign.add(runs=len(runs))
    check_processes(server.state, mark)
    check_machine(server, [])


@pytest.mark.parametrize("ways", [["INPUT", "OUTPUT"], ["INPUT"], ["OUTPUT"]], ids=["both", "deaf", "dumb"])
def test_a_cancel_behind_a_partition_is_kept_and_obeyed(far, mark, ways):
    server, net = far
    client = server.client()
    run = submit(client, 0, mark, "trap 'mkdir -p outputs; echo saved > outputs/checkpoint; exit 0' TERM; echo up; while :; do sleep 0.05; done")
    wait_for(lambda: client.log(run), 30, "the first line")
    net.partition(0, ways)
    try:
        client.cancel(run).expect(200, 202)
        time.sleep(1)  # how long it lasts
    finally:
        net.heal(0)
    client.wait(run, "Canceled", deadline=90)
    assert client.file(run, "outputs/checkpoint").expect(200).body == b"saved\n"


def test_a_script_that_ends_behind_a_partition_is_delivered_when_it_heals(far, mark):
    server, net = far
    client = server.client()
    run = submit(client, 1, mark)
    wait_for(lambda: client.log(run), 30, "the first line")
    net.partition(1)
    try:
        wait_for(lambda: not processes.with_environment("E2E_MARK", mark), 30, "the end of the script")
        assert client.run(run)["ended"] is None
        server.kill()
        server.start()
    finally:
        net.heal(1)
    check_whole(client, run)


def connections(port):
    """Established connections of the server with other machines, as its kernel sees them."""
    wanted = f"{port:04X}"
    rows = [line.split() for line in open("/proc/net/tcp").readlines()[1:]]
    return [row[2] for row in rows if row[1].endswith(wanted) and row[3] == "01"]


# A follower of events on another machine, which knows the server by its certificate.
FOLLOWER = """
import http.client, ssl, sys
host, port, cafile, token = sys.argv[1:]
connection = http.client.HTTPSConnection(host, int(port), context=ssl.create_default_context(cafile=cafile))
connection.request("GET", "/api/v1/workspaces/default/events", headers={"Authorization": "Bearer " + token})
answer = connection.getresponse()
print(answer.status, flush=True)
while answer.read1(65536): pass
"""


@pytest.mark.skipif("LATHE_LONG" not in os.environ, reason="takes minutes; LATHE_LONG=1, as ./test.sh --all sets it")
def test_half_open_connections_of_a_machine_that_vanished_end(far):
    """Its network and its process are gone in the same moment, so that nobody says a last word."""
    server, net = far
    before = len(connections(server.far_port))
    words = ["ip", "netns", "exec", net.space(2), sys.executable, "-c", FOLLOWER, net.address, server.far_port, server.far_certificate]
    follower = subprocess.Popen([*map(str, words), server.token], stdout=subprocess.PIPE)
    try:
        assert follower.stdout.readline() == b"200\n"
        assert len(connections(server.far_port)) > before
        net.partition(2)
    finally:
        follower.kill()
        follower.wait()
    try:
        wait_for(lambda: len(connections(server.far_port)) <= before, 180, "the end of half-open connections", every=0.5)
    finally:
        net.heal(2)


@pytest.mark.campaign
def test_latency_and_broken_connections_between_client_and_server_cost_nothing(server, mark):
    """A proxy of our own, because not every kernel can delay: late pieces, and connections that end after some bytes."""
    port = int(server.discovery()["url"].rpartition(":")[2].strip("/"))
    count = int(os.environ.get("LATHE_NETWORK_FAULTS", 7))
    for number in range(count):
        late = number % 2 == 0
        delay = (lambda chance: chance.expovariate(100)) if late else (lambda chance: 0)
        cut = (lambda chance: None) if late else (lambda chance: chance.randint(0, 2000) if chance.random() < 0.5 else None)
        with TcpProxy(("127.0.0.1", port), delay=delay, cut=cut, seed=number) as proxy:
            client, body = server.tcp_client(), make_submit(["/bin/echo", "late"], experiment="late")
            client.url, host = proxy.url, {"Host": f"127.0.0.1:{port}"}
            run = wait_for(lambda: answered(client, "POST", client.path("runs"), json_body=body, headers=host), 60, "a submit")
            assert run["id"] == body["id"]
            path = client.path("runs", run["id"])
            wait_for(lambda: (answered(client, "GET", path, headers=host) or {}).get("ended"), 60, "its end")
    stored = [run["id"] for run in server.client().items(server.client().path("runs"), experiment="late")]
    assert len(stored) == len(set(stored)) == count


def answered(client, *arguments, **options):
    """The JSON of a good answer; None when the connection broke."""
    try:
        answer = client.request(*arguments, **options)
        return answer.json() if answer.status in (200, 201) else None
    except (OSError, http.client.HTTPException, ValueError):
        return None


def test_the_machines_are_left_in_order(far):
    server, _ = far
    check_files(server)
    server.start()
