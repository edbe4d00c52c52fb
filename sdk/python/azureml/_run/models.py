"""Registering what a run made as a model."""

from typing import Any, Dict, List, Optional

from azureml._run.part import RunPart


class RunModelsPart(RunPart):
    """A part of Run."""

    def register_model(
        self, model_name, model_path=None, tags=None, properties=None, model_framework=None,
        model_framework_version=None, description=None, datasets=None, sample_input_dataset=None,
        sample_output_dataset=None, resource_configuration=None, **kwargs
    ):  # fmt: skip
        # type: (str, Optional[str], Any, Any, Any, Any, Any, Optional[List[Any]], Any, Any, Any, Any) -> Any
        """Register a file or folder of the run as a model; its bytes are shared, not copied.

        Example: `model = run.register_model(model_name="tf-mnist", model_path="outputs/model")`
        """
        if kwargs:
            raise TypeError("register_model() got unexpected arguments: {}".format(", ".join(sorted(kwargs))))
        from azureml._models.register import register_from_run

        return register_from_run(
            self, model_name, model_path, tags=tags, properties=properties, framework=model_framework,
            framework_version=model_framework_version, description=description, datasets=datasets,
            sample_input_dataset=sample_input_dataset, sample_output_dataset=sample_output_dataset,
            resource_configuration=resource_configuration,
        )  # fmt: skip

    def _get_outputs_datapath(self) -> Any:
        """A DataPath over the run's outputs/, for `resume_from`."""
        from azureml.data.datapath import DataPath

        return DataPath(None, "outputs", run=self)

    def get_output(self, *_args: Any, **_kwargs: Any) -> Any:
        """Comes with AutoML."""
        from azureml._internal.later import not_yet

        raise not_yet("AutoML", "Run.get_output")

    def get_secret(self, name: str) -> Any:
        """A secret of the workspace. Example: `run.get_secret("db-password")`"""
        return self._experiment.workspace.get_default_keyvault().get_secret(name)

    def get_secrets(self, secrets: List[str]) -> Dict[str, Any]:
        """Several secrets. Example: `run.get_secrets(["a", "b"])`"""
        return self._experiment.workspace.get_default_keyvault().get_secrets(secrets)
