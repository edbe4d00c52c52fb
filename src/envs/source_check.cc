#include "envs/source_check.h"

#include <cctype>

#include "base/strings.h"

namespace lathe::envs {
namespace {

constexpr const char* kPip = "python.condaDependencies.dependencies.pip";
constexpr const char* kChannels = "python.condaDependencies.channels";

// Every "scheme:…" in a line: "x @ git+https://host/r@c ; marker" → "git+https://host/r@c".
void add_urls(std::vector<NamedUrl>& out, std::string_view line, const char* field) {
  auto is_of_scheme = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '.' || c == '-';
  };
  for (auto at = line.find("://"); at != line.npos; at = line.find("://", at + 3)) {
    auto from = at;
    while (from > 0 && is_of_scheme(line[from - 1])) --from;
    const auto end = line.find_first_of(" \t", at);
    out.push_back({std::string(line.substr(from, end == line.npos ? line.npos : end - from)), field});
  }
  // "file:/etc" and "file:etc" are URLs, too.
  const auto lower = base::to_lower(line);
  for (auto at = lower.find("file:"); at != lower.npos; at = lower.find("file:", at + 5))
    if (lower.compare(at, 7, "file://") != 0 && (at == 0 || !is_of_scheme(lower[at - 1]) || lower[at - 1] == '+'))
      out.push_back({std::string(line.substr(at, line.find_first_of(" \t", at) - at)), field});
}

}  // namespace

std::vector<NamedUrl> named_urls(const Spec& spec) {
  std::vector<NamedUrl> out;
  add_urls(out, spec.options.index, kPip);
  for (const auto* list : {&spec.options.extra_indexes, &spec.options.find_links, &spec.options.requirement_files,
                           &spec.options.constraint_files, &spec.pip})
    for (const auto& line : *list) add_urls(out, line, kPip);
  for (const auto& channel : spec.channels) {
    if (channel.starts_with('/')) out.push_back({"file://" + channel, kChannels});
    add_urls(out, channel, kChannels);
  }
  return out;
}

base::Result<void> check_sources(const Spec& spec, const UrlCheck& check) {
  if (!check) return {};
  for (const auto& [url, field] : named_urls(spec)) {
    auto checked = check(url);
    if (!checked) return base::fail(std::move(checked).error().field(field));
  }
  return {};
}

}  // namespace lathe::envs
