#include "cli/api_client.h"

#include <algorithm>

namespace lathe::cli {
namespace {

base::Error interrupted_error() { return base::Error(base::Code::cancelled, "interrupted"); }

}  // namespace

std::string api_path(std::initializer_list<std::string_view> parts) {
  std::string out = "/api/v1";
  for (auto part : parts) out += "/" + net::encode_segment(part);
  return out;
}

bool is_passing(const base::Error& error) {
  return error.code() == base::Code::unavailable || error.code() == base::Code::timeout;
}

base::Result<net::HttpClient*> ApiClient::connection() {
  if (!http_) {
    LATHE_TRY(auto config, locate_());
    std::lock_guard lock(mutex_);
    http_ = std::make_unique<net::HttpClient>(std::move(config));
  }
  if (interrupted_) return base::fail(interrupted_error());
  return http_.get();
}

base::Result<bool> ApiClient::is_local() {
  LATHE_TRY(const net::HttpClient* http, connection());
  return http->is_local();
}

base::Result<net::ClientResponse> ApiClient::exchange_once(const Exchange& exchange) {
  LATHE_TRY(net::HttpClient * http, connection());
  auto response = exchange(*http);
  if (interrupted_) return base::fail(interrupted_error());
  if (!response) {
    // The next try finds the server where it is then.
    std::lock_guard lock(mutex_);
    http_.reset();
    return base::fail(std::move(response).error());
  }
  answered_ = true;
  if (response->status >= 400) return base::fail(response->error());
  return response;
}

base::Result<net::ClientResponse> ApiClient::exchange(const Exchange& exchange) {
  auto begun = std::chrono::steady_clock::now();
  for (int retries = 0;; ++retries) {
    auto response = exchange_once(exchange);
    if (response || !is_passing(response.error())) return response;
    if (!answered_ || std::chrono::steady_clock::now() - begun >= patience_) return response;
    LATHE_TRY_VOID(back_off(retries));
  }
}

base::Result<std::string> ApiClient::send(std::string_view method, std::string_view target,
                                          std::string_view json_body) {
  LATHE_TRY(auto response, exchange([&](net::HttpClient& http) { return http.request(method, target, json_body); }));
  return std::move(response.body);
}

base::Result<void> ApiClient::back_off(int retries) {
  auto pause = std::min(std::chrono::milliseconds(50) * (1 << std::min(retries, 6)), std::chrono::milliseconds(2000));
  std::unique_lock lock(mutex_);
  if (wake_.wait_for(lock, pause, [&] { return interrupted_.load(); })) return base::fail(interrupted_error());
  return {};
}

void ApiClient::interrupt() {
  std::lock_guard lock(mutex_);
  interrupted_ = true;
  if (http_) http_->interrupt();
  wake_.notify_all();
}

}  // namespace lathe::cli
