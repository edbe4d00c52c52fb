// One event as clients see it: as JSON in lists, as a block of server-sent events in streams. Pure functions.
#pragma once

#include <boost/json.hpp>
#include <string>

#include "db/events.h"

namespace lathe::server {

boost::json::object event_json(const db::events::Event& event);
// "id: …\nevent: …\ndata: …\n\n"
std::string event_block(const db::events::Event& event);

}  // namespace lathe::server
