// The lines of a conda file's `pip:` list and of requirement files: requirements and option lines, sorted into a Spec.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "envs/spec.h"

namespace lathe::envs {

// Takes one line; comments and empty lines are fine. `field` names the list in errors.
base::Result<void> take_pip_line(Spec& spec, std::string_view line, const std::string& field);

// The logical lines of a requirements file: continued lines joined, comments removed.
std::vector<std::string> requirement_lines(std::string_view text);

// "git+https://…", "./wheels/x.whl" or "name @ URL": not something an index knows by name.
bool is_direct_reference(std::string_view requirement);

}  // namespace lathe::envs
