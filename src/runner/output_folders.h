// Where the script writes what goes to datastores: one folder for each output, in the run folder beside ./outputs and
// ./logs, and uploaded as those are.
#pragma once

#include "launch/launcher.h"
#include "runner/server_link.h"

namespace lathe::runner {

// What is uploaded when the process has ended, and already while it runs. Relative to the run folder.
std::vector<std::string> kept_folders_of(const Order& order);
std::vector<std::string> live_folders_of(const Order& order);

// Makes the folders of the outputs; their paths for the process.
base::Result<launch::Variables> make_output_folders(const Order& order, const std::filesystem::path& run_folder);

}  // namespace lathe::runner
