"""The smallest whole example: a script becomes a run on this machine, logs a metric, writes a file, and both come back."""
import os
import tempfile

from azureml.core import Experiment, ScriptRunConfig, Workspace

SCRIPT = """
import math, os
from azureml.core import Run

run = Run.get_context()
estimate = 0.0
for step in range(1, 1001):
    estimate += (-1) ** (step + 1) * 4 / (2 * step - 1)
    if step % 100 == 0:
        run.log("error", abs(math.pi - estimate))
os.makedirs("outputs", exist_ok=True)
with open("outputs/pi.txt", "w") as file:
    file.write(str(estimate))
print("pi is about", estimate)
"""

ws = Workspace.from_config()
with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "estimate_pi.py"), "w") as file:
        file.write(SCRIPT)
    src = ScriptRunConfig(source_directory=folder, script="estimate_pi.py")
    src.run_config.environment.python.user_managed_dependencies = True  # this interpreter, which has the SDK
    run = Experiment(ws, "first-run").submit(src)
run.wait_for_completion(show_output=True)
print("errors:", run.get_metrics()["error"])
run.download_file("outputs/pi.txt")
