"""Victims: the processes of Lathe around one run, found by their relation to each other, and chosen by chance. A run's
guard is whatever of our own program lives below its runner; how it is called does not matter."""

from . import processes
from .wait import wait_for

# Who dies together. "adopter": the runner first, and then each of the first two that would deliver what it left.
COMPANIES = (
    ("runner",),
    ("runner",),
    ("guard",),
    ("runner", "guard"),
    ("runner", "guard", "fork server"),
    ("runner", "guard", "fork server", "server"),
    ("fork server",),
    ("runner", "adopter"),
    ("runner", "guard", "adopter"),
    ("runner", "server"),
)


def runner_of(server, client, run):
    found = client.run(run)
    return processes.runner_of(server.state, f"{found['sequence']}.{found['attempt']}.0")


def kill_company(server, client, run, company):
    """Kills all of them in the same moment, as far as they are there; the server is started again. Whether one was killed."""
    runner = runner_of(server, client, run)
    found = [runner] if runner and "runner" in company else []
    if runner and "guard" in company:
        found += processes.helpers_of(runner)
    if "fork server" in company:
        found += processes.fork_servers_of(server.pid)
    if "server" in company:
        server.kill()
    for pid in found:
        processes.kill(pid)
    if "adopter" in company and runner:
        kill_adopters(server, client, run)
    if not server.is_up():
        server.start()
    return bool(found)


def kill_adopters(server, client, run, times=2):
    """Each of the first ones that come, as soon as it is seen; an adopter may also be done before it is seen."""
    folder = f"/{client.run(run)['sequence']}."
    killed = set()

    def look():
        for pid in processes.adopters_of(server.state):
            if pid not in killed and any(folder.encode() in word for word in processes.arguments(pid)):
                processes.kill(pid)
                killed.add(pid)
        return len(killed) >= times or client.run(run)["ended"] is not None

    wait_for(look, 30, f"adopters of {run}", every=0.002)
