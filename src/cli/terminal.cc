#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"

namespace lathe::cli {
namespace {

constexpr int kExitBrokenPipe = 141;  // what a shell reports for SIGPIPE

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

std::string_view default_hint(base::Code code) {
  using base::Code;
  switch (code) {
    case Code::unauthorized:
      return "--token-file names the file with the token; `lathe token create` makes one";
    case Code::forbidden:
      return "ask somebody with a higher role: `lathe token create --role …`";
    case Code::unavailable:
    case Code::timeout:
      return "`lathe status` tells whether the server runs, `lathe up` starts it";
    case Code::no_space:
      return "`lathe store gc --dry-run` tells what could be freed; `lathe run delete` frees more";
    case Code::corrupt:
      return "`lathe store verify` lists what is damaged";
    case Code::rate_limited:
      return "try again in a moment";
    case Code::not_found:
      return "the matching `list` command shows what there is";
    case Code::conflict:
    case Code::fenced:
      return "the matching `show` command tells how it stands";
    default:
      return "`lathe COMMAND --help` tells how the command is used, `lathe doctor` what this machine lacks";
  }
}

}  // namespace

void write_data(std::string_view bytes) {
  if (!write_all(STDOUT_FILENO, bytes)) _exit(errno == EPIPE ? kExitBrokenPipe : 1);
}

void write_talk(std::string_view line) {
  // Nothing can be said when stderr is gone; the work goes on.
  [[maybe_unused]] bool written = write_all(STDERR_FILENO, fmt::format("{}\n", line));
}

std::string error_text(const base::Error& error) {
  return fmt::format("error: {}\nhint: {}", error.text(),
                     error.hint().empty() ? default_hint(error.code()) : error.hint());
}

StatusLine::~StatusLine() {
  if (shown_) write_all(STDERR_FILENO, "\r\x1b[K");
}

bool StatusLine::is_possible() { return isatty(STDERR_FILENO) == 1; }

void StatusLine::set(std::string_view text) {
  if (!is_possible()) return;
  winsize size{};
  constexpr std::size_t kUsualWidth = 80;
  std::size_t width = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualWidth;
  auto passed = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begun_);
  shown_ = true;
  write_all(STDERR_FILENO, fmt::format("\r{}\x1b[K", line(what_, text, passed, width)));
}

std::string StatusLine::line(std::string_view what, std::string_view text, std::chrono::seconds passed,
                             std::size_t width) {
  auto whole = fmt::format("{}  {} s  {}", what, passed.count(), base::printable(text, 500));
  if (whole.size() < width) return whole;
  whole.resize(width - 1);
  while (!whole.empty() && !base::is_valid_utf8(whole)) whole.pop_back();
  return whole;
}

Progress::Progress(std::string_view what, std::uint64_t total_bytes)
    : what_(what), total_(total_bytes), enabled_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (shown_) write_all(STDERR_FILENO, "\r\x1b[K");
}

void Progress::add(std::uint64_t bytes) {
  done_ += bytes;
  if (enabled_) draw();
}

void Progress::draw() {
  auto now = std::chrono::steady_clock::now();
  if (shown_ && now - last_ < std::chrono::milliseconds(100) && done_ < total_) return;
  last_ = now;
  shown_ = true;
  write_all(STDERR_FILENO, fmt::format("\r{}\x1b[K", line(what_, done_, total_)));
}

std::string Progress::line(std::string_view what, std::uint64_t done, std::uint64_t total) {
  constexpr std::size_t kWidth = 24;
  double part = total == 0 ? 1.0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  auto filled = static_cast<std::size_t>(part * kWidth);
  return fmt::format("{} [{}{}] {:3.0f} %  {} of {}", what, std::string(filled, '#'), std::string(kWidth - filled, '.'),
                     part * 100, base::human_bytes(done), base::human_bytes(total));
}

}  // namespace lathe::cli
