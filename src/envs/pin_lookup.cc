#include "envs/pin_lookup.h"

#include "envs/spec.h"

namespace lathe::envs {
namespace {

Question question_about(std::vector<std::string> requirements, const std::string& python_version) {
  Question question;
  question.requirements = std::move(requirements);
  question.python_version = python_version;
  question.dependencies = false;
  return question;
}

Looked looked_for(const std::vector<PylockPackage>& packages, const std::string& requirement) {
  for (const auto& package : packages)
    if (package.name == distribution_name(requirement)) return {Looked::State::found, package};
  return {Looked::State::excluded, {}};
}

}  // namespace

base::Result<void> PinLookup::prepare(const std::vector<std::string>& requirements, const std::string& python_version) {
  if (requirements.empty()) return {};
  auto packages = resolver_.ask(question_about(requirements, python_version));
  if (packages)
    for (const auto& one : requirements) known_[{one, python_version}] = looked_for(*packages, one);
  else if (packages.error().code() != base::Code::invalid)
    return std::unexpected(std::move(packages).error());
  return {};
}

base::Result<Looked> PinLookup::find(const std::string& requirement, const std::string& python_version) {
  auto known = known_.find({requirement, python_version});
  if (known != known_.end()) return known->second;
  LATHE_TRY_VOID(prepare({requirement}, python_version));
  return known_[{requirement, python_version}];
}

base::Result<std::optional<std::string>> PinLookup::only_version(Question question) {
  auto packages = resolver_.ask(question);
  if (packages && packages->size() == 1) return packages->front().version;
  if (!packages && packages.error().code() != base::Code::invalid) return std::unexpected(std::move(packages).error());
  return std::nullopt;
}

base::Result<std::optional<std::string>> PinLookup::nearest(const std::string& name, const std::string& version) {
  Question newer = question_about({name + ">=" + version}, {});
  newer.only_binary = {name};
  newer.resolution = "lowest";
  LATHE_TRY(auto found, only_version(newer));
  if (found) return found;
  Question older = question_about({name + "<" + version}, {});
  older.only_binary = {name};
  return only_version(older);
}

}  // namespace lathe::envs
