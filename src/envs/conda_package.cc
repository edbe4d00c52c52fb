#include <algorithm>

#include "base/strings.h"
#include "envs/spec.h"

namespace lathe::envs {
namespace {

std::unexpected<base::Error> refuse(std::string_view text) {
  return base::fail(base::Error(base::Code::invalid, fmt::format("'{}' is not a conda package", base::printable(text)))
                        .field("python.condaDependencies.dependencies")
                        .hint("write e.g. numpy=1.18 or numpy>=1.18,<2"));
}

bool is_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
  });
}

// "=1.2", "==1.2", ">=1,<2" and "1.2" stay apart: a single "=" means "begins with".
void take_version(CondaPackage& package, std::string_view rest) {
  rest = base::trim(rest);
  if (rest.starts_with('=') && !rest.starts_with("==")) rest.remove_prefix(1);
  const std::size_t from = rest.find_first_not_of("=<>!~");
  const std::size_t build = from == std::string_view::npos ? from : rest.find('=', from);
  const bool is_range = rest.find_first_of("<>!~,|") != std::string_view::npos;
  if (build != std::string_view::npos && !is_range) {
    package.build = std::string(base::trim(rest.substr(build + 1)));
    rest = rest.substr(0, build);
  }
  for (char c : rest)
    if (c != ' ') package.version.push_back(c);
}

}  // namespace

base::Result<CondaPackage> parse_conda_package(std::string_view text) {
  std::string_view rest = base::trim(text.substr(0, text.find(" #")));
  CondaPackage package;
  if (auto scope = rest.find("::"); scope != std::string_view::npos) {
    package.channel = std::string(rest.substr(0, scope));
    rest = rest.substr(scope + 2);
  }
  if (rest.find_first_of(std::string_view("[]\n\0", 4)) != std::string_view::npos) return refuse(text);
  const std::size_t end = std::min(rest.find_first_of(" =<>!~"), rest.size());
  package.name = base::to_lower(rest.substr(0, end));
  if (!is_name(package.name)) return refuse(text);
  take_version(package, rest.substr(end));
  return package;
}

}  // namespace lathe::envs
