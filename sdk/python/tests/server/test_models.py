"""Models and environments."""

import os

import pytest

from azureml.core import Dataset, Environment, Model, Run
from azureml.core.resource_configuration import ResourceConfiguration
from azureml.exceptions import AzureMLException, ModelNotFoundException, ModelPathNotFoundException, UserErrorException

SCRIPT = """
import os
os.makedirs('outputs/model/variables')
open('outputs/model/saved_model.pb', 'w').write('graph')
open('outputs/model/variables/variables.index', 'w').write('index')
open('outputs/one.pkl', 'w').write('pickle')
"""


def test_a_folder_of_a_run(ws, run_script, surroundings):
    run = run_script(SCRIPT)
    resources = ResourceConfiguration(cpu=1, memory_in_gb=0.5)
    model = run.register_model(model_name="digits", model_path="./outputs/model", tags={"data": "mnist"},
                               model_framework=Model.Framework.CUSTOM, model_framework_version="2.0",
                               resource_configuration=resources)  # fmt: skip
    assert (model.name, model.version, model.id, model.run_id) == ("digits", 1, "digits:1", run.id)
    assert (model.model_framework, model.model_framework_version) == ("Custom", "2.0")
    assert (model.resource_configuration.cpu, model.resource_configuration.memory_in_gb) == (1, 0.5)
    again = run.register_model(model_name="digits", model_path="outputs/model", properties={"p": "q"})
    assert again.version == 2 and ws.models["digits"].version == 2
    path = model.download(target_dir="got", exist_ok=True)
    assert os.path.basename(path) == "model"
    assert (surroundings / path / "saved_model.pb").read_text() == "graph"
    with pytest.raises(AzureMLException, match="exist_ok"):
        model.download(target_dir="got")
    assert model.get_lineage()["run"]["snapshot"] == run.get_snapshot_id()
    assert [found.version for found in Model.list(ws, "digits", tags={"data": "mnist"})] == [1]
    assert [found.version for found in Model.list(ws, "digits", properties=[["p", "q"]])] == [2]
    assert {found.version for found in Model.list(ws, run_id=run.id)} == {1, 2}
    assert Model(ws, "digits", tags=["data"]).version == 1 and Model(ws, id="digits:2").version == 2


def test_a_file_and_a_folder_of_this_machine(ws, surroundings):
    (surroundings / "m" / "sub").mkdir(parents=True)
    (surroundings / "m" / "a.bin").write_text("A")
    (surroundings / "m" / "sub" / "b.bin").write_text("B")
    file = Model.register(ws, "m/a.bin", "from-file", description="d")
    folder = Model.register(workspace=ws, model_path="m", model_name="from-folder", tags={"x": 1})
    assert (surroundings / file.download("f")).read_text() == "A"
    assert (surroundings / folder.download("g") / "sub" / "b.bin").read_text() == "B"
    assert os.path.basename(folder.download("h")) == "m" and folder.tags == {"x": "1"}
    with pytest.raises(ModelPathNotFoundException):
        Model.register(ws, "nothing", "none")
    assert Model.get_model_path("from-file", _workspace=ws).endswith("azureml-models/from-file/1/a.bin")


def test_a_path_of_a_datastore_with_its_data(ws, surroundings):
    store = ws.get_default_datastore()
    (surroundings / "d").mkdir()
    (surroundings / "d" / "m.bin").write_text("M")
    store.upload("d", "models/d", overwrite=True, show_progress=False)
    data = Dataset.File.from_files((store, "models"))
    model = Model.register(ws, (store, "models/d"), "from-store", datasets=[("training", data)])
    assert (surroundings / model.download("s") / "m.bin").read_text() == "M"
    assert model.datasets["training"][0].id == data.id


def test_changing_and_deleting(ws, surroundings):
    (surroundings / "x.bin").write_text("X")
    model = Model.register(ws, "x.bin", "changing")
    model.add_tags({"a": "1", "b": "2"})
    model.update(tags={"b": "3"}, description="new")
    model.add_properties({"owner": "ann"})
    found = Model(ws, "changing")
    assert (found.tags, found.description, found.properties) == ({"b": "3"}, "new", {"owner": "ann"})
    with pytest.raises(AzureMLException):
        found.add_properties({"owner": "bob"})
    Model.register(ws, "x.bin", "changing")
    Model(ws, "changing", version=1).delete()
    assert [model.version for model in Model.list(ws, "changing")] == [2]
    with pytest.raises(ModelNotFoundException):
        Model(ws, "changing", version=1)
    with pytest.raises(ModelNotFoundException):
        Model(ws, "no-such-model")


def test_environments_are_kept_with_versions(ws, surroundings):
    env = Environment("kept")
    env.python.conda_dependencies.add_pip_package("numpy==1.18.5")
    assert env.register(ws).version == "1"
    assert env.register(ws).version == "1"
    env.python.conda_dependencies.add_pip_package("scipy")
    assert env.register(ws).version == "2"
    assert "scipy" not in Environment.get(ws, "kept", version="1").python.conda_dependencies.serialize_to_string()
    with pytest.raises(UserErrorException, match="reserved"):
        Environment("AzureML-own").register(ws)
    with pytest.raises(UserErrorException, match="no-such"):
        Environment.get(ws, "no-such")


def test_curated_environments_can_be_saved_and_cloned(ws, surroundings):
    curated = Environment.get(workspace=ws, name="AzureML-TensorFlow-2.2-GPU")
    curated.save_to_directory(path="saved")
    text = (surroundings / "saved" / "conda_dependencies.yml").read_text()
    assert "tensorflow" in text and "horovod" in text
    assert Environment.load_from_directory("saved").name == "AzureML-TensorFlow-2.2-GPU"
    clone = curated.clone("own-tensorflow")
    clone.python.conda_dependencies.add_pip_package("colorama==0.4.4")
    assert "colorama" not in curated.python.conda_dependencies.serialize_to_string()
    assert clone.register(ws).name == "own-tensorflow"
    assert {"AzureML-Minimal", "own-tensorflow"} <= set(ws.environments)


def test_a_run_registers_a_model_itself(run_script, ws):
    run = run_script("""
        from azureml.core import Run
        run = Run.get_context()
        open('w.txt', 'w').write('w')
        run.upload_file('outputs/w.txt', 'w.txt')
        print(run.register_model('from-script', 'outputs/w.txt').version)
        """)
    assert run._read_text("azureml-logs/70_driver_log.txt") == "1\n"
    assert Model(ws, "from-script").run_id == run.id
    assert isinstance(Model(ws, "from-script").run, Run)
