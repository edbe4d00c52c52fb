// FakeServer: the server's side of a ServerLink for tests, kept in a folder, so that runners in processes of their own
// (which a test kills) talk to the same one. It can be away, lose the reply of a call after having done it, fence the
// attempt, or be unable to link; it keeps a journal of what it did. Every call holds one lock, as one transaction
// would.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "base/strings.h"
#include "runner/server_link.h"
#include "sys/fd.h"
#include "wire/records.h"

namespace lathe::runner {

class FakeServer {
 public:
  explicit FakeServer(std::filesystem::path root) : root_(std::move(root)) {
    for (const char* name : {"logs", "blobs", "artifacts", "switches", "lose", "metrics"})
      std::filesystem::create_directories(root_ / name);
  }

  void set_order(const Order& order) { write("order.json", wire::encode_order(order)); }
  void set_snapshot(const base::Digest& tree, const std::string& manifest, const std::string& pack) {
    write("blobs/" + tree.hex(), manifest);
    write(tree.hex() + ".pack", pack);
  }
  // "down", "down-for-<call>", "fenced", "no-links", "no-large-files"; "lose-log": at the next finish all but the first
  // byte of the log's first segment turns out to be lost.
  void turn_on(const std::string& name) { write("switches/" + name, ""); }
  void turn_off(const std::string& name) { std::filesystem::remove(root_ / "switches" / name); }
  bool is_on(const std::string& name) const { return std::filesystem::exists(root_ / "switches" / name); }
  void ask_stop(model::EndReason reason) { write("desired", std::string(model::end_reason_name(reason))); }
  // The script asks for a secret; is_hidden() when it would be given to it.
  void show_secret(const std::string& value) {
    write("secret-value", value);
    write("secret-id", base::sha256(value).hex());
  }
  bool is_hidden() const { return !read("secret-id").empty() && read("secret-id") == read("secret-hidden"); }
  // A store that has lost a blob after it was acknowledged.
  void lose_blob(const std::string& bytes) { std::filesystem::remove(root_ / "blobs" / base::sha256(bytes).hex()); }
  // The process that makes the n-th call from now is killed when it is done, before it hears the reply.
  void kill_at_call(int n) { write("kill-at", std::to_string(count_all() + n)); }
  // Of each segment when it was sealed.
  bool sealed_are_unchanged() const {
    for (std::uint64_t segment = 0; segment < sealed(); ++segment)
      if (read(fmt::format("logs/{}.sealed", segment)) != digest_of(segment)) return false;
    return true;
  }
  // The next call of this name is done, but its reply never arrives.
  void lose_reply_of(const std::string& call) { write("lose/" + call, ""); }

  std::string log() const {
    std::string out;
    for (std::uint64_t segment = 0; std::filesystem::exists(size_path(segment)); ++segment)
      out += read("logs/" + std::to_string(segment)).substr(0, size_of(segment));
    return out;
  }
  std::uint64_t log_size() const {
    std::uint64_t sum = 0;
    for (std::uint64_t segment = 0; std::filesystem::exists(size_path(segment)); ++segment) sum += size_of(segment);
    return sum;
  }
  std::uint64_t sealed() const {
    std::uint64_t count = 0;
    while (std::filesystem::exists(root_ / fmt::format("logs/{}.sealed", count))) ++count;
    return count;
  }
  std::optional<model::ExitRecord> exit() const {
    auto text = read("exit.json");
    return text.empty() ? std::nullopt : std::optional(wire::decode_exit(text).value());
  }
  LogTotals reported_log() const {
    LogTotals totals;
    std::istringstream(read("log-totals")) >> totals.segments >> totals.size;
    return totals;
  }
  // Bytes of an artifact, absent when there is none.
  std::optional<std::string> artifact(std::string path) const {
    std::replace(path.begin(), path.end(), '/', '@');
    auto digest = read("artifacts/" + path);
    return digest.empty() ? std::nullopt : std::optional(read("blobs/" + digest));
  }
  std::string metrics(const std::string& source) const { return read("metrics/" + source); }
  std::string notes() const { return read("notes"); }
  std::vector<std::string> journal() const {
    std::vector<std::string> out;
    std::istringstream lines(read("journal"));
    for (std::string line; std::getline(lines, line);) out.push_back(line);
    return out;
  }
  int count(const std::string& call) const {
    auto calls = journal();
    return static_cast<int>(std::count(calls.begin(), calls.end(), call));
  }
  int count_all() const { return static_cast<int>(journal().size()); }

