// HttpLink: a ServerLink over the REST interface (api/openapi.yaml, "attempts").
#pragma once

#include "net/http_client.h"
#include "runner/server_link.h"
#include "runner/spool.h"

namespace lathe::runner {

std::unique_ptr<ServerLink> make_http_link(const std::string& url, const SpoolHeader& header,
                                           const std::string& version);

}  // namespace lathe::runner
