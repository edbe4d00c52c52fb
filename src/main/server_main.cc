#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include "base/log.h"
#include "base/strings.h"
#include "main/programs.h"
#include "server/server.h"
#include "sys/process.h"

namespace lathe {
namespace {

// "HOST:PORT" or "[V6]:PORT"; the command line has checked the form.
void read_listen(const std::string& text, net::ListenConfig& listen) {
  auto colon = text.rfind(':');
  if (colon == text.npos) return;
  listen.host = text.substr(0, colon);
  if (listen.host.starts_with('[') && listen.host.ends_with(']'))
    listen.host = listen.host.substr(1, listen.host.size() - 2);
  listen.port = static_cast<std::uint16_t>(base::parse_u64(std::string_view(text).substr(colon + 1)).value_or(0));
}

// Each connection costs a descriptor, and the usual soft limit is far below what the machine allows. Returns the limit
// from before, which is what runs get: programs that use select() break above 1024.
std::uint64_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const auto before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  if (before != limit.rlim_max && ::setrlimit(RLIMIT_NOFILE, &limit) != 0)
    base::log::warn("the limit of open files could not be raised", {{"errno", errno}});
  return before;
}

}  // namespace

int server_main(const cli::ServerArgs& args) {
  server::ServerOptions options;
  options.state = args.state;
  read_listen(args.listen, options.listen);
  if (!args.tls_certificate.empty()) options.listen.tls = net::TlsFiles{args.tls_certificate, args.tls_key};
  options.listen.allowed_hosts = args.allowed_hosts;
  options.ready_fd = args.ready_fd;
  options.print_routes = args.print_routes;
  options.program = std::filesystem::read_symlink("/proc/self/exe");
  base::log::set_level(args.log_level);
  if (!args.log_file.empty())
    if (const int failed = base::log::use_file(std::filesystem::absolute(args.log_file)); failed != 0)
      throw base::errno_error(failed, args.log_file.string());
  sys::protect_memory();
  std::signal(SIGPIPE, SIG_IGN);  // a reader that leaves is an error of that write, not the end of the server
  options.run_descriptors = raise_descriptor_limit();
  return server::run_server(options);
}

}  // namespace lathe
