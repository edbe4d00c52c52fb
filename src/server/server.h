// The server as one value: parse nothing, decide nothing; open, build, start, wait, stop in reverse.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "net/http_server.h"

namespace lathe::server {

struct ServerOptions {
  std::filesystem::path state;
  net::ListenConfig listen;           // unix_socket is set by the server
  std::filesystem::path program;      // the lathe binary, for starting runners
  std::uint64_t run_descriptors = 0;  // the soft limit of open files for runs; 0: as this process has it
  int ready_fd = -1;                  // gets one line when the server answers, then is closed
  bool print_routes = false;          // only lists the routes and ends
};

// Runs until SIGTERM or SIGINT; the exit status. SIGHUP opens the log anew.
int run_server(const ServerOptions& options);

}  // namespace lathe::server
