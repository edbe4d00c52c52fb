// The long-running programs behind `lathe server` and `lathe runner`. cli/ may not include server/ or runner/, so main/
// gives it these functions; the structs carry what was typed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lathe::cli {

struct ServerArgs {
  std::filesystem::path state;
  std::string listen;  // "HOST:PORT", empty: loopback and a free port
  std::filesystem::path tls_certificate, tls_key;
  std::vector<std::string> allowed_hosts;
  std::string log_level = "info";
  std::filesystem::path log_file;  // empty: standard error
  int ready_fd = -1;  // one line is written here when the server answers, then it is closed
  bool print_routes = false;
};

struct RunnerArgs {
  std::string url;
  std::filesystem::path work;
  std::filesystem::path adopt;  // a spool to deliver; then url and work may be empty
};

// Each gives the exit status. They may throw base::Error.
struct Programs {
  int (*server)(const ServerArgs&) = nullptr;
  int (*runner)(const RunnerArgs&) = nullptr;
};

}  // namespace lathe::cli
