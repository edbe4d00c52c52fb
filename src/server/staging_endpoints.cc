// The local shortcut of uploads: a client of the server's own user on the same machine puts its files into a folder of
// the store and only names them here. Over the Unix socket alone, where the kernel tells who asks.
#include <unistd.h>

#include "server/endpoints.h"
#include "server/http_tools.h"
#include "wire/json.h"

namespace lathe::server {

using base::Code;
using base::Error;
using net::Permission;
using net::Request;
using net::Response;
using rt::Task;
namespace json = boost::json;

namespace {

constexpr std::size_t kMaxBlobsAtOnce = 50'000;

// Who is us could write the store's files without asking; nobody else may, whatever their token.
void require_own_user(const Request& request) {
  if (request.peer_uid != ::geteuid())
    throw Error(Code::forbidden, "files are staged only over the Unix socket, by the user whose server this is")
        .hint("send them with /api/v1/blobs/pack");
}

std::vector<cas::BlobInfo> read_blobs(const json::value& value) {
  if (!value.is_object()) throw Error(Code::invalid, "blobs must be an object of digests and sizes").field("blobs");
  if (value.get_object().size() > kMaxBlobsAtOnce)
    throw Error(Code::too_large, fmt::format("at most {} blobs in one call", kMaxBlobsAtOnce)).field("blobs");
  std::vector<cas::BlobInfo> blobs;
  blobs.reserve(value.get_object().size());
  for (const auto& entry : value.get_object()) {
    auto digest = base::Digest::parse(entry.key());
    if (!digest) throw std::move(digest.error()).field("blobs");
    boost::system::error_code not_a_size;
    auto size = entry.value().to_number<std::uint64_t>(not_a_size);
    if (not_a_size || entry.value().is_double())
      throw Error(Code::invalid, "a size must be a whole number").field("blobs");
    blobs.push_back({*digest, size});
  }
  return blobs;
}

Task<Response> open_staging(Services& services, Request& request) {
  allow_query(request, {});
  require_own_user(request);
  auto& core = services.core;
  core.reserve.require_room();
  co_await services.budget.require_room();
  auto place = co_await core.files.run(core.home, [&] { return base::value_or_throw(services.staging.open()); });
  co_return json_response({{"staging", place.id}, {"path", place.path}}, 201);
}

Task<Response> commit_staged(Services& services, Request& request) {
  allow_query(request, {});
  require_own_user(request);
  auto& core = services.core;
  core.reserve.require_room();
  auto body = co_await json_body(request);
  wire::Fields fields(body);
  fields.need("blobs").ignore("blobs");
  base::value_or_throw(fields.finish());
  auto blobs = read_blobs(body.get_object().at("blobs"));
  auto stored = co_await core.files.run(
      core.home, [&] { return base::value_or_throw(services.staging.commit(request.params.at("staging"), blobs)); });
  std::vector<base::Digest> digests;
  for (const auto& blob : blobs) digests.push_back(blob.digest);
  co_await services.rights.note_sent(request.principal, std::move(digests));
  services.budget.count(stored.bytes);
  core.metrics.add("lathe_blobs_received_total", stored.blobs);
  core.metrics.add("lathe_blob_bytes_received_total", stored.bytes);
  co_return json_response({{"stored", stored.blobs}, {"bytes", stored.bytes}});
}

}  // namespace

void add_staging_routes(net::Router& router, Services& services) {
  router.add({"POST", "/api/v1/staging", "openStaging", Permission::write, endpoint(services, open_staging)});
  router.add({"POST", "/api/v1/staging/{staging}/commit", "commitStaged", Permission::write,
              endpoint(services, commit_staged)});
}

}  // namespace lathe::server
