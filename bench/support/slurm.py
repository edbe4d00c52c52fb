"""A local Slurm from Debian's packages: munged, slurmctld and one slurmd per node in a folder of ours, on loopback only."""

import contextlib
import os
import socket
import subprocess

from . import peers
from .folder import bench_folder
from .server import wait_until

CONFIG = """
ClusterName=bench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
# As fast as it goes: no pause between scheduling passes, finished jobs soon forgotten, no limit on the queue.
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0,bf_interval=1
MinJobAge=2
MaxJobCount=20000
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Slurm:
    def __init__(self, folder, nodes, slots):
        self.folder, self.processes, self.nodes = folder, [], [f"n{index}" for index in range(nodes)]
        self.environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}
        for name in ("state", *(f"spool.{node}" for node in self.nodes)):
            (folder / name).mkdir()
        (folder / "munge.key").write_bytes(os.urandom(128))
        (folder / "munge.key").chmod(0o600)
        host = socket.gethostname()
        address = f"NodeAddr=127.0.0.1 NodeHostname={host} CPUs={slots} State=UNKNOWN"
        lines = "\n".join(f"NodeName={node} Port={free_port()} {address}" for node in self.nodes)
        config = CONFIG.format(folder=folder, host=host, user="root", controller_port=free_port(), nodes=lines)
        (folder / "slurm.conf").write_text(config)

    def spawn(self, program, *arguments):
        with open(self.folder / "daemons.out", "ab") as out:
            command = [peers.find(program), *map(str, arguments)]
            self.processes.append(subprocess.Popen(command, stdout=out, stderr=out, env=self.environment))

    def start(self):
        folder = self.folder
        files = {name: f"--{name}-file={folder}/munge.{name}" for name in ("key", "pid", "log", "seed")}
        self.spawn("munged", "--foreground", "--force", f"--socket={folder}/munge.socket", *files.values())
        wait_until((folder / "munge.socket").exists, 20, "munged answers")
        self.spawn("slurmctld", "-D", "-f", folder / "slurm.conf")
        for node in self.nodes:
            self.spawn("slurmd", "-D", "-N", node, "-f", folder / "slurm.conf")
        try:
            self.wait_idle()
        except SystemExit as error:
            raise SystemExit(f"{error}\n{(folder / 'daemons.out').read_text()[-2000:]}") from error
        return self

    def wait_idle(self):
        """A node that still cleans up after a job makes the next one wait; that is not what is measured."""
        states = lambda: set(self.text("sinfo", "-h", "-N", "-o", "%t").split())
        wait_until(lambda: states() == {"idle"}, 60, "the Slurm nodes are idle")

    def text(self, *command):
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60)
        return done.stdout

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def running_slurm(nodes, slots):
    """`slots`: how many jobs run at once on each node."""
    peers.need({"munged": "munge", "slurmctld": "slurm-wlm", "slurmd": "slurm-wlm", "srun": "slurm-wlm"})
    if os.geteuid() != 0:
        raise SystemExit("error: a local Slurm is started as root here\nhint: run this benchmark as root")
    with bench_folder() as folder:
        slurm = Slurm(folder, nodes, slots)
        try:
            yield slurm.start()
            slurm.wait_idle()  # a step that cannot report its end to the controller would wait for it for minutes
        finally:
            slurm.stop()
