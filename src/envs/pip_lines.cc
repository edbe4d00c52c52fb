#include "envs/pip_lines.h"

#include <algorithm>
#include <array>

#include "base/strings.h"

namespace lathe::envs {
namespace {

using base::Code;
using base::Error;

std::unexpected<Error> refuse(const std::string& field, std::string message, std::string hint) {
  return base::fail(Error(Code::invalid, std::move(message)).field(field).hint(std::move(hint)));
}

// "--extra-index-url=URL", "--extra-index-url URL", "-rfile" → the option and its value.
std::pair<std::string, std::string> split_option(std::string_view line) {
  if (line.size() > 2 && line[1] != '-' && line[2] != ' ' && line[2] != '=')
    return {std::string(line.substr(0, 2)), std::string(base::trim(line.substr(2)))};
  auto end = line.find_first_of(" =\t");
  if (end == std::string_view::npos) return {std::string(line), ""};
  return {std::string(line.substr(0, end)), std::string(base::trim(line.substr(end + 1)))};
}

// A URL may be kept in a lock and a log, so that it must not carry a password.
base::Result<void> check_url(std::string_view url, const std::string& field) {
  auto scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  auto host = url.substr(scheme + 3);
  host = host.substr(0, host.find_first_of("/?#"));
  auto at = host.rfind('@');
  if (at == std::string_view::npos) return {};
  // "git+ssh://git@host" names a user, which is no secret.
  if (host.substr(0, at).find(':') == std::string_view::npos && url.starts_with("git+ssh://")) return {};
  return refuse(field, fmt::format("the URL of {} carries a credential", base::printable(host.substr(at + 1))),
                "leave it out of the URL and keep it as a secret of the workspace: docs/user/environments.md");
}

// A path of the definition means a file of the run's source folder and nothing else.
base::Result<void> check_path(std::string_view path, const std::string& field) {
  bool climbs = false;
  for (auto part : base::split(path, '/')) climbs = climbs || part == "..";
  if (!path.starts_with('/') && !path.starts_with('~') && !climbs) return {};
  return refuse(field, fmt::format("the path {} leads out of the source folder", base::printable(path)),
                "put the file into the source directory of the run and name it relative to that");
}

void append_words(std::vector<std::string>& out, std::string_view value) {
  for (auto word : base::split(value, ','))
    if (!base::trim(word).empty()) out.emplace_back(base::trim(word));
}

base::Result<void> take_location(std::vector<std::string>& out, const std::string& value, const std::string& field) {
  if (value.find("://") == std::string::npos) LATHE_TRY_VOID(check_path(value, field));
  LATHE_TRY_VOID(check_url(value, field));
  out.push_back(value);
  return {};
}

bool is_without_meaning_here(std::string_view option) {
  static constexpr std::array kNames{"--trusted-host",
                                     "--no-cache-dir",
                                     "--upgrade",
                                     "-U",
                                     "--quiet",
                                     "-q",
                                     "--no-warn-script-location",
                                     "--disable-pip-version-check",
                                     "--progress-bar",
                                     "--prefer-binary",
                                     "--use-feature",
                                     "--use-pep517",
                                     "--default-timeout",
                                     "--timeout",
                                     "--retries",
                                     "--user"};
  return std::ranges::find(kNames, option) != kNames.end();
}

base::Result<void> take_option(Spec& spec, std::string_view line, const std::string& field) {
  auto [option, value] = split_option(line);
  PipOptions& options = spec.options;
  if (option == "--pre") return (void)(options.prereleases = true), base::Result<void>();
  if (option == "--no-index") return (void)(options.no_index = true), base::Result<void>();
  if (is_without_meaning_here(option)) return {};
  if (option == "-e" || option == "--editable")
    return refuse(
        field,
        fmt::format("'{}': editable installs need a folder that is not in the environment", base::printable(line)),
        "the run's source folder is importable as it is; or name a wheel, or git+URL@COMMIT");
  if (value.empty())
    return refuse(field, fmt::format("pip's option {} needs a value or is not known here", base::printable(option)),
                  "known: -r, -c, -f, --index-url, --extra-index-url, --no-index, --no-binary, --only-binary, --pre");
  if (option == "-i" || option == "--index-url" || option == "--pypi-url") {
    LATHE_TRY_VOID(check_url(value, field));
    options.index = value;
  } else if (option == "--extra-index-url") {
    LATHE_TRY_VOID(check_url(value, field));
    options.extra_indexes.push_back(value);
  } else if (option == "-f" || option == "--find-links") {
    LATHE_TRY_VOID(take_location(options.find_links, value, field));
  } else if (option == "-r" || option == "--requirement") {
    LATHE_TRY_VOID(take_location(options.requirement_files, value, field));
  } else if (option == "-c" || option == "--constraint") {
    LATHE_TRY_VOID(take_location(options.constraint_files, value, field));
  } else if (option == "--no-binary") {
    append_words(options.no_binary, value);
  } else if (option == "--only-binary") {
    append_words(options.only_binary, value);
  } else {
    return refuse(field, fmt::format("pip's option {} is not known here", base::printable(option)),
                  "known: -r, -c, -f, --index-url, --extra-index-url, --no-index, --no-binary, --only-binary, --pre");
  }
  return {};
}

base::Result<void> take_requirement(Spec& spec, std::string line, const std::string& field) {
  // Hashes of a hand-made lock are for the files of one index; ours are written by the lock itself.
  line = std::string(base::trim(line.substr(0, line.find(" --hash"))));
  std::string name = distribution_name(line);
  if (name.starts_with("azureml-") || name == "azureml") {
    spec.sdk_names.push_back(name);
    return {};
  }
  if (line.starts_with("hg+") || line.starts_with("svn+") || line.starts_with("bzr+"))
    return refuse(field, fmt::format("'{}': only git is known", base::printable(line)),
                  "use git+URL@COMMIT or a wheel");
  if (is_direct_reference(line)) {
    LATHE_TRY_VOID(check_url(line, field));
    if (line.find("://") == std::string::npos) LATHE_TRY_VOID(check_path(line, field));
  } else if (name.empty()) {
    return refuse(field, fmt::format("'{}' is not a requirement", base::printable(line)), "write e.g. numpy==1.18.5");
  }
  spec.pip.push_back(std::move(line));
  return {};
}

std::string_view without_comment(std::string_view line) {
  if (line.starts_with('#')) return {};
  auto at = line.find(" #");
  return base::trim(line.substr(0, at));
}

}  // namespace

bool is_direct_reference(std::string_view requirement) {
  return requirement.find("://") != std::string_view::npos || requirement.starts_with("./") ||
         requirement.find('/') < requirement.find_first_of(" ;") || requirement.ends_with(".whl") ||
         requirement.ends_with(".tar.gz") || requirement == ".";
}

base::Result<void> take_pip_line(Spec& spec, std::string_view raw, const std::string& field) {
  std::string_view line = without_comment(base::trim(raw));
  if (line.empty()) return {};
  if (line.find_first_of(std::string_view("\n\r\0", 3)) != std::string_view::npos)
    return refuse(field, "a requirement is one line", "write each on a line of its own");
  if (line.starts_with('-')) return take_option(spec, line, field);
  return take_requirement(spec, std::string(line), field);
}

std::vector<std::string> requirement_lines(std::string_view text) {
  std::vector<std::string> out;
  std::string pending;
  for (std::string_view line : base::split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    bool continued = line.ends_with('\\');
    if (continued) line.remove_suffix(1);
    pending.append(line);
    if (continued) continue;
    if (auto clean = without_comment(base::trim(pending)); !clean.empty()) out.emplace_back(clean);
    pending.clear();
  }
  return out;
}

}  // namespace lathe::envs
