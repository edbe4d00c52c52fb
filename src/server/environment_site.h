// EnvironmentSite: the site's rules and this server's SDK in the form that the library of environments wants.
// Immutable after its making, and safe from any thread; what says so blocks.
#pragma once

#include <memory>

#include "envs/cache.h"
#include "envs/settings.h"
#include "server/core.h"
#include "server/outbound_rules.h"
#include "wire/order.h"

namespace lathe::server {

class EnvironmentSite {
 public:
  explicit EnvironmentSite(Core& core);

  // For looking; builds have settings of their own.
  envs::Cache& cache() { return cache_; }
  // Blocking: puts the SDK's wheel into the cache where it is not there yet. Throws.
  envs::Settings for_locking() const;
  // The same with the SDK that the lock names, which may be that of an older server. Blocking; throws.
  envs::Settings for_lock(const envs::Lock& lock) const;
  // The lock itself, or, where it names an SDK that this server never had, with this server's own. Blocking.
  envs::Lock with_known_sdk(envs::Lock lock) const;
  // For one build: its tools reach the network through it alone, as far as they heed proxies; what is refused goes to
  // the log, which may be called by other threads until it is gone. Null where the site is offline.
  std::unique_ptr<net::ForwardProxy> open_way_out(envs::Settings& settings, const envs::LogSink& log) const;
  // The bytes of this server's SDK.
  static std::string_view sdk_bytes();
  // For a runner whose node does not have the environment.
  wire::RealiseOrder realise_order() const;

 private:
  envs::SdkWheel place_sdk(std::string_view bytes, const std::string& version) const;

  Core& core_;
  envs::Settings settings_;
  envs::Cache cache_;
  OutboundRules outbound_;
};

}  // namespace lathe::server
