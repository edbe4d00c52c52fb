// Dataset definitions in JSON.
#pragma once

#include <boost/json/fwd.hpp>

#include "base/error.h"
#include "model/dataset.h"

namespace lathe::wire {

// Strict about kind, sources and the steps that choose files; other steps and all options belong to the SDK.
base::Result<model::DatasetDefinition> parse_dataset(const boost::json::value& definition);

}  // namespace lathe::wire
