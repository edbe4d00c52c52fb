// ApiClient: the API as the command line uses it: bodies as text, answers ≥ 400 as errors, retries with back-off.
// Before the first answer a server that is away is an error at once; after it, trouble is retried for `patience`, and
// the server is located anew each time, so that a restart goes unnoticed. One per thread; interrupt() from any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/error.h"
#include "net/http_client.h"

namespace lathe::cli {

// "/api/v1/a/b", each part encoded.
std::string api_path(std::initializer_list<std::string_view> parts);

class ApiClient {
 public:
  using Locate = std::function<base::Result<net::ClientConfig>()>;
  using Exchange = std::function<base::Result<net::ClientResponse>(net::HttpClient&)>;

  explicit ApiClient(Locate locate) : locate_(std::move(locate)) {}

  // The body of the answer. Every call may be repeated after a broken connection: the API's changes are idempotent.
  base::Result<std::string> get(std::string_view target) { return send("GET", target); }
  base::Result<std::string> send(std::string_view method, std::string_view target, std::string_view json_body = {});
  // Any exchange, retried as a whole: it must be able to start again.
  base::Result<net::ClientResponse> exchange(const Exchange& exchange);
  // One try without retries, for streams that know where to go on.
  base::Result<net::ClientResponse> exchange_once(const Exchange& exchange);
  // Whether the server is reached over a Unix socket.
  base::Result<bool> is_local();
  // Sleeps before the n-th retry in a row (0, 1, …); Error(cancelled) when interrupted.
  base::Result<void> back_off(int retries);

  void be_patient() { patience_ = base::Duration::max(); }
  void interrupt();
  bool interrupted() const { return interrupted_; }

 private:
  base::Result<net::HttpClient*> connection();

  Locate locate_;
  std::unique_ptr<net::HttpClient> http_;
  bool answered_ = false;
  base::Duration patience_ = std::chrono::seconds(30);
  std::mutex mutex_;  // http_ against interrupt()
  std::condition_variable wake_;
  std::atomic<bool> interrupted_{false};
};

// Trouble of the transport, or a server that is stopping: worth another try.
bool is_passing(const base::Error& error);

}  // namespace lathe::cli