 private:
  friend class FakeLink;
  std::string read(const std::string& name) const {
    std::ifstream in(root_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(root_ / (name + ".tmp"), std::ios::binary) << text;
    std::filesystem::rename(root_ / (name + ".tmp"), root_ / name);
  }
  // Not read whole: the memory of a runner that this runs in is measured.
  std::string digest_of(std::uint64_t segment) const {
    std::ifstream in(root_ / "logs" / std::to_string(segment), std::ios::binary);
    base::Sha256 hash;
    char piece[64 * 1024];
    while (in.read(piece, sizeof piece), in.gcount() > 0) hash.update({piece, static_cast<std::size_t>(in.gcount())});
    return hash.finish().hex();
  }
  std::filesystem::path size_path(std::uint64_t segment) const { return root_ / fmt::format("logs/{}.size", segment); }
  std::uint64_t size_of(std::uint64_t segment) const {
    return base::parse_u64(read(fmt::format("logs/{}.size", segment))).value_or(0);
  }
  const std::filesystem::path root_;
};

class FakeLink : public ServerLink {
 public:
  // `spool`: where the runner's segments are, for linking.
  FakeLink(const FakeServer& server, std::filesystem::path spool) : server_(server), spool_(std::move(spool)) {}

  base::Result<Order> claim() override {
    return call<Order>("claim", [&] { return wire::decode_order(server_.read("order.json")); });
  }

  base::Result<void> watch(const std::function<bool(const Wish&)>& on_wish) override {
    while (!interrupted_) {
      if (server_.is_on("down")) return base::fail(base::Code::unavailable, "the server is away");
      if (server_.is_on("fenced")) return base::fail(base::Code::fenced, "the attempt is over");
      if (auto wish = server_.read("desired"); !wish.empty() && !on_wish({model::end_reason_from_name(wish)}))
        return {};
      if (auto id = server_.read("secret-id"); !id.empty() && id != server_.read("secret-hidden"))
        if (!on_wish({std::nullopt, true})) return {};
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // stands in for a connection that blocks
    }
    return base::fail(base::Code::cancelled, "interrupted");
  }

  base::Result<std::vector<SecretValue>> exchange_secrets(std::span<const std::string> hidden) override {
    return call<std::vector<SecretValue>>("exchange_secrets", [&]() -> base::Result<std::vector<SecretValue>> {
      const auto id = server_.read("secret-id");
      if (std::ranges::find(hidden, id) == hidden.end())
        return std::vector<SecretValue>{{id, server_.read("secret-value")}};
      server_.write("secret-hidden", id);
      return std::vector<SecretValue>();
    });
  }

  base::Result<std::vector<IndexCredential>> index_credentials() override { return std::vector<IndexCredential>(); }

  base::Result<LogStand> log_stand(const std::string&) override {
    return call<LogStand>("log_stand", [&]() -> base::Result<LogStand> {
      std::uint64_t sealed = server_.sealed();
      return LogStand{sealed, server_.size_of(sealed)};
    });
  }

