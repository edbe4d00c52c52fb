"""The names that scripts import, how they answer, and what importing costs."""

import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
import unittest

SDK = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAMES = {
    "azureml.core": "Workspace Experiment Run Dataset Environment ScriptRunConfig Model Webservice Datastore RunConfiguration "
    "ComputeTarget VERSION",
    "azureml.core.workspace": "Workspace",
    "azureml.core.run": "Run RUNNING_STATES get_run _OfflineRun",
    "azureml.core.dataset": "Dataset",
    "azureml.core.environment": "Environment CondaDependencies DEFAULT_GPU_IMAGE DEFAULT_CPU_IMAGE",
    "azureml.core.model": "Model InferenceConfig",
    "azureml.core.experiment": "Experiment",
    "azureml.core.datastore": "Datastore",
    "azureml.core.keyvault": "Keyvault",
    "azureml.core.authentication": "InteractiveLoginAuthentication ServicePrincipalAuthentication MsiAuthentication",
    "azureml.core.script_run_config": "ScriptRunConfig",
    "azureml.core.compute": "ComputeTarget AmlCompute AksCompute RemoteCompute ComputeInstance DsvmCompute",
    "azureml.core.compute_target": "ComputeTargetException",
    "azureml.core.conda_dependencies": "CondaDependencies",
    "azureml.core.runconfig": "CondaDependencies MpiConfiguration TensorflowConfiguration PyTorchConfiguration RunConfiguration "
    "DockerConfiguration DEFAULT_CPU_IMAGE ContainerRegistry DataReferenceConfiguration",
    "azureml.core.webservice": "Webservice AciWebservice AksWebservice LocalWebservice AksEndpoint",
    "azureml.core.image": "ContainerImage Image",
    "azureml.core.resource_configuration": "ResourceConfiguration",
    "azureml.data.datapath": "DataPathComputeBinding DataPath",
    "azureml.data.data_reference": "DataReference",
    "azureml.data.dataset_type_definitions": "PromoteHeadersBehavior",
    "azureml.data": "OutputFileDatasetConfig FileDataset TabularDataset",
    "azureml.train.dnn": "TensorFlow Mpi ParameterServer PyTorch Chainer Nccl Gloo",
    "azureml.train.estimator": "Estimator",
    "azureml.train.sklearn": "SKLearn",
    "azureml.train.hyperdrive": "HyperDriveConfig HyperDriveRunConfig HyperDriveRun RandomParameterSampling "
    "GridParameterSampling BayesianParameterSampling BanditPolicy MedianStoppingPolicy TruncationSelectionPolicy "
    "NoTerminationPolicy PrimaryMetricGoal choice uniform quniform loguniform qloguniform normal qnormal lognormal qlognormal "
    "randint",
    "azureml.train.hyperdrive.runconfig": "HyperDriveConfig HyperDriveRunConfig",
    "azureml.train.hyperdrive.sampling": "RandomParameterSampling",
    "azureml.train.hyperdrive.run": "HyperDriveRun",
    "azureml.train.hyperdrive.parameter_expressions": "choice",
    "azureml.train.hyperdrive.policy": "BanditPolicy",
    "azureml.widgets": "RunDetails",
    "azureml.telemetry": "set_diagnostics_collection",
    "azureml.opendatasets": "MNIST",
    "azureml.exceptions": "WebserviceException UserErrorException ActivityFailedException ComputeTargetException",
    "azureml.monitoring": "ModelDataCollector",
    "azureml.tensorboard": "Tensorboard",
}


def fresh(program):
    """What a new interpreter prints."""
    environment = dict(os.environ, PYTHONPATH=SDK)
    return subprocess.check_output([sys.executable, "-c", program], env=environment).decode().strip()


def supported():
    """(name, class or function) of everything that the reference lists and that is there already."""
    reference = importlib.import_module("make_reference")
    for module_name in reference.modules():
        module = importlib.import_module(module_name)
        for name in reference.public_names(module):
            kind = getattr(module, name)
            if not inspect.isclass(kind) or issubclass(kind, BaseException) or reference.is_later(kind):
                continue
            yield module_name + "." + name, kind
            for base in kind.__mro__:
                for inner, value in vars(base).items() if base.__module__.startswith("azureml") else ():
                    plain = getattr(value, "__func__", value)
                    promised = (inspect.getdoc(plain) or "").startswith(("Comes with", "Not offered"))
                    if inspect.isfunction(plain) and not inner.startswith("_") and not promised:
                        yield "{}.{}.{}".format(module_name, name, inner), plain


class Surface(unittest.TestCase):
    def test_every_name_resolves(self):
        for module, names in NAMES.items():
            for name in names.split():
                self.assertTrue(hasattr(importlib.import_module(module), name), "{}.{}".format(module, name))

    def test_later_features_answer_with_their_name(self):
        from azureml.core.webservice import AciWebservice
        from azureml.train.hyperdrive import HyperDriveConfig, PrimaryMetricGoal

        for call in (
            lambda: HyperDriveConfig(primary_metric_name="x"),
            lambda: AciWebservice.deploy_configuration(cpu_cores=1),
        ):
            with self.assertRaisesRegex(NotImplementedError, "HyperDrive|web services"):
                call()
        self.assertEqual(PrimaryMetricGoal.MAXIMIZE.value, "MAXIMIZE")

    def test_every_module_says_what_it_is(self):
        import lathe

        import azureml

        for package in (azureml, lathe):
            for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
                self.assertTrue(importlib.import_module(found.name).__doc__, found.name)

    def test_every_supported_class_and_method_has_an_example(self):
        missing = [name for name, value in supported() if "Example" not in (inspect.getdoc(value) or "")]
        self.assertEqual(sorted(set(missing)), [])

    def test_urllib_request_is_loaded_and_the_version_is_there(self):
        self.assertEqual(fresh("import urllib, azureml; print(urllib.request.urlopen.__name__)"), "urlopen")
        self.assertEqual(
            fresh("import azureml\nimport azureml.core\nprint(azureml.core.VERSION == azureml.data.__version__)"),
            "True",
        )

    def test_importing_the_core_loads_little(self):
        program = (
            "import sys, urllib.request, json; before = set(sys.modules); import azureml.core\n"
            "print(' '.join(sorted(set(sys.modules) - before)))"
        )
        loaded = set(fresh(program).split())
        own = {name for name in loaded if name.startswith(("azureml", "lathe"))}
        self.assertLessEqual({name.split(".")[0] for name in loaded - own}, {"importlib", "typing", "_typing", "types"})
        self.assertLess(len(own), 8, own)

    def test_telemetry_prints_and_does_nothing(self):
        self.assertEqual(
            fresh("from azureml.telemetry import set_diagnostics_collection as s; s(send_diagnostics=True)"),
            "Turning diagnostics collection on.",
        )


if __name__ == "__main__":
    unittest.main()
