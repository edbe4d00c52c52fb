// Replacement: applies the substitution table to the requirements of a definition, and collects the dates of its pins.
#pragma once

#include <string>
#include <vector>

#include "envs/era.h"
#include "envs/pin_lookup.h"
#include "envs/python_finder.h"
#include "envs/settings.h"
#include "envs/substitutions.h"

namespace lathe::envs {

struct Replaced {
  std::vector<std::string> requirements;
  std::vector<Substitution> substitutions;
  std::vector<std::string> moved;  // names of pins that were moved to the nearest version
  std::vector<Pin> pins;
};

base::Result<Replaced> replace_packages(const Settings& settings, const Substitutions& table,
                                        const PythonChoice& python, const std::vector<std::string>& requirements,
                                        PinLookup& lookup);

// A rule that refuses the versions that were resolved, as an error.
base::Result<void> check_combination(const Settings& settings, const Substitutions& table,
                                     const std::vector<PylockPackage>& packages);

}  // namespace lathe::envs
