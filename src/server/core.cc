#include "server/core.h"

#include "db/audit.h"

namespace lathe::server {

Caller caller_of(const net::Request& request) {
  return {request.principal.name, request.principal.token_id, request.remote};
}

void audit(db::Connection& connection, const Caller& caller, base::UtcTime at, std::string_view action,
           std::string_view object, std::string_view detail) {
  db::audit::append(connection, {0, at, caller.name, caller.token_id, caller.source, std::string(action),
                                 std::string(object), std::string(detail)});
}

}  // namespace lathe::server
