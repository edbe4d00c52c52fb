#include "runner/http_link.h"

#include <unistd.h>

#include <boost/json.hpp>

#include "base/strings.h"
#include "wire/records.h"

namespace lathe::runner {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kUploadPieceBytes = 64 << 20;

// A frame of the pack stream starts with digest and size; one of zeros ends it.
std::string frame_head(const base::Digest& digest, std::uint64_t size) {
  std::string head(reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size());
  for (int shift = 0; shift < 64; shift += 8) head += static_cast<char>(size >> shift & 0xFF);
  return head;
}

base::Result<json::object> to_object(const net::ClientResponse& response) {
  boost::system::error_code failed;
  json::value value = json::parse(response.body, failed);
  if (failed || !value.is_object()) return base::fail(base::Code::unavailable, "the server's answer is not JSON");
  return std::move(value.as_object());
}

std::uint64_t number(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (!value || !value->is_number()) return 0;
  boost::system::error_code failed;
  auto result = value->to_number<std::uint64_t>(failed);
  return failed ? 0 : result;
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

// NAME and path of a file below kOutputTop.
std::optional<std::pair<std::string, std::string>> output_of(std::string_view path) {
  if (!path.starts_with(kOutputTop)) return std::nullopt;
  path.remove_prefix(kOutputTop.size());
  if (!path.starts_with('/')) return std::nullopt;
  path.remove_prefix(1);
  const auto slash = path.find('/');
  if (slash == path.npos) return std::nullopt;
  return std::pair(std::string(path.substr(0, slash)), std::string(path.substr(slash + 1)));
}

base::Result<mount::NamedBlob> to_named(const json::value& item) {
  mount::NamedBlob out;
  const json::object* object = item.if_object();
  const json::value* path = object ? object->if_contains("path") : nullptr;
  const json::value* digest = object ? object->if_contains("digest") : nullptr;
  if (!path || !path->is_string()) return base::fail(base::Code::corrupt, "the server's answer lacks a name");
  out.path = path->as_string();
  out.blob.size = number(*object, "size");
  if (digest && digest->is_string()) {
    LATHE_TRY(out.blob.digest, base::Digest::parse(std::string_view(digest->as_string())));
    return out;
  }
  // A file of a folder of the server's machine.
  const json::value* modified = object->if_contains("modified");
  out.hashed = false;
  out.blob.digest = base::sha256(
      fmt::format("{}\n{}\n{}", out.path, out.blob.size,
                  modified && modified->is_string() ? std::string_view(modified->as_string()) : std::string_view()));
  return out;
}

class HttpLink : public ServerLink {
 public:
  HttpLink(const std::string& url, const SpoolHeader& header, std::string version, base::Duration patience)
      : client_({.url = url, .token = header.token, .ca_file = {}, .io_timeout = patience}),
        node_(header.node),
        version_(std::move(version)),
        prefix_(fmt::format("/api/v1/attempts/{}/{}", net::encode_segment(header.run), header.attempt)) {}

  base::Result<Order> claim() override {
    json::object body{{"node", node_}, {"runner_version", version_}, {"host", host_name()}, {"pid", ::getpid()}};
    LATHE_TRY(auto response, post("/claim", body));
    return wire::decode_order(response.body);
  }

  base::Result<void> watch(const std::function<bool(const Wish&)>& on_wish) override {
    std::string line;
    bool ended = false;
    auto sink = [&](std::string_view bytes) -> base::Result<void> {
      for (char c : bytes) {
        if (c != '\n') {
          line += c;
          continue;
        }
        if (auto wish = parse_wish(line); wish && !on_wish(*wish)) {
          ended = true;
          return base::fail(base::Code::cancelled, "heard enough");
        }
        line.clear();
      }
      return {};
    };
    auto response = client_.download(fmt::format("{}/watch?node={}", prefix_, node_), sink);
    if (ended) return {};
    return done(std::move(response));
  }

  base::Result<std::vector<SecretValue>> exchange_secrets(std::span<const std::string> hidden) override {
    LATHE_TRY(auto response,
              post("/secrets", {{"node", node_}, {"hidden", json::array(hidden.begin(), hidden.end())}}));
    LATHE_TRY(json::object object, to_object(response));
    const json::value* secrets = object.if_contains("secrets");
    std::vector<SecretValue> out;
    if (!secrets || !secrets->is_array()) return out;
    for (const auto& item : secrets->as_array()) {
      const json::value* id = item.is_object() ? item.as_object().if_contains("id") : nullptr;
      const json::value* value = item.is_object() ? item.as_object().if_contains("value") : nullptr;
      if (id && id->is_string() && value && value->is_string())
        out.push_back({std::string(id->as_string()), std::string(value->as_string())});
    }
    return out;
  }

  base::Result<std::vector<IndexCredential>> index_credentials() override {
    LATHE_TRY(auto response, good(client_.request("GET", prefix_ + "/index-credentials")));
    LATHE_TRY(json::object object, to_object(response));
    const json::value* credentials = object.if_contains("credentials");
    std::vector<IndexCredential> out;
    if (!credentials || !credentials->is_array()) return out;
    for (const auto& item : credentials->as_array()) {
      auto text = [&](const char* key) {
        const json::value* value = item.is_object() ? item.as_object().if_contains(key) : nullptr;
        return value && value->is_string() ? std::string(value->as_string()) : std::string();
      };
      out.push_back({text("name"), text("user"), text("password")});
    }
    return out;
  }

  base::Result<LogStand> log_stand(const std::string& name) override {
    LATHE_TRY(auto response, good(client_.request("GET", fmt::format("{}/logs?node={}", prefix_, node_))));
    LATHE_TRY(json::object object, to_object(response));
    const json::value* streams = object.if_contains("streams");
    const json::value* stream = streams && streams->is_object() ? streams->as_object().if_contains(name) : nullptr;
    if (!stream || !stream->is_object()) return LogStand{};
    const json::object& stand = stream->as_object();
    LogStand out{number(stand, "segment"), number(stand, "size")};
    const json::value* sealed = stand.if_contains("sealed_through");
    if (sealed && sealed->is_int64() && sealed->as_int64() >= static_cast<std::int64_t>(out.segment))
      out = {static_cast<std::uint64_t>(sealed->as_int64()) + 1, 0};
    return out;
  }

  base::Result<std::uint64_t> append_log(const LogPiece& piece) override {
    auto target = fmt::format("{}/logs?name={}&segment={}&offset={}&seal={}", prefix_, net::encode_segment(piece.name),
                              piece.segment, piece.offset, piece.seal);
    LATHE_TRY(auto response, good(client_.request("POST", target, piece.bytes, "application/octet-stream")));
    LATHE_TRY(json::object object, to_object(response));
    return number(object, "size");
  }

  base::Result<void> link_log(const LogNotice& notice) override {
    return done(
        post("/logs/linked",
             {{"name", notice.name}, {"segment", notice.segment}, {"size", notice.size}, {"seal", notice.seal}}));
  }

  base::Result<std::uint64_t> append_metrics(const MetricPiece& piece) override {
    auto target =
        fmt::format("{}/metrics?source={}&offset={}", prefix_, net::encode_segment(piece.source), piece.offset);
    LATHE_TRY(auto response, good(client_.request("POST", target, piece.lines, "application/x-ndjson")));
    LATHE_TRY(json::object object, to_object(response));
    return number(object, "offset");
  }

  base::Result<std::vector<base::Digest>> missing_blobs(std::span<const base::Digest> digests) override {
    json::array wanted;
    for (const auto& digest : digests) wanted.emplace_back(digest.hex());
    auto body = json::serialize(json::object{{"digests", std::move(wanted)}});
    LATHE_TRY(auto response, good(client_.request("POST", "/api/v1/blobs/missing", body)));
    LATHE_TRY(json::object object, to_object(response));
    std::vector<base::Digest> out;
    const json::value* missing = object.if_contains("missing");
    if (!missing || !missing->is_array())
      return base::fail(base::Code::unavailable, "the server's answer lacks the missing blobs");
    for (const auto& item : missing->as_array())
      if (item.is_string()) {
        LATHE_TRY(base::Digest digest, base::Digest::parse(std::string_view(item.as_string())));
        out.push_back(digest);
      }
    return out;
  }

  base::Result<void> upload_pack(std::span<const SmallBlob> blobs) override {
    std::string pack;
    for (const auto& blob : blobs) pack += frame_head(blob.digest, blob.bytes.size()) + blob.bytes;
    pack += frame_head({}, 0);
    return done(client_.request("POST", "/api/v1/blobs/pack", pack, "application/octet-stream"));
  }

  base::Result<void> upload_file(const base::Digest& digest, std::uint64_t size, int fd) override {
    // Starts at 0; a server that has some of it already answers where it stands.
    for (std::uint64_t offset = 0;;) {
      const std::uint64_t length = std::min(kUploadPieceBytes, size - offset);
      LATHE_TRY(auto response, send_piece(digest, size, offset, length, fd));
      if (auto stands = response.headers.find("lathe-offset");
          response.status == 409 && stands != response.headers.end()) {
        std::uint64_t there = base::parse_u64(stands->second).value_or(0);
        if (there > size || there == offset) return base::fail(response.error());
        offset = there;
        continue;
      }
      if (response.status >= 400) return base::fail(response.error());
      offset += length;
      if (response.status == 201 || offset >= size) return {};
    }
  }

  base::Result<void> put_artifacts(std::span<const Artifact> artifacts) override {
    json::array files, outputs;
    for (const auto& artifact : artifacts) {
      json::object file{{"digest", artifact.digest.hex()}, {"size", artifact.size}};
      if (auto named = output_of(artifact.path)) {
        file["output"] = named->first;
        file["path"] = named->second;
        outputs.push_back(std::move(file));
        continue;
      }
      file["path"] = artifact.path;
      file["executable"] = artifact.executable;
      files.push_back(std::move(file));
    }
    if (!outputs.empty()) LATHE_TRY_VOID(done(post("/outputs", {{"files", std::move(outputs)}})));
    if (files.empty()) return {};
    return done(post("/artifacts", {{"files", std::move(files)}}));
  }

  base::Result<void> add_notes(std::span<const std::string> notes) override {
    return done(post("/notes", {{"notes", json::array(notes.begin(), notes.end())}}));
  }

  base::Result<void> report_finalizing(const model::ExitRecord& exit) override {
    return done(post(fmt::format("/state?node={}", node_), {{"state", "finalizing"}, {"exit", wire::exit_json(exit)}}));
  }

  base::Result<void> finish(const FinishReport& report) override {
    json::object logs;
    if (report.log.size > 0)
      logs[report.log_name] = json::object{{"segments", report.log.segments}, {"size", report.log.size}};
    return done(post("/finish", {{"node", node_}, {"exit", wire::exit_json(report.exit)}, {"logs", std::move(logs)}}));
  }

  base::Result<std::string> fetch_tree(const base::Digest& digest) override {
    LATHE_TRY(auto response, good(client_.request("GET", fmt::format("/api/v1/trees/{}", digest.hex()))));
    return std::move(response.body);
  }

  base::Result<void> fetch_pack(const base::Digest& tree,
                                const std::function<base::Result<void>(std::string_view)>& sink) override {
    return done(client_.download(fmt::format("/api/v1/trees/{}/pack", tree.hex()), sink));
  }

  base::Result<std::string> fetch_range(const base::Digest& digest, std::uint64_t offset, std::uint64_t size) override {
    return fetch_part(fmt::format("/api/v1/blobs/{}", digest.hex()), offset, size);
  }

  base::Result<std::string> fetch_file_range(const DatastoreFile& file, std::uint64_t offset,
                                             std::uint64_t size) override {
    return fetch_part(
        fmt::format("/api/v1/workspaces/{}/datastores/{}/files/content?path={}", net::encode_segment(file.workspace),
                    net::encode_segment(file.datastore), net::encode_segment(file.path)),
        offset, size);
  }

  base::Result<cas::ChunkIndex> fetch_chunks(const base::Digest& digest) override {
    LATHE_TRY(auto response, good(client_.request("GET", fmt::format("/api/v1/blobs/{}/chunks", digest.hex()))));
    LATHE_TRY(json::object object, to_object(response));
    cas::ChunkIndex index;
    index.blob_size = number(object, "size");
    const json::value* chunks = object.if_contains("chunks");
    if (!chunks || !chunks->is_array() || number(object, "chunk_bytes") != cas::ChunkIndex::kChunkBytes)
      return base::fail(base::Code::corrupt, "the server's answer is not a chunk index");
    for (const auto& item : chunks->as_array()) {
      if (!item.is_string()) return base::fail(base::Code::corrupt, "the server's answer is not a chunk index");
      LATHE_TRY(base::Digest chunk, base::Digest::parse(std::string_view(item.as_string())));
      index.chunks.push_back(chunk);
    }
    return index;
  }

  base::Result<mount::NamePage> list_names(const NameQuery& query) override {
    auto target = fmt::format("/api/v1/workspaces/{}/datastores/{}/files?limit={}&prefix={}&after={}",
                              net::encode_segment(query.workspace), net::encode_segment(query.datastore), query.limit,
                              net::encode_segment(query.prefix), net::encode_segment(query.after));
    LATHE_TRY(auto response, good(client_.request("GET", target)));
    LATHE_TRY(json::object object, to_object(response));
    const json::value *items = object.if_contains("items"), *next = object.if_contains("next");
    if (!items || !items->is_array()) return base::fail(base::Code::unavailable, "the server's answer lacks its names");
    mount::NamePage page;
    for (const auto& item : items->as_array()) {
      LATHE_TRY(mount::NamedBlob file, to_named(item));
      page.files.push_back(std::move(file));
    }
    page.more = next && !next->is_null();
    return page;
  }

  void limit_waiting(base::Duration limit) override { client_.limit_waiting(limit); }
  void interrupt() override { client_.interrupt(); }

 private:
  base::Result<std::string> fetch_part(const std::string& target, std::uint64_t offset, std::uint64_t size) {
    net::Headers range{{"range", fmt::format("bytes={}-{}", offset, offset + size - 1)}};
    std::string bytes;
    bytes.reserve(size);
    auto sink = [&](std::string_view piece) -> base::Result<void> {
      if (piece.size() > size - bytes.size()) return base::fail(base::Code::corrupt, "more bytes came than asked for");
      bytes += piece;
      return {};
    };
    LATHE_TRY_VOID(done(client_.download(target, sink, range)));
    return bytes;
  }

  static base::Result<net::ClientResponse> good(base::Result<net::ClientResponse> response) {
    if (response && response->status >= 400) return base::fail(response->error());
    return response;
  }
  static base::Result<void> done(base::Result<net::ClientResponse> response) {
    LATHE_TRY_VOID(good(std::move(response)));
    return {};
  }

  base::Result<net::ClientResponse> post(std::string_view path, const json::object& body) {
    return good(client_.request("POST", prefix_ + std::string(path), json::serialize(body)));
  }

  // A line that is not ours to understand (a blank one that keeps the connection alive, a later version) says nothing.
  static std::optional<Wish> parse_wish(std::string_view line) {
    boost::system::error_code failed;
    json::value value = json::parse(line, failed);
    if (failed || !value.is_object()) return std::nullopt;
    const json::value* desired = value.as_object().if_contains("desired");
    const json::value* reason = value.as_object().if_contains("reason");
    if (!desired || !desired->is_string()) return std::nullopt;
    const json::value* secrets = value.as_object().if_contains("secrets");
    if (desired->as_string() != "stop") return Wish{std::nullopt, secrets && *secrets == json::value(true)};
    auto known = reason && reason->is_string() ? model::end_reason_from_name(std::string_view(reason->as_string()))
                                               : std::nullopt;
    return Wish{known.value_or(model::EndReason::canceled)};
  }

  base::Result<net::ClientResponse> send_piece(const base::Digest& digest, std::uint64_t size, std::uint64_t offset,
                                               std::uint64_t length, int fd) {
    std::uint64_t at = offset;
    auto source = [&](char* buffer, std::size_t room) -> base::Result<std::size_t> {
      ssize_t n = ::pread(fd, buffer, std::min<std::uint64_t>(room, offset + length - at), static_cast<off_t>(at));
      // corrupt, whatever the reason: it is about this file, not about the server, and waiting does not help
      if (n < 0)
        return base::fail(base::Code::corrupt, "{}", base::errno_error(errno, "reading a file to upload").message());
      if (n == 0 && at < offset + length) return base::fail(base::Code::corrupt, "the file became shorter");
      at += static_cast<std::uint64_t>(n);
      return static_cast<std::size_t>(n);
    };
    return client_.upload("PUT", fmt::format("/api/v1/blobs/{}?offset={}&size={}", digest.hex(), offset, size), length,
                          source, "application/octet-stream");
  }

  net::HttpClient client_;
  const int node_;
  const std::string version_;
  const std::string prefix_;
};

}  // namespace

std::unique_ptr<ServerLink> make_http_link(const std::string& url, const SpoolHeader& header,
                                           const std::string& version, base::Duration patience) {
  return std::make_unique<HttpLink>(url, header, version, patience);
}

}  // namespace lathe::runner
