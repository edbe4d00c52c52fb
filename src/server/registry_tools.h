// What the endpoints of datastores, datasets, models and environments share.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "wire/canonical.h"
#include "wire/json.h"

namespace lathe::server {

using wire::canonical_json;

// JSON that came out of the database, written by us.
boost::json::value stored_json(const std::string& text);
std::map<std::string, std::string> stored_map(const std::string& text);
std::string map_json(const std::map<std::string, std::string>& map);

// The field `key` of a body as an object that is kept as it is, at most 1 MiB; an empty one when it is absent.
boost::json::object free_object(wire::Fields& fields, const boost::json::value& body, std::string_view key);

// {"tags": {key: value or null}}: null takes a tag away. The result is checked.
void patch_tags(wire::Fields& fields, const boost::json::value& body, std::map<std::string, std::string>& tags);

void check(base::Result<void> result);  // throws it

// "8-4-4-4-12" made of the first bytes of a digest.
std::string uuid_of(std::string_view bytes);
// Throws invalid unless it has that form.
void check_uuid(std::string_view field, std::string_view text);
// ?version=N|latest → 0 for latest.
std::int64_t parse_version(const std::string& text);

}  // namespace lathe::server
