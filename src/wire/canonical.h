// Canonical JSON: keys in order at every depth, so that equal values give equal text, and a digest names a value.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

namespace lathe::wire {

std::string canonical_json(const boost::json::value& value);

// Of the definition of an environment: without the name and version that it is registered under, which change nothing
// about what is built.
std::string canonical_environment(boost::json::object definition);

}  // namespace lathe::wire
