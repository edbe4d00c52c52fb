#include "envs/substitutions.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "base/strings.h"
#include "envs/resources.h"
#include "envs/spec.h"
#include "envs/version.h"

namespace lathe::envs {
namespace {

using base::Code;
using base::Error;

constexpr int kOldestMinor = 5, kNewestMinor = 20;

[[noreturn]] void refuse(const std::string& message) { throw Error(Code::invalid, "substitutions: " + message); }

std::string text(const YAML::Node& rule, const char* key) {
  return rule[key] && rule[key].IsScalar() ? rule[key].Scalar() : std::string();
}

std::vector<std::string> texts(const YAML::Node& rule, const char* key) {
  std::vector<std::string> out;
  for (const auto& item : rule[key]) out.push_back(item.as<std::string>());
  return out;
}

void check_keys(const YAML::Node& map, std::initializer_list<std::string_view> known, const std::string& where) {
  if (!map.IsMap()) refuse(where + " must be a map");
  for (const auto& entry : map)
    if (std::ranges::find(known, entry.first.Scalar()) == known.end())
      refuse(fmt::format("unknown key '{}' in {}", base::printable(entry.first.Scalar()), where));
}

PackageRule read_package(const YAML::Node& node) {
  check_keys(node, {"asked", "versions", "python", "when", "with", "given", "refuse", "why"}, "packages");
  static const std::map<std::string, PackageRule::When> kWhen{{"", PackageRule::When::always},
                                                              {"always", PackageRule::When::always},
                                                              {"no-gpu", PackageRule::When::no_gpu},
                                                              {"with", PackageRule::When::with}};
  auto when = kWhen.find(text(node, "when"));
  if (when == kWhen.end()) refuse("`when` of a package must be always, no-gpu or with");
  PackageRule rule{base::to_lower(text(node, "asked")),
                   text(node, "versions"),
                   text(node, "python"),
                   when->second,
                   texts(node, "with"),
                   texts(node, "given"),
                   text(node, "refuse"),
                   text(node, "why")};
  if (rule.asked.empty() || (rule.given.empty() == rule.refuse.empty()))
    refuse("a package needs `asked`, and either `given` or `refuse`");
  return rule;
}

ImageRule read_image(const YAML::Node& node) {
  check_keys(node, {"asked", "given", "why"}, "images");
  ImageRule rule{text(node, "asked"), text(node, "given"), text(node, "why")};
  if (rule.asked.empty() || rule.given.empty()) refuse("an image needs `asked` and `given`");
  return rule;
}

bool applies(const PackageRule& rule, const Substitutions::Question& question) {
  if (!matches_pattern(rule.asked, question.name)) return false;
  if (!rule.versions.empty() && (question.version.empty() || !version_in_range(question.version, rule.versions)))
    return false;
  if (!rule.python.empty() && !version_in_range(question.python, rule.python)) return false;
  if (rule.when == PackageRule::When::no_gpu) return !question.has_gpu;
  if (rule.when == PackageRule::When::always) return true;
  return std::ranges::any_of(rule.with, [&](const std::string& other) {
    auto found = question.others.find(distribution_name(other));
    auto range = other.find_first_of("<>=!~");
    return found != question.others.end() &&
           version_in_range(found->second, range == std::string::npos ? "" : other.substr(range));
  });
}

}  // namespace

bool matches_pattern(std::string_view pattern, std::string_view text) {
  auto star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  pattern.remove_prefix(star + 1);
  for (std::size_t at = star; at <= text.size(); ++at)
    if (matches_pattern(pattern, text.substr(at))) return true;
  return false;
}

base::Result<Substitutions> Substitutions::parse(std::string_view yaml) {
  Substitutions out;
  try {
    YAML::Node root = YAML::Load(std::string(yaml.empty() ? resource("substitutions.yaml") : yaml));
    if (root.IsNull()) return out;
    check_keys(root, {"python", "packages", "nearest", "images"}, "the file");
    for (const auto& entry : root["python"]) {
      auto asked = entry.first.as<std::string>();
      if (entry.second.IsScalar() && entry.second.Scalar() == "nearest" && asked == "*")
        out.nearest_python_ = true;
      else
        out.python_[asked] = entry.second.as<std::vector<std::string>>();
    }
    for (const auto& node : root["packages"]) out.packages_.push_back(read_package(node));
    for (const auto& node : root["nearest"]) out.nearest_.push_back(node.as<std::string>());
    for (const auto& node : root["images"]) out.images_.push_back(read_image(node));
    return out;
  } catch (const Error& problem) {
    return std::unexpected(problem);
  } catch (const YAML::Exception& problem) {
    return base::fail(Code::invalid, "substitutions: {}", problem.what());
  }
}

std::vector<std::string> Substitutions::pythons_instead(std::string_view minor) const {
  for (const std::string& key : {std::string(minor), std::string("*")})
    if (auto found = python_.find(key); found != python_.end()) return found->second;
  if (!nearest_python_) return {};
  auto numbers = release_numbers(minor);
  const int asked = numbers.size() > 1 ? numbers[1] : kOldestMinor;
  std::vector<std::string> out;
  for (int newer = std::max(asked + 1, kOldestMinor); newer <= kNewestMinor; ++newer)
    out.push_back(fmt::format("3.{}", newer));
  for (int older = asked - 1; older >= kOldestMinor; --older) out.push_back(fmt::format("3.{}", older));
  return out;
}

bool Substitutions::may_take_nearest(std::string_view package) const {
  return std::ranges::any_of(nearest_, [&](const std::string& one) { return matches_pattern(one, package); });
}

const ImageRule* Substitutions::for_image(std::string_view reference) const {
  for (const auto& rule : images_)
    if (matches_pattern(rule.asked, reference)) return &rule;
  return nullptr;
}

const PackageRule* Substitutions::for_package(const Question& question) const {
  for (const auto& rule : packages_)
    if (applies(rule, question)) return &rule;
  return nullptr;
}

}  // namespace lathe::envs
