// StateDir: the folder that holds all a server owns. Locked by the one server that uses it, for as long as it lives.
// Its files are listed in docs/formats/state-dir.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/error.h"

namespace lathe::server {

struct ServerAddress {
  std::string url;
  std::filesystem::path socket;
};

class StateDir {
 public:
  // Creates the folder (0700) when it is not there and locks it. A folder in use is a conflict that names the holder.
  static base::Result<StateDir> open(const std::filesystem::path& root);
  StateDir(StateDir&& other) noexcept;
  ~StateDir();

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path database() const { return root_ / "lathe.db"; }
  std::filesystem::path store() const { return root_ / "store"; }
  std::filesystem::path views() const { return root_ / "views"; }
  std::filesystem::path live() const { return root_ / "live"; }
  std::filesystem::path builds() const { return root_ / "builds"; }
  std::filesystem::path work() const { return root_ / "work"; }
  std::filesystem::path socket() const { return root_ / "run" / "api.sock"; }
  std::filesystem::path config() const { return root_ / "config.yaml"; }

  // The admin token: read, or made with 256 random bits at the first start. Only its hash goes into the database.
  base::Result<std::string> admin_token() const;
  // Tells clients where the server listens (server.json, replaced atomically); removed again by forget_address().
  base::Result<void> publish_address(const ServerAddress& address) const;
  void forget_address() const;
  // 64 MiB set aside, so that a full disk still has room for the last states of runs.
  base::Result<void> ensure_reserve() const;
  void release_reserve() const;
  // Whether a few more files can be made; a file system can run out of them with much space left.
  bool has_inodes() const;
  // Whether there is room for the reserve and as much again.
  bool has_room_to_spare() const;

 private:
  StateDir(std::filesystem::path root, int lock) : root_(std::move(root)), lock_(lock) {}
  std::filesystem::path root_;
  int lock_;
};

// Makes a new secret: "lathe_" and 43 characters of base64url, 256 bits.
std::string make_token();
// The same form of 32 given bytes.
std::string format_token(std::string_view bytes);

}  // namespace lathe::server