  base::Result<std::uint64_t> append_log(const LogPiece& piece) override {
    return call<std::uint64_t>("append_log", [&]() -> base::Result<std::uint64_t> {
      std::uint64_t size = server_.size_of(piece.segment);
      if (piece.offset > size || piece.segment > server_.sealed())
        return base::fail(base::Code::conflict, "that would leave a hole");
      std::string_view fresh = piece.bytes.substr(std::min<std::uint64_t>(piece.bytes.size(), size - piece.offset));
      auto path = server_.root_ / "logs" / std::to_string(piece.segment);
      std::ofstream(path, std::ios::binary | std::ios::app).flush();
      if (std::filesystem::hard_link_count(path) > 1) {  // as the server: what the runner has a name for is not changed
        std::filesystem::copy_file(path, path.string() + ".copy");
        std::filesystem::rename(path.string() + ".copy", path);
      }
      std::filesystem::resize_file(path, size);  // a call that was killed half-way must not have happened
      std::ofstream(path, std::ios::binary | std::ios::app) << fresh;
      set_size(piece.segment, size + fresh.size(), piece.seal);
      return size + fresh.size();
    });
  }

  base::Result<void> link_log(const LogNotice& notice) override {
    return call<void>("link_log", [&]() -> base::Result<void> {
      if (server_.is_on("no-links")) return base::fail(base::Code::unsupported, "another machine");
      std::error_code failed;
      auto target = server_.root_ / "logs" / std::to_string(notice.segment);
      if (!std::filesystem::exists(target))
        std::filesystem::create_hard_link(spool_ / fmt::format("log.{}", notice.segment), target, failed);
      if (failed) return base::fail(base::Code::unsupported, "{}", failed.message());
      set_size(notice.segment, std::max(notice.size, server_.size_of(notice.segment)), notice.seal);
      return {};
    });
  }

  base::Result<std::uint64_t> append_metrics(const MetricPiece& piece) override {
    return call<std::uint64_t>("append_metrics", [&]() -> base::Result<std::uint64_t> {
      if (piece.source == "refused") return base::fail(base::Code::invalid, "not a source");
      std::string had = server_.read("metrics/" + piece.source);
      if (piece.offset > had.size()) return base::fail(base::Code::conflict, "that would leave a hole");
      had += piece.lines.substr(std::min<std::size_t>(piece.lines.size(), had.size() - piece.offset));
      server_.write("metrics/" + piece.source, had);
      return had.size();
    });
  }

  base::Result<std::vector<base::Digest>> missing_blobs(std::span<const base::Digest> digests) override {
    return call<std::vector<base::Digest>>("missing_blobs", [&]() -> base::Result<std::vector<base::Digest>> {
      std::vector<base::Digest> out;
      for (const auto& digest : digests)
        if (!std::filesystem::exists(server_.root_ / "blobs" / digest.hex())) out.push_back(digest);
      return out;
    });
  }

  base::Result<void> upload_pack(std::span<const SmallBlob> blobs) override {
    return call<void>("upload_pack", [&]() -> base::Result<void> {
      for (const auto& blob : blobs) LATHE_TRY_VOID(store(blob.digest, blob.bytes));
      return {};
    });
  }

  base::Result<void> upload_file(const base::Digest& digest, std::uint64_t size, int fd) override {
    return call<void>("upload_file", [&]() -> base::Result<void> {
      if (server_.is_on("no-large-files")) return base::fail(base::Code::too_large, "over the server's limit");
      std::string bytes(size, '\0');
      if (::pread(fd, bytes.data(), size, 0) != static_cast<ssize_t>(size))
        return base::fail(base::Code::corrupt, "it became shorter");
      return store(digest, bytes);
    });
  }

  base::Result<void> put_artifacts(std::span<const Artifact> artifacts) override {
    return call<void>("put_artifacts", [&]() -> base::Result<void> {
      for (const auto& artifact : artifacts) {
        if (!std::filesystem::exists(server_.root_ / "blobs" / artifact.digest.hex()))
          return base::fail(base::Code::invalid, "its blob is not in the store");
        if (!base::is_valid_utf8(artifact.path)) return base::fail(base::Code::invalid, "a path is UTF-8");
        std::string name = artifact.path;
        std::replace(name.begin(), name.end(), '/', '@');
        server_.write("artifacts/" + name, artifact.digest.hex());
      }
      return {};
    });
  }

  base::Result<void> report_finalizing(const model::ExitRecord&) override {
    return call<void>("report_finalizing", [] { return base::Result<void>(); });
  }

