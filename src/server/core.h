// Core: what the server's use cases share. A bundle of references, built once in server.cc; it owns nothing.
#pragma once

#include <string>

#include "base/time.h"
#include "cas/disk_store.h"
#include "cas/views.h"
#include "compute/provider.h"
#include "db/database.h"
#include "net/http.h"
#include "rt/clock.h"
#include "rt/loop.h"
#include "rt/pool.h"
#include "rt/scope.h"
#include "server/event_feed.h"
#include "server/metrics.h"
#include "server/reserve.h"
#include "server/site_config.h"
#include "server/store_work.h"

namespace lathe::server {

struct Core {
  rt::Loop& home;
  rt::BlockingPool& files;
  rt::Scope& scope;
  const rt::Clock& clock;
  db::Database& database;
  cas::DiskStore& store;
  StoreWork& store_work;
  cas::Views& views;
  compute::Provider& provider;
  const SiteConfig& site;
  Metrics& metrics;
  Reserve& reserve;
  EventFeed& events;  // notified after every commit that wrote event rows
};

// Who asks for a change, as the audit table wants it.
struct Caller {
  std::string name;
  std::int64_t token_id = 0;
  std::string source;
};
Caller caller_of(const net::Request& request);

// Appends the audit row of a change; inside the change's own transaction.
void audit(db::Connection& connection, const Caller& caller, base::UtcTime at, std::string_view action,
           std::string_view object, std::string_view detail = {});

}  // namespace lathe::server
