"""kill -9 of a runner at its N-th send, sync, rename or removal, in every way in which a run can end, as root and as an
ordinary user; and of the adopter that comes after it. Nothing that the script has said or saved is lost or doubled."""

import collections
import hashlib
import json
import os
import random
import shutil

import pytest

from harness import campaign, processes
from harness.checker import check_events, check_files, check_machine, check_processes
from harness.client import TERMINAL, make_submit, new_id
from harness.load import JOURNAL, METRIC
from harness.paths import SUPPORT
from harness.server import Server
from harness.wait import wait_for

pytestmark = [pytest.mark.campaign, pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")]

NOBODY = 65534
CALLS = ["sendto,sendmsg", "fsync,fdatasync,syncfs", "rename,renameat,renameat2", "unlink,unlinkat"]
FARTHEST = 60
# All of them in `./test.sh --all`; otherwise so many that are chosen by the seed.
POINTS = os.environ.get("LATHE_RUNNER_POINTS", "24")
# The link is a file that is not kept, and is named in the log by whoever delivers.
BEGIN = f"exec 2>/dev/null; echo >> $MEET/$AZUREML_RUN_ID.begun; mkdir -p outputs; echo early > outputs/early; ln -s /etc/passwd outputs/link; {JOURNAL}; echo early; echo >> $MEET/$AZUREML_RUN_ID.said; "
UNTIL_STOPPED = BEGIN + "trap 'echo saved > outputs/checkpoint; echo saved; exit 0' TERM; while :; do sleep 0.05; done"
# end → (shell line, further fields of the submit, status, reason of the attempt, what the script writes)
ENDS = {
    "success": (BEGIN + "sleep 0.3; echo over", {}, "Completed", "exited", b"early\nover\n"),
    "failure": (BEGIN + "sleep 0.3; echo over; exit 3", {}, "Failed", "exited", b"early\nover\n"),
    "cancel": (UNTIL_STOPPED, {}, "Canceled", "canceled", b"early\nsaved\n"),
    "time-out": (UNTIL_STOPPED, {"max_run_duration_seconds": 1}, "Failed", "timed-out", b"early\nsaved\n"),
    "preemption": (UNTIL_STOPPED, {"compute": "cheap"}, "Failed", "preempted", b"early\nsaved\n"),
}
WHOLE_MACHINE = {"cores": 4, "memory_gb": 4, "gpus": []}


class Point:
    """One run, the end that it is to come to, and the call at which its runner dies; the adopter's too, where there is one."""

    def __init__(self, end, calls, number, adopter=None):
        self.end, self.calls, self.number, self.adopter = end, calls, number, adopter
        self.line, self.fields, self.status, self.reason, self.output = ENDS[end]
        self.run = new_id("run")

    def __str__(self):
        return f"{self.run}: {self.end}, killed at {self.calls} number {self.number}, the adopter at {self.adopter}"

    def submit(self, client, meet, mark):
        (meet / self.run).write_text(f"{self.calls} {self.number}\n")
        variables = {"E2E_MARK": mark, "MEET": str(meet)}
        body = make_submit(self.line, id=self.run, grace_seconds=5, environment={"variables": variables}, **self.fields)
        answer = client.post(client.path("runs"), body).expect(201).json()
        self.task = f"{answer['sequence']}.1.0"
        if self.adopter:
            (meet / f"{self.task}.adopt").write_text(f"{self.adopter[0]} {self.adopter[1]}\n")

    def stop(self, client, meet):
        """Asks for the end that it is to come to, when its script has said something, or cannot any more."""
        wait_for(lambda: (meet / f"{self.run}.said").exists() or client.run(self.run)["ended"], 60, f"{self}: the script")
        if self.end == "cancel":
            client.cancel(self.run).expect(200, 202, 409)
        if self.end == "preemption":
            client.wait(client.submit("true", compute="dear"), "Completed", deadline=90)

    def killed(self, meet):
        return len((meet / f"{self.task}.starts").read_text().split()) > 1

    def killed_both(self, meet):
        """strace counts the calls of each process: the one that saves the rest of the log may have come to the same number."""
        calls = collections.Counter(line.split()[0] for line in (meet / f"{self.task}.calls").read_text().splitlines())
        return sum(count >= self.number for count in calls.values()) > 1

    def check(self, client, meet):
        done = client.wait(self.run, *TERMINAL, deadline=90)
        check_events(client, self.run)
        assert len(done["attempts"]) == 1, done["attempts"]
        self.check_log(client, meet)
        self.check_status(done, meet)
        begun = meet / f"{self.run}.begun"
        assert not begun.exists() or begun.read_text() == "\n", "the script was executed twice"

    def check_log(self, client, meet):
        lines = client.log(self.run).splitlines(keepends=True)
        own = [line for line in lines if line.startswith(b"[lathe: ")]
        said = b"".join(line for line in lines if line not in own)
        assert len(set(own)) == len(own), f"a line of ours is doubled: {own}"
        assert self.output.startswith(said), f"the log is {said!r}"
        if (meet / f"{self.run}.said").exists() and not self.killed_both(meet):
            assert b"early\n" in said, "what the script had written is lost"
        for word, file in ((b"early\n", "outputs/early"), (b"saved\n", "outputs/checkpoint")):
            assert word not in said or client.file(self.run, file).expect(200).body == word
        metrics = list(client.items(client.path("runs", self.run, "metrics")))
        assert metrics == [METRIC] or not said and metrics == [], metrics

    def check_status(self, done, meet):
        """As it was to end; or node-lost, where the runner died before it had written how the script ended."""
        record = exit_record(meet / f"{self.task}.exit")
        lost = done["attempts"][0]["reason"] == "node-lost"
        if done["status"] == "Failed" and "the first process of the box was killed" in done["error"]["message"]:
            return  # strace counts the messages of each process, and this one's were first
        assert not (lost and record), f"lost, although its exit record said {record}"
        assert done["status"] == self.status or (lost and done["status"] == "Failed"), f"{done['status']} {done['error']}"
        assert lost or done["attempts"][0]["reason"] == self.reason, done["attempts"]
        if self.end == "cancel" and (meet / f"{self.run}.said").exists():
            assert done["status"] == "Canceled" or not lost or self.number == 1, "a cancel that was acknowledged is lost"


def exit_record(file):
    """The exit record that an adopter found, if there was a whole one (docs/formats/spool.md)."""
    if not file.exists():
        return None
    line, _, rest = file.read_bytes().partition(b"\n")
    is_whole = rest.split(b"\n", 1)[0] == hashlib.sha256(line).hexdigest().encode()
    return json.loads(line)["reason"] if is_whole else None


@pytest.fixture(params=["root", "nobody"])
def rig(request, meeting_place):
    """(server, folder): a server whose runners die where files in the folder say."""
    if os.geteuid() != 0 and request.param == "nobody":
        pytest.skip("the tests are an ordinary user's already")
    local = {"launcher": [str(SUPPORT / "kill_at.sh"), str(meeting_place)], "machine": WHOLE_MACHINE, "enforce_memory": False}
    with Server(config={"providers": {"local": local}}, user=NOBODY if request.param == "nobody" else None) as server:
        client = server.client()
        for name, priority in (("cheap", "lowpriority"), ("dear", "dedicated")):
            client.put(client.path("computes", name), {"vm_size": "machine", "max_nodes": 1, "priority": priority}).expect(201)
        yield server, meeting_place


def go_through(rig, points, mark):
    """All at once, except preemptions, which need the machine for themselves."""
    server, meet = rig
    client = server.client()
    groups = [[point for point in points if point.end != "preemption"], *([point] for point in points if point.end == "preemption")]
    failures = []
    for group in groups:
        for point in group:
            point.submit(client, meet, mark)
        for point in group:
            point.stop(client, meet)
        for point in group:
            try:
                point.check(client, meet)
            except Exception as failure:
                failures.append(f"{point}\n    {failure!r}")
    assert not failures, "\n".join(failures)


def check_rest(rig, points, mark):
    server, _ = rig
    check_processes(server.state, mark)
    check_machine(server, [point.run for point in points])
    check_files(server)


def some_points(seed):
    chance = random.Random(seed)
    ends = [end for end in ENDS if end != "preemption"]
    found = []
    for number in range(int(POINTS) // 2):
        end = "preemption" if number % 6 == 5 else chance.choice(ends)
        adopter = (chance.choice(CALLS[:2]), chance.randint(1, 8)) if chance.random() < 0.3 else None
        found.append(Point(end, chance.choice([CALLS[0], *CALLS]), chance.randint(1, 14), adopter))
    return found


def test_a_runner_killed_anywhere_in_any_end_loses_nothing(mark, rig):
    if POINTS == "all":
        return all_points(rig, mark)
    seed = int(os.environ.get("LATHE_SEED", random.SystemRandom().randrange(2**31)))
    points = some_points(seed)
    campaign.say(f"runner kill points: {len(points)}, seed {seed}")
    go_through(rig, points, mark)
    killed = sum(point.killed(rig[1]) for point in points)
    check_rest(rig, points, mark)
    campaign.say(f"runner kill points: {killed} runners killed, nothing lost")


def all_points(rig, mark):
    """For every end and kind of call, every N until the runner lives through it."""
    points = []
    for end in ENDS:
        for calls in CALLS:
            for first in range(1, FARTHEST, 6):
                some = [Point(end, calls, first + number) for number in range(6)]
                go_through(rig, some, mark)
                points += some
                if not some[-1].killed(rig[1]):
                    break
            campaign.say(f"runner kill points: {end} at {calls} up to {points[-1].number}; {len(points)} in all")
    check_rest(rig, points, mark)


@pytest.mark.parametrize("end", ["success", "cancel"])
def test_a_runner_killed_at_each_of_its_last_sends_delivers_its_end(mark, rig, end):
    """The claim is behind it, the script is over: what is left are uploads, the end of the log, and the end itself."""
    points = [Point(end, CALLS[0], number) for number in range(2, 14)]
    go_through(rig, points, mark)
    assert sum(point.killed(rig[1]) for point in points) > 2, "the faults did not come about"
    check_rest(rig, points, mark)


def test_a_runner_killed_before_its_claim_is_sent_starts_again_in_the_same_attempt(mark, rig):
    server, meet = rig
    point = Point("success", CALLS[0], 1)
    point.submit(server.client(), meet, mark)
    done = server.client().wait(point.run, *TERMINAL, deadline=90)
    assert (done["status"], len(done["attempts"])) == ("Completed", 1), done["error"]
    assert (meet / f"{point.task}.starts").read_text().split() == ["--work", "--work"]
    wait_for(lambda: not processes.runners_of(server.state), 20, "the end of the runner")


def test_a_box_whose_first_process_is_killed_before_the_script_ends_its_run(mark, rig):
    """It has nothing to be adopted, and nobody would come to start it again: a run that waited for it would wait for ever."""
    points = [Point("success", "unlink,unlinkat", 2)]
    go_through(rig, points, mark)
    check_rest(rig, points, mark)
