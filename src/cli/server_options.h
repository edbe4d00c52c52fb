// The options that `lathe server` and `lathe up` share.
#pragma once

#include <array>

#include "cli/call.h"
#include "cli/programs.h"

namespace lathe::cli {

inline constexpr std::array kServerOptions{
    Option{.name = "listen",
           .value = "HOST:PORT",
           .help = "the address; one that is not loopback needs TLS",
           .fallback = "127.0.0.1 and a free port"},
    Option{.name = "tls-cert", .value = "FILE", .help = "certificate chain (PEM)", .completes = Completes::file},
    Option{.name = "tls-key", .value = "FILE", .help = "private key (PEM)", .completes = Completes::file},
    Option{.name = "allow-host",
           .value = "NAME",
           .help = "a further name that clients may call the server by",
           .repeated = true},
    Option{.name = "log-level",
           .value = "LEVEL",
           .help = "how much is logged",
           .fallback = "info",
           .choices = "debug|info|warn|error"},
    Option{.name = "log-file",
           .value = "FILE",
           .help = "where to log; at 64 MiB it becomes FILE.1, and so on to FILE.4, and SIGHUP opens it anew",
           .fallback = "standard error; lathe up: server.log in the state folder",
           .completes = Completes::file},
    Option{.name = "ready-fd", .value = "N", .help = "where readiness is told", .hidden = true},
    Option{.name = "print-routes", .help = "list the routes and end", .hidden = true},
};

base::Result<ServerArgs> server_args(const Call& call);
// The words that give these options to a server process.
std::vector<std::string> server_words(const ServerArgs& args);

}  // namespace lathe::cli