  base::Result<void> finish(const FinishReport& report) override {
    return call<void>("finish", [&]() -> base::Result<void> {
      if (server_.exit()) return {};  // the first one counts
      if (std::filesystem::remove(server_.root_ / "switches" / "lose-log")) set_size(0, 1, false);
      if (server_.log_size() < report.log.size) return base::fail(base::Code::conflict, "a part of the log is missing");
      server_.write("log-totals", fmt::format("{} {}", report.log.segments, report.log.size));
      server_.write("exit.json", wire::encode_exit(report.exit));
      return {};
    });
  }

  base::Result<std::string> fetch_tree(const base::Digest& digest) override {
    return call<std::string>("fetch_tree",
                             [&]() -> base::Result<std::string> { return server_.read("blobs/" + digest.hex()); });
  }
  base::Result<void> fetch_pack(const base::Digest& tree,
                                const std::function<base::Result<void>(std::string_view)>& sink) override {
    return call<void>("fetch_pack", [&] { return sink(server_.read(tree.hex() + ".pack")); });
  }
  base::Result<void> add_notes(std::span<const std::string> notes) override {
    return call<void>("add_notes", [&]() -> base::Result<void> {
      std::string all = server_.read("notes");
      for (const auto& note : notes) all += note + "\n";
      server_.write("notes", all);
      return {};
    });
  }
  base::Result<std::string> fetch_range(const base::Digest& digest, std::uint64_t offset, std::uint64_t size) override {
    return call<std::string>("fetch_range", [&]() -> base::Result<std::string> {
      return server_.read("blobs/" + digest.hex()).substr(offset, size);
    });
  }
  base::Result<cas::ChunkIndex> fetch_chunks(const base::Digest& digest) override {
    return call<cas::ChunkIndex>("fetch_chunks", [&]() -> base::Result<cas::ChunkIndex> {
      cas::ChunkHasher hasher;
      hasher.update(server_.read("blobs/" + digest.hex()));
      return hasher.finish();
    });
  }
  base::Result<std::string> fetch_file_range(const DatastoreFile&, std::uint64_t, std::uint64_t) override {
    return base::fail(base::Code::unsupported, "no datastores here");
  }
  base::Result<mount::NamePage> list_names(const NameQuery&) override {
    return base::fail(base::Code::unsupported, "no datastores here");
  }
  void interrupt() override { interrupted_ = true; }

 private:
  template <class T, class Work>
  base::Result<T> call(const std::string& name, Work work) {
    if (interrupted_) return base::fail(base::Code::cancelled, "interrupted");
    sys::Fd lock(::open((server_.root_ / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    ::flock(lock.get(), LOCK_EX);
    if (server_.is_on("down") || server_.is_on("down-for-" + name))
      return base::fail(base::Code::unavailable, "the server is away");
    if (server_.is_on("fenced")) return base::fail(base::Code::fenced, "the attempt is over");
    std::ofstream(server_.root_ / "journal", std::ios::app) << name << "\n";
    base::Result<T> result = work();
    if (server_.read("kill-at") == std::to_string(server_.count_all())) ::raise(SIGKILL);
    if (std::filesystem::remove(server_.root_ / "lose" / name))
      return base::fail(base::Code::unavailable, "the reply was lost");
    return result;
  }

  void set_size(std::uint64_t segment, std::uint64_t size, bool seal) {
    server_.write(fmt::format("logs/{}.size", segment), std::to_string(size));
    if (seal)
      server_.write(fmt::format("logs/{}.sealed", segment), server_.digest_of(segment));
    else
      std::filesystem::remove(server_.root_ / fmt::format("logs/{}.sealed", segment));
  }

  base::Result<void> store(const base::Digest& digest, const std::string& bytes) {
    if (base::sha256(bytes) != digest) return base::fail(base::Code::corrupt, "not the bytes of its digest");
    server_.write("blobs/" + digest.hex(), bytes);
    return {};
  }

  const FakeServer& server_;
  const std::filesystem::path spool_;
  std::atomic<bool> interrupted_ = false;
};

}  // namespace lathe::runner
