// Blobs and trees: asking what is missing, sending many at once, resuming a large one, and reading back. Who may see
// which is in blob_rights.h.
#include <optional>
#include <unordered_set>

#include "base/strings.h"
#include "cas/pack.h"
#include "cas/partial_uploads.h"
#include "cas/tree.h"
#include "server/endpoints.h"
#include "server/http_tools.h"
#include "server/trees.h"
#include "wire/json.h"

namespace lathe::server {

using base::Code;
using base::Digest;
using base::Error;
using net::Permission;
using net::Request;
using net::Response;
using rt::Task;
namespace json = boost::json;

namespace {

constexpr std::size_t kMaxDigestsAsked = 10'000;
constexpr std::size_t kFeedBytes = 512u << 10;
constexpr std::size_t kPackPiece = 128u << 10;
constexpr std::uint64_t kLargeBlob = 8u << 20;
constexpr std::uint64_t kNoLimit = UINT64_MAX;  // streamed to disk; the disk is the limit

Digest path_digest(const Request& request) {
  auto digest = Digest::parse(request.params.at("digest"));
  if (!digest) throw std::move(digest.error()).field("digest");
  return *digest;
}

std::vector<Digest> parse_digests(const std::vector<std::string>& texts) {
  if (texts.size() > kMaxDigestsAsked)
    throw Error(Code::too_large, fmt::format("{} digests in one question; at most {}", texts.size(), kMaxDigestsAsked))
        .field("digests");
  std::vector<Digest> digests;
  for (const auto& text : texts) {
    auto digest = Digest::parse(text);
    if (!digest) throw std::move(digest.error()).field("digests");
    digests.push_back(*digest);
  }
  return digests;
}

Task<Response> find_missing(Services& services, Request& request) {
  auto body = co_await json_body(request);
  std::vector<std::string> texts;
  std::optional<Digest> tree;
  wire::Fields fields(body);
  fields.need("digests").texts("digests", texts).digest("tree", tree);
  base::value_or_throw(fields.finish());
  auto digests = parse_digests(texts);
  auto& core = services.core;
  const auto& principal = request.principal;
  const bool sees_all = BlobRights::sees_all(principal);
  std::unordered_set<Digest> sent;
  if (!sees_all) sent = co_await services.rights.sent_among(principal, digests);
  json::array missing;
  json::object partial;
  co_await core.files.run(core.home, [&] {
    for (const auto& digest : digests) {
      if ((sees_all || sent.contains(digest)) && core.store.find(digest)) continue;
      missing.push_back(json::string(digest.hex()));
      auto size = services.uploads.length(BlobRights::upload_place(principal, digest));
      if (size > 0) partial[digest.hex()] = size;
    }
  });
  json::object answer{{"missing", std::move(missing)}, {"partial", std::move(partial)}};
  if (tree) {
    const bool may_name = co_await services.rights.may_name_tree(principal, *tree);
    answer["complete"] = may_name && !co_await services.trees.find_gap(*tree);
  }
  co_return json_response(answer);
}

// A large piece of the body in `piece`; false at the end.
Task<bool> read_piece(Request& request, std::string& piece) {
  piece.clear();
  while (piece.size() < kFeedBytes) {
    auto bytes = co_await request.body->read();
    if (bytes.empty()) break;
    piece.append(bytes);
  }
  co_return !piece.empty();
}

// Reads the body in large pieces and hands each to `take` on the pool, where one is stored while the next is read.
template <class Take>
Task<void> feed_body(Services& services, Request& request, Take take) {
  auto& core = services.core;
  // One piece is read while another is stored.
  const auto length = request.body->content_length().value_or(UINT64_MAX);
  co_await request.body->hold(std::min<std::uint64_t>(2 * kFeedBytes, length));
  std::string reading, storing;
  reading.reserve(kFeedBytes + 64 * 1024);
  std::exception_ptr failed;
  auto store = [&]() -> Task<void> {
    try {
      co_await core.files.run(core.home, [&] { take(std::string_view(storing)); });
    } catch (...) {
      failed = std::current_exception();
    }
  };
  rt::Scope scope;
  try {
    while (!failed && co_await read_piece(request, reading)) {
      if (scope.live() > 0) co_await scope.join();
      if (failed) break;
      services.desk.note_progress(request.principal);
      std::swap(reading, storing);
      scope.spawn("store a piece of a body", store());
    }
  } catch (...) {
    // Broken off: the piece on the pool is still ours to wait for.
    if (!failed) failed = std::current_exception();
  }
  if (scope.live() > 0) co_await scope.join();
  if (failed) std::rethrow_exception(failed);
}

// A run's results are never refused for the budget's sake.
Task<void> require_room(Services& services, const Request& request) {
  const auto role = request.principal.role;
  if (role != net::Role::run && role != net::Role::runner) co_await services.budget.require_room();
}

// Remembers what passes, so that it counts as sent.
class SentBlobs final : public cas::BlobSink {
 public:
  explicit SentBlobs(cas::BlobSink& sink) : sink_(sink) {}
  base::Result<void> begin(std::optional<Digest> expected) override { return sink_.begin(expected); }
  base::Result<void> write(std::string_view bytes) override { return sink_.write(bytes); }
  base::Result<cas::BlobInfo> finish() override {
    auto info = sink_.finish();
    if (info) digests.push_back(info->digest);
    return info;
  }
  std::vector<Digest> digests;

