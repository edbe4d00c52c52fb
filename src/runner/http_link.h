// HttpLink: a ServerLink over the REST interface (api/openapi.yaml, "attempts").
#pragma once

#include "net/http_client.h"
#include "runner/server_link.h"
#include "runner/spool.h"

namespace lathe::runner {

// A server that is silent for `patience` in the middle of an exchange is taken for gone, also while its wishes are
// waited for: it says something every few seconds there (net::kHeartbeat), so that a runner behind a broken network
// connects anew and hears of a cancel.
std::unique_ptr<ServerLink> make_http_link(const std::string& url, const SpoolHeader& header,
                                           const std::string& version, base::Duration patience = std::chrono::seconds(60));

}  // namespace lathe::runner
