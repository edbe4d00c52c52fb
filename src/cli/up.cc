#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "base/strings.h"
#include "cli/box_warning.h"
#include "cli/call.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/json.h"
#include "cli/server_lock.h"
#include "cli/server_options.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace fs = std::filesystem;
namespace {

constexpr auto kOptions = kServerOptions;
constexpr std::array kFields{Column{"address", "/url"}, Column{"socket", "/socket"},    Column{"state", "/state"},
                             Column{"log", "/log"},     Column{"token", "/token_file"}, Column{"process", "/pid"}};
constexpr int kReadyFd = 3;
constexpr std::chrono::seconds kOthersStart(30);

// The server that answers on this state folder, if any.
std::optional<ServerFile> running_server(const Call& call) {
  if (!lock_holder(call.settings.state)) return std::nullopt;
  auto server = read_server_file(call.settings.state);
  if (!server || !call.new_client()->get("/healthz")) return std::nullopt;
  return *server;
}

base::Result<int> report(Call& call, const ServerFile& server, const fs::path& log) {
  json::object out{{"url", server.url},
                   {"socket", server.socket},
                   {"state", call.settings.state.string()},
                   {"log", log.string()},
                   {"token_file", (call.settings.state / "token").string()},
                   {"pid", server.pid}};
  return call.print_one(json::serialize(out), kFields);
}

// In the child, between fork and exec: only what is safe there.
[[noreturn]] void become_server(const std::vector<char*>& words, int log, int ready) {
  ::setsid();
  int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  // dup2 also clears close-on-exec, unless both are the same descriptor.
  if (ready == kReadyFd)
    ::fcntl(ready, F_SETFD, 0);
  else
    ::dup2(ready, kReadyFd);
  ::execv("/proc/self/exe", words.data());
  ::_exit(127);
}

enum class Start { ready, folder_in_use, failed };

// Starts the process and waits for its word that it answers, or for its end.
base::Result<Start> spawn(const ServerArgs& args, const fs::path& log_file) {
  int log = ::open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) return base::fail(base::errno_error(errno, log_file.string()));
  int ready[2];
  if (::pipe2(ready, O_CLOEXEC) != 0) return base::fail(base::errno_error(errno, "pipe"));
  auto words = server_words(args);
  words.insert(words.begin(), "lathe");
  words.insert(words.end(), {"--ready-fd", std::to_string(kReadyFd)});
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t child = ::fork();
  if (child == 0) become_server(pointers, log, ready[1]);
  ::close(log);
  ::close(ready[1]);
  if (child < 0) return base::fail(base::errno_error(errno, "fork"));
  char word = 0;
  ssize_t n;
  do n = ::read(ready[0], &word, 1);
  while (n < 0 && errno == EINTR);
  ::close(ready[0]);
  if (n == 1) return Start::ready;
  int status = 0;
  ::waitpid(child, &status, 0);
  const bool in_use = WIFEXITED(status) && WEXITSTATUS(status) == base::exit_status(base::Code::conflict);
  return in_use ? Start::folder_in_use : Start::failed;
}

std::string tail(std::string_view text, std::size_t lines) {
  std::size_t at = text.size();
  for (std::size_t count = 0; at > 0; --at)
    if (text[at - 1] == '\n' && at != text.size() && ++count == lines) break;
  return std::string(text.substr(at));
}

base::Error failed(const fs::path& log_file, std::uintmax_t size_before) {
  auto log = read_small_file(log_file, 256u << 20);
  auto fresh = log && log->size() > size_before ? tail(std::string_view(*log).substr(size_before), 12) : std::string();
  write_talk(fresh.empty() ? "the server said nothing" : std::string(base::trim(fresh)));
  return base::Error(base::Code::unavailable, "the server did not start; its last words are above")
      .hint(fmt::format("the whole log is {}; lathe doctor tells what this machine lacks", log_file.string()));
}

// The server that holds the folder and may still be starting; nothing when it ends instead, or never answers.
std::optional<ServerFile> await_other_server(const Call& call) {
  const auto deadline = std::chrono::steady_clock::now() + kOthersStart;
  bool was_held = false;  // it holds the lock a moment before its process id can be read there
  while (std::chrono::steady_clock::now() < deadline) {
    if (auto server = running_server(call)) return server;
    const bool is_held = lock_holder(call.settings.state).has_value();
    if (was_held && !is_held) break;
    was_held = is_held;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return std::nullopt;
}

base::Result<int> up(Call& call) {
  LATHE_TRY(auto args, server_args(call));
  const auto usual_log = call.settings.state / "server.log";
  if (auto server = running_server(call)) {
    say("a server runs already");
    return report(call, *server, usual_log);
  }
  std::error_code error;
  fs::create_directories(args.state.parent_path(), error);
  if (::mkdir(args.state.c_str(), 0700) != 0 && errno != EEXIST)
    return base::fail(base::errno_error(errno, args.state.string()));
  if (args.log_file.empty()) args.log_file = args.state / "server.log";
  const fs::path log_file = fs::absolute(args.log_file);
  args.log_file = log_file;
  auto size_before = fs::file_size(log_file, error);
  if (error) size_before = 0;
  LATHE_TRY(Start start, spawn(args, log_file));
  if (start == Start::ready) {
    LATHE_TRY(auto server, read_server_file(args.state));
    warn_where_runs_have_no_boxes(call);
    return report(call, server, log_file);
  }
  // Another `lathe up` may have been faster; then its server is ours too, as soon as it answers.
  if (auto other = start == Start::folder_in_use ? await_other_server(call) : std::nullopt) {
    say("a server runs already");
    return report(call, *other, usual_log);
  }
  return base::fail(failed(log_file, size_before));
}

}  // namespace

constinit const Command kUp{
    .path = "up",
    .summary = "Start a server for this user in the background",
    .details = "Twice is one server. Prints its address, its state folder, its log and the file with the token.",
    .options = kOptions,
    .run = up};

}  // namespace lathe::cli