 private:
  cas::BlobSink& sink_;
};

Task<Response> put_pack(Services& services, Request& request) {
  services.core.reserve.require_room();
  auto& core = services.core;
  co_await require_room(services, request);
  auto batch = core.store.begin_batch();
  SentBlobs sent(*batch);
  cas::PackDecoder decoder(BlobRights::sees_all(request.principal) ? static_cast<cas::BlobSink&>(*batch) : sent);
  co_await feed_body(services, request, [&](std::string_view piece) { base::value_or_throw(decoder.feed(piece)); });
  auto summary = base::value_or_throw(decoder.finish());
  co_await core.files.run(core.home, [&] { base::value_or_throw(batch->commit()); });
  co_await services.rights.note_sent(request.principal, std::move(sent.digests));
  services.budget.count(summary.bytes);
  core.metrics.add("lathe_blobs_received_total", summary.blobs);
  core.metrics.add("lathe_blob_bytes_received_total", summary.bytes);
  co_return json_response({{"stored", summary.blobs}, {"bytes", summary.bytes}});
}

Response wrong_offset(const Error& error, std::uint64_t here) {
  auto response = Response::error(Error(error).field("offset").hint("go on at the offset that Lathe-Offset names"));
  response.headers["lathe-offset"] = fmt::format("{}", here);
  return response;
}

// The size of a blob that the caller need not send, since it is here and they have shown that they have it.
Task<std::optional<std::uint64_t>> find_known(Services& services, const Request& request, Digest digest) {
  auto& core = services.core;
  if (!BlobRights::sees_all(request.principal)) {
    const auto sent = co_await services.rights.sent_among(request.principal, std::vector<Digest>(1, digest));
    if (sent.empty()) co_return std::nullopt;
  }
  co_return co_await core.files.run(core.home, [&] { return core.store.find(digest); });
}

Task<Response> put_blob(Services& services, Request& request) {
  services.core.reserve.require_room();
  allow_query(request, {"offset", "size"});
  auto digest = path_digest(request);
  auto offset = static_cast<std::uint64_t>(query_integer(request, "offset", 0));
  require_query(request, "size");
  auto size = static_cast<std::uint64_t>(query_integer(request, "size", 0));
  auto& core = services.core;
  if (auto stored = co_await find_known(services, request, digest))
    co_return json_response({{"digest", digest.hex()}, {"size", *stored}}, 201);
  co_await require_room(services, request);
  const auto place = BlobRights::upload_place(request.principal, digest);
  auto upload = co_await core.files.run(
      core.home, [&] { return base::value_or_throw(services.uploads.open({digest, size}, place)); });
  if (offset != upload->length())
    co_return wrong_offset(
        Error(Code::conflict, fmt::format("the upload has {} bytes, not {}", upload->length(), offset)),
        upload->length());
  std::exception_ptr broken;
  try {
    co_await feed_body(services, request,
                       [&](std::string_view piece) { base::value_or_throw(upload->append(upload->length(), piece)); });
  } catch (...) {
    broken = std::current_exception();
  }
  // What has arrived is kept whatever happened to the connection, so that the next one can go on from there.
  co_await core.files.run(core.home, [&] { base::value_or_throw(upload->checkpoint()); });
  if (broken) std::rethrow_exception(broken);
  if (!upload->is_complete()) co_return json_response({{"offset", upload->length()}}, 202);
  auto info = co_await core.store_work.run([&] { return base::value_or_throw(upload->complete()); });  // hashes it
  co_await services.rights.note_sent(request.principal, std::vector<Digest>(1, digest));
  services.budget.count(info.size);
  co_return json_response({{"digest", info.digest.hex()}, {"size", info.size}}, 201);
}

Task<Response> get_blob(Services& services, Request& request) {
  allow_query(request, {"tree"});
  auto digest = path_digest(request);
  auto& core = services.core;
  co_await services.rights.require_blob(request, digest);
  auto blob = co_await core.store_work.open_blob(digest);
  auto range = requested_range(request, blob.size());
  Response response;
  describe_range(response, range, blob.size());
  response.headers["content-type"] = "application/octet-stream";
  response.headers["content-disposition"] = "attachment";
  response.headers["etag"] = "\"" + digest.hex() + "\"";
  response.body = net::FileBody{blob.release(), range.offset, range.length};
  co_return response;
}

// Made when first asked for and not at the commit: few blobs are ever read by the chunk, and a commit must not pay for
// it.
Task<Response> get_chunks(Services& services, Request& request) {
  allow_query(request, {"tree"});
  auto digest = path_digest(request);
  auto& core = services.core;
  co_await services.rights.require_blob(request, digest);
  auto index = co_await core.files.run(core.home, [&] { return base::value_or_throw(core.store.chunk_index(digest)); });
  json::array chunks;
  chunks.reserve(index.chunks.size());
  for (const auto& chunk : index.chunks) chunks.push_back(json::string(chunk.hex()));
  co_return json_response({{"digest", digest.hex()},
                           {"size", index.blob_size},
                           {"chunk_bytes", cas::ChunkIndex::kChunkBytes},
                           {"chunks", std::move(chunks)}});
}

Task<Response> get_tree(Services& services, Request& request) {
  allow_query(request, {});
  auto& core = services.core;
  auto digest = path_digest(request);
  co_await services.rights.require_manifest(request, digest);
  // Before it is opened, which hashes it.
  auto size = co_await core.files.run(core.home, [&] { return core.store.find(digest); });
  if (size && *size > cas::kMaxTreeBytes)
    throw Error(Code::too_large, fmt::format("a tree manifest of {}; at most {}", base::human_bytes(*size),
                                             base::human_bytes(cas::kMaxTreeBytes)));
  auto blob = co_await core.store_work.open_blob(digest);
  co_await services.trees.require_tree(digest, blob);
  Response response;
  response.headers["content-type"] = "application/octet-stream";
  response.may_be_packed = true;
  // From the file: a manifest of many megabytes in memory for each slow reader would add up.
  const auto length = blob.size();
  response.body = net::FileBody{blob.release(), 0, length};
  co_return response;
}

Task<Response> get_tree_pack(Services& services, Request& request) {
  allow_query(request, {});
  auto& core = services.core;
  const auto digest = path_digest(request);
  co_await services.rights.require_whole_tree(request, digest);
  auto blobs = co_await services.trees.blobs_of(digest);
  for (const auto& blob : *blobs)
    if (blob.size > kLargeBlob) co_await core.store_work.open_blob(blob.digest);  // hashed there, not while packing
  auto encoder = std::make_shared<cas::PackEncoder>(
      std::move(blobs), [&core](const cas::BlobInfo& info) { return core.store.open(info.digest); });
  Response response;
  response.headers["content-type"] = "application/octet-stream";
  response.may_be_packed = true;
  response.body = net::StreamBody([&core, encoder](net::BodyWriter& out) -> Task<void> {
    std::string piece(kPackPiece, '\0');
    for (;;) {
      auto got = co_await core.files.run(core.home, [&] { return base::value_or_throw(encoder->read(piece)); });
      if (got == 0) co_return;
      co_await out.write(std::string_view(piece).substr(0, got));
    }
  });
  co_return response;
}

}  // namespace

void add_blob_routes(net::Router& router, Services& services) {
  router.add({"POST", "/api/v1/blobs/missing", "findMissingBlobs", Permission::upload,
              endpoint(services, find_missing)});
  router.add({"POST", "/api/v1/blobs/pack", "putBlobPack", Permission::upload, endpoint(services, put_pack),
              kNoLimit});
  router.add({"PUT", "/api/v1/blobs/{digest}", "putBlob", Permission::upload, endpoint(services, put_blob),
              kNoLimit});
  router.add({"GET", "/api/v1/blobs/{digest}", "getBlob", Permission::read_or_runner, endpoint(services, get_blob)});
  router.add({"GET", "/api/v1/blobs/{digest}/chunks", "getBlobChunks", Permission::read_or_runner,
              endpoint(services, get_chunks)});
  router.add({"GET", "/api/v1/trees/{digest}", "getTree", Permission::read_or_runner, endpoint(services, get_tree)});
  router.add({"GET", "/api/v1/trees/{digest}/pack", "getTreePack", Permission::read_or_runner,
              endpoint(services, get_tree_pack)});
}

}  // namespace lathe::server
