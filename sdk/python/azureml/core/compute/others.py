"""Compute targets of other kinds: their names, for imports and type checks. They come with later features."""

from azureml._internal.later import later_class

AksCompute = later_class("web services", "AksCompute")
RemoteCompute = later_class("remote machines", "RemoteCompute")
ComputeInstance = later_class("notebook servers", "ComputeInstance")
DsvmCompute = later_class("remote machines", "DsvmCompute")
BatchCompute = later_class("Slurm and Kubernetes", "BatchCompute")
DatabricksCompute = later_class("Spark", "DatabricksCompute")
HDInsightCompute = later_class("Spark", "HDInsightCompute")
KubernetesCompute = later_class("Slurm and Kubernetes", "KubernetesCompute")
