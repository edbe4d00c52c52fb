// The inputs and outputs of a run as they are typed, in the form of the API.
#pragma once

#include "cli/call.h"
#include "cli/json.h"

namespace lathe::cli {

inline constexpr Option kInputOption{.name = "input",
                                     .value = "NAME=DATASET[:VERSION][@MODE[:PATH]]",
                                     .help = "a registered dataset that the run reads",
                                     .repeated = true};
inline constexpr Option kReferenceOption{.name = "data-reference",
                                         .value = "NAME=DATASTORE:PATH[@MODE[:PATH]]",
                                         .help = "a file or folder of a datastore that the run reads",
                                         .repeated = true};
inline constexpr Option kOutputOption{.name = "output-to",
                                      .value = "NAME=DATASTORE[:PATH][@MODE]",
                                      .help = "a folder that the run writes and that goes to a datastore",
                                      .repeated = true};
inline constexpr Option kRegisterOption{.name = "register-output",
                                        .value = "NAME=DATASET",
                                        .help = "register that output as a version of a dataset on completion",
                                        .repeated = true};
inline constexpr Option kOverwriteOption{.name = "overwrite-outputs",
                                         .help = "replace files that were in the datastore before the run"};

// Adds `inputs` and `outputs` where some were typed; asks the server for the ids of datasets.
base::Result<void> add_run_data(Call& call, json::object& body);

}  // namespace lathe::cli
