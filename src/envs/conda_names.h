// Which conda packages PyPI has, too, and what a conda version means there (share/conda_names.yaml).
#pragma once

#include <optional>
#include <string>

#include "envs/spec.h"

namespace lathe::envs {

struct CondaOnPypi {
  std::string requirement;  // PEP 508; empty: every node has it, nothing is installed
};
// Nothing when it is a real conda package. One that names its channel is taken for that only where the channel is not
// one of the usual ones.
std::optional<CondaOnPypi> conda_on_pypi(const CondaPackage& package);

// "1.18" → "==1.18.*", "1.18.5" → "==1.18.5", ">=1,<2" as it is.
std::string pypi_version(std::string_view conda_version);

}  // namespace lathe::envs
