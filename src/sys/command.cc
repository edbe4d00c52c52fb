#include "sys/command.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>

#include "base/strings.h"
#include "sys/fd.h"
#include "sys/guardian.h"

namespace lathe::sys {
namespace {

constexpr std::size_t kMaxOutput = 64 << 20;
constexpr std::size_t kMaxLine = 64 << 10;

// Cuts what comes out of a pipe into lines; "\r" ends one, too, as progress bars use it.
class Lines {
 public:
  explicit Lines(const LineSink& sink) : sink_(sink) {}
  void add(std::string_view bytes) {
    for (char c : bytes) {
      if (c == '\n' || c == '\r')
        flush();
      else if (line_.size() < kMaxLine)
        line_.push_back(c);
    }
  }
  void flush() {
    if (!line_.empty() && sink_) sink_(line_);
    line_.clear();
  }

 private:
  const LineSink& sink_;
  std::string line_;
};

// Reads once; false at the end.
template <class Take>
bool read_some(Fd& fd, Take take) {
  char buffer[16384];
  ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (n > 0) take(std::string_view(buffer, static_cast<std::size_t>(n)));
  if (n <= 0) fd.reset();
  return n > 0;
}

int exit_status(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

void run_to_its_end(const SpawnRequest& request) {
  auto child = spawn(request);
  while (child && ::waitpid(child->pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// Until the program and all below it have ended.
void pump(const Guardian& guardian, Fd output, Fd errors, const Fd& wake, CommandResult& result, Lines& lines) {
  bool ended = false;
  while (true) {
    pollfd fds[] = {{output.get(), POLLIN, 0},
                    {errors.get(), POLLIN, 0},
                    {ended ? -1 : guardian.fd(), POLLIN, 0},
                    {wake.get(), POLLIN, 0}};
    if (::poll(fds, 4, ended ? 0 : -1) < 0 && errno != EINTR) break;
    if (fds[3].revents != 0) break;
    if (fds[0].revents != 0)
      read_some(output, [&](std::string_view bytes) {
        if (result.output.size() < kMaxOutput) result.output.append(bytes);
      });
    if (fds[1].revents != 0) read_some(errors, [&](std::string_view bytes) { lines.add(bytes); });
    if (ended && fds[0].revents == 0 && fds[1].revents == 0) break;
    if (fds[2].revents != 0) ended = true;
  }
  lines.flush();
}

}  // namespace

base::Result<CommandResult> run_command(const CommandRequest& request, const LineSink& errors, std::stop_token stop) {
  if (stop.stop_requested()) return base::fail(base::Code::cancelled, "stopped");
  LATHE_TRY(auto output, make_pipe());
  LATHE_TRY(auto error, make_pipe());
  Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  SpawnRequest spawning{
      request.argv, request.environment, request.directory, -1, output.write.get(), error.write.get(), {}};
  auto tidy = [&] {
    if (!request.after_kill.empty()) run_to_its_end({request.after_kill, request.environment, {}, -1, -1, -1, {}});
  };
  LATHE_TRY(auto guardian, Guardian::start(spawning, {.last_words = tidy, .leaves_daemons = request.leaves_daemons}));
  output.write.reset();
  error.write.reset();
  CommandResult result;
  Lines lines(errors);
  {
    std::stop_callback on_stop(stop, [&] { ::eventfd_write(wake.get(), 1); });
    pump(guardian, std::move(output.read), std::move(error.read), wake, result, lines);
  }
  const bool stopped = stop.stop_requested();
  if (stopped) guardian.kill();
  auto report = guardian.read_report();
  if (stopped) {
    tidy();
    return base::fail(base::Code::cancelled, "stopped");
  }
  if (report && !report->started) return base::fail(base::Error(report->start_code, report->start_error));
  result.status = report ? exit_status(report->wait_status) : 128 + SIGKILL;
  return result;
}

std::vector<std::string> current_environment() {
  std::vector<std::string> out;
  for (char** variable = environ; variable && *variable; ++variable) out.emplace_back(*variable);
  return out;
}

void unset_variable(std::vector<std::string>& environment, std::string_view name) {
  std::erase_if(environment, [&](const std::string& one) {
    return one.size() > name.size() && one.starts_with(name) && one[name.size()] == '=';
  });
}

void set_variable(std::vector<std::string>& environment, std::string_view name, std::string_view value) {
  unset_variable(environment, name);
  environment.push_back(fmt::format("{}={}", name, value));
}

std::string find_program(std::string_view program, std::string_view search_path) {
  for (std::string_view folder : base::split(search_path, ':')) {
    if (folder.empty()) continue;
    auto path = std::filesystem::path(folder) / program;
    std::error_code ignored;
    if (::access(path.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(path, ignored)) return path.string();
  }
  return {};
}

}  // namespace lathe::sys
