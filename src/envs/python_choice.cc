#include <algorithm>

#include "envs/python_finder.h"
#include "envs/version.h"

namespace lathe::envs {
namespace {

using base::Code;
using base::Error;

std::string minor_of(std::string_view version) {
  auto numbers = release_numbers(version);
  return numbers.size() < 2 ? std::string() : fmt::format("{}.{}", numbers[0], numbers[1]);
}

bool is_exact(std::string_view asked) {
  return !asked.empty() && asked.find_first_of("<>!~,|") == std::string_view::npos && !minor_of(asked).empty();
}

// Finds an interpreter here or by `uv python install`; once the download host could not be reached it is left alone.
class PythonSources {
 public:
  PythonSources(const Settings& settings, const Uv& uv, const LogSink& log, std::stop_token stop)
      : settings_(settings),
        uv_(uv),
        log_(log),
        stop_(std::move(stop)),
        downloads_(settings.python_downloads && !settings.offline && settings.image.empty()) {}

  base::Result<std::optional<Interpreter>> get(const std::string& minor) {
    if (auto found = find_python(settings_, minor, stop_)) return found;
    if (stop_.stop_requested()) return base::fail(Code::cancelled, "stopped");
    if (!downloads_) return std::optional<Interpreter>();
    LATHE_TRY(auto answer, uv_.run({"python", "install", minor, "--no-bin"}, {}, stop_, {"UV_HTTP_RETRIES=0"}));
    if (answer.ok()) return find_python(settings_, minor, stop_);
    if (answer.complaint.find("No download found") == std::string::npos) {
      downloads_ = false;
      log_("Python cannot be downloaded here; using what is on the machine");
    }
    return std::optional<Interpreter>();
  }

 private:
  const Settings& settings_;
  const Uv& uv_;
  const LogSink& log_;
  std::stop_token stop_;
  bool downloads_;
};

std::string versions_here(const Settings& settings) {
  std::vector<std::string> minors;
  for (const auto& python : find_interpreters(settings))
    if (std::ranges::find(minors, python.minor) == minors.end()) minors.push_back(python.minor);
  std::ranges::sort(minors, [](const auto& a, const auto& b) { return compare_versions(a, b) < 0; });
  std::string out;
  for (const auto& minor : minors) out += (out.empty() ? "" : ", ") + minor;
  return out.empty() ? "none" : out;
}

Error no_python(const Settings& settings, std::string_view asked, std::string hint) {
  return Error(Code::not_found,
               fmt::format("there is no Python {} for this environment; here are: {}", asked, versions_here(settings)))
      .field("python")
      .hint(std::move(hint));
}

// Any version, or a range: the newest that fits; without a wish the machine's own python3.
base::Result<PythonChoice> choose_from_range(const Settings& settings, std::string_view range, std::stop_token stop) {
  auto all = find_interpreters(settings);
  if (!range.empty())
    std::ranges::sort(all, [](const auto& a, const auto& b) { return compare_versions(a.minor, b.minor) > 0; });
  for (const auto& python : all) {
    // "<3.8" is about 3.7 as a whole, ">3.6" allows a later 3.6: compare with a late patch release.
    if (!version_in_range(python.minor + ".99", range) && !version_in_range(python.minor, range)) continue;
    if (auto working = find_python(settings, python.minor, stop)) return PythonChoice{*working, {}, {}};
  }
  return base::fail(no_python(settings, range, "install one that fits, e.g. with pyenv or: uv python install"));
}

}  // namespace

base::Result<PythonChoice> choose_python(const Settings& settings, const Substitutions& table, const Uv& uv,
                                         std::string_view asked, const LogSink& log, std::stop_token stop) {
  if (!is_exact(asked)) return choose_from_range(settings, asked, stop);
  const std::string minor = minor_of(asked);
  PythonSources sources(settings, uv, log, stop);
  LATHE_TRY(auto exact, sources.get(minor));
  if (exact) return PythonChoice{*exact, minor, {}};
  if (settings.strict)
    return base::fail(
        no_python(settings, minor, fmt::format("install Python {}; strict: true forbids another one", minor)));
  for (const auto& other : table.pythons_instead(minor)) {
    LATHE_TRY(auto found, sources.get(other));
    if (!found) continue;
    return PythonChoice{
        *found, minor,
        Substitution{"python", "python " + std::string(asked), "python " + other,
                     settings.image.empty()
                         ? fmt::format("Python {} is neither on this machine nor to be downloaded", minor)
                         : fmt::format("the image has no Python {}", minor)}};
  }
  return base::fail(no_python(settings, minor, fmt::format("install Python {}, e.g. with pyenv", minor)));
}

base::Result<Interpreter> get_python(const Settings& settings, const Uv& uv, std::string_view minor, const LogSink& log,
                                     std::stop_token stop) {
  PythonSources sources(settings, uv, log, stop);
  LATHE_TRY(auto found, sources.get(std::string(minor)));
  if (found) return *found;
  return base::fail(no_python(settings, minor,
                              fmt::format("the lock is for Python {0}: install it, e.g. with pyenv, or lock the "
                                          "environment again on this machine",
                                          minor)));
}

}  // namespace lathe::envs
