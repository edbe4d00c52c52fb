// A spool that a crash, a bad disk or another version has left: header, order and exit record, with a zero byte between
// them. An adopter reads it, or says that it cannot.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/digest.h"
#include "runner/spool.h"

namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc).write(text.data(), static_cast<std::streamsize>(text.size()));
}

std::string_view next_part(std::string_view& input) {
  const auto part = input.substr(0, input.find('\0'));
  input.remove_prefix(std::min(part.size() + 1, input.size()));
  return part;
}

// One that belongs together: the checksum, which no fuzzer guesses, is made here unless the record brings its own.
std::string sealed(std::string_view exit) {
  if (exit.find('\n') != exit.npos) return std::string(exit);
  return fmt::format("{}\n{}\n", exit, lathe::base::sha256(exit).hex());
}

const fs::path& folder() {
  static const fs::path made = [] {
    auto path = fs::temp_directory_path() / fmt::format("lathe-spool-fuzz-{}", ::getpid()) / "spool";
    fs::create_directories(path);
    return path;
  }();
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace lathe;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  write(folder() / "spool.json", next_part(input));
  write(folder() / "order.json", next_part(input));
  write(folder() / "exit", sealed(input));
  auto spool = runner::Spool::adopt(folder(), {});
  if (!spool) return 0;
  (void)runner::task_label(spool->header());
  (void)spool->read_order();
  if (auto exit = spool->read_exit(); exit && *exit) {
    if (!spool->write_exit(**exit)) return 0;
    auto again = spool->read_exit();
    if (!again || !*again) __builtin_trap();
  }
  return 0;
}
