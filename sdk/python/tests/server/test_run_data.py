"""Data in and out of script runs: what a training script sees of datasets, data references and outputs."""

import pytest

from azureml.core import Dataset
from azureml.data import OutputFileDatasetConfig

SCRIPT = """
import argparse, glob, os, sys
from azureml.core import Run
parser = argparse.ArgumentParser()
for name in ("mounted", "copied", "reference", "whole", "one", "out"): parser.add_argument("--" + name)
args = parser.parse_args()
run = Run.get_context()
assert sorted(os.path.relpath(p, args.mounted) for p in glob.glob(args.mounted + "/**/*.csv", recursive=True)) == [
    "a.csv", "sub/b.csv"]
assert run.input_datasets["digits"] == args.mounted == os.environ["digits"]
assert open(os.path.join(args.copied, "a.csv")).read() == "1"
open(os.path.join(args.copied, "a.csv"), "a").write("changed here")
assert open(os.path.join(args.reference, "sub", "b.csv")).read() == "2"
assert open(os.path.join(args.whole, "runs-data", "a.csv")).read() == "1"
assert open(args.one).read() == "1"
try:
    open(os.path.join(args.mounted, "new"), "w")
except OSError as error:
    assert error.errno == 30, error
else:
    sys.exit("a mount was written")
open(os.path.join(args.out, "made.csv"), "w").write("made")
"""


@pytest.fixture
def store(ws, surroundings):
    folder = surroundings / "data"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.csv").write_text("1")
    (folder / "sub" / "b.csv").write_text("2")
    store = ws.get_default_datastore()
    store.upload(str(folder), "runs-data", overwrite=True, show_progress=False)
    return store


def test_a_script_reads_and_writes_its_data(ws, store, exp, config):
    digits = Dataset.File.from_files((store, "runs-data"))
    digits = digits.register(ws, "digits-of-runs", create_new_version=True)
    out = OutputFileDatasetConfig("made", (store, "made/{run-id}")).register_on_complete("made-by-runs")
    arguments = [
        "--mounted", digits.as_named_input("digits").as_mount(),
        "--copied", digits.as_named_input("own").as_download(),
        "--reference", store.path("runs-data").as_download(),
        "--whole", store.as_mount(),
        "--one", Dataset.File.from_files((store, "runs-data/a.csv")).as_named_input("one").as_mount(),
        "--out", out,
    ]  # fmt: skip
    run = exp.submit(config(SCRIPT, arguments=arguments))
    run.wait_for_completion()
    read = {item["consumptionDetails"]["inputName"]: item for item in run.get_details()["inputDatasets"]}
    assert set(read) == {"digits", "own", "one"} and read["digits"]["dataset"]["id"] == digits.id
    assert len(read["digits"]["digest"]) == 64 and read["digits"]["digest"] == read["own"]["digest"]
    assert (read["digits"]["consumptionDetails"]["mechanism"], read["own"]["consumptionDetails"]["mechanism"]) == (
        "Mount",
        "Download",
    )
    made = Dataset.get_by_name(ws, "made-by-runs")
    assert made.to_path() == ["/made.csv"]
