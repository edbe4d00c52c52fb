#include "envs/replacement.h"

#include <algorithm>

#include "envs/pip_lines.h"

namespace lathe::envs {
namespace {

using base::Code;
using base::Error;
using base::Result;

// "old[x]==1; m" with another name.
std::string renamed(const std::string& requirement, const std::string& name) {
  auto end = requirement.find_first_of("[<>=!~; @(");
  return name + (end == std::string::npos ? "" : requirement.substr(end));
}

std::string repinned(const std::string& requirement, const std::string& version) {
  auto marker = requirement.find(';');
  return requirement.substr(0, requirement.find("==")) + "==" + version +
         (marker == std::string::npos ? "" : requirement.substr(marker));
}

bool is_dated(const std::string& requirement) {
  if (is_direct_reference(requirement)) return false;
  auto equal = requirement.find("==");
  return exact_pin(requirement) || (equal != std::string::npos && requirement.find(".*") != std::string::npos &&
                                    requirement.find_first_of(",<>!~") > equal);
}

Error refusal(const PackageRule& rule, const std::string& asked) {
  return Error(Code::unsupported, fmt::format("{}: {}", asked, rule.refuse))
      .field("python.condaDependencies")
      .hint(rule.why);
}

class Replacer {
 public:
  Replacer(const Settings& settings, const Substitutions& table, const PythonChoice& python, PinLookup& lookup)
      : settings_(settings), table_(table), python_(python), lookup_(lookup) {}

  Result<Replaced> run(const std::vector<std::string>& asked) {
    out_.requirements = asked;
    for (auto& requirement : out_.requirements) LATHE_TRY_VOID(apply_rule(requirement, false));
    std::erase(out_.requirements, std::string());
    LATHE_TRY_VOID(lookup_.prepare(dated(out_.requirements)));
    for (auto& requirement : out_.requirements) LATHE_TRY_VOID(move_pin(requirement));
    for (auto& requirement : out_.requirements) LATHE_TRY_VOID(apply_rule(requirement, true));
    LATHE_TRY_VOID(date_pins());
    return std::move(out_);
  }

 private:
  static std::vector<std::string> dated(const std::vector<std::string>& requirements) {
    std::vector<std::string> out;
    std::ranges::copy_if(requirements, std::back_inserter(out), is_dated);
    return out;
  }

  // Rules about other packages (`with`) come last, when those have got their versions.
  Result<void> apply_rule(std::string& requirement, bool with_others) {
    if (is_direct_reference(requirement)) return {};
    Substitutions::Question question{distribution_name(requirement),
                                     exact_pin(requirement).value_or(""),
                                     settings_.has_gpu,
                                     {},
                                     python_.interpreter.minor};
    if (with_others)
      for (const auto& other : out_.requirements)
        if (auto pin = exact_pin(other)) question.others[distribution_name(other)] = *pin;
    const PackageRule* rule = table_.for_package(question);
    if (!rule || (rule->when == PackageRule::When::with) != with_others) return {};
    if (!rule->refuse.empty()) return base::fail(refusal(*rule, requirement));
    if (rule->given.front() == "none") return leave_out(requirement, *rule);
    LATHE_TRY(auto given, first_that_exists(requirement, *rule));
    return replace(requirement, given, rule->asked, rule->why);
  }

  Result<void> leave_out(std::string& requirement, const PackageRule& rule) {
    LATHE_TRY_VOID(replace(requirement, "nothing", rule.asked, rule.why));
    requirement.clear();
    return {};
  }

  Result<std::string> first_that_exists(const std::string& requirement, const PackageRule& rule) {
    auto with_version = [&](const std::string& given) {
      return given.find("==") == std::string::npos ? renamed(requirement, given) : given;
    };
    for (const auto& given : rule.given) {
      const std::string candidate = with_version(given);
      if (!exact_pin(candidate)) return candidate;
      LATHE_TRY(auto looked, lookup_.find(candidate));
      if (looked.state != Looked::State::missing) return candidate;
    }
    return with_version(rule.given.front());  // exists nowhere here: the nearest version is looked for next
  }

  Result<void> move_pin(std::string& requirement) {
    auto pin = is_direct_reference(requirement) ? std::nullopt : exact_pin(requirement);
    const std::string name = distribution_name(requirement);
    if (!pin || !table_.may_take_nearest(name)) return {};
    LATHE_TRY(bool suits, suits_python(requirement));
    if (suits) return {};
    LATHE_TRY(auto near, lookup_.nearest(name, *pin));
    if (!near) return {};  // uv will say what is wrong
    out_.moved.push_back(name);
    return replace(requirement, repinned(requirement, *near), "nearest",
                   fmt::format("{} {} has no wheel for Python {}", name, *pin, python_.interpreter.minor));
  }

  // With the Python that was asked for, a source package is what the author wanted. With another one, a package that
  // had wheels for the asked one would have to be compiled with a Python it does not know.
  Result<bool> suits_python(const std::string& requirement) {
    LATHE_TRY(auto here, lookup_.find(requirement));
    if (here.state == Looked::State::excluded) return true;
    if (here.state == Looked::State::found && (!here.package.wheels.empty() || !python_.substitution)) return true;
    if (here.state == Looked::State::missing) return false;
    LATHE_TRY(auto there, lookup_.find(requirement, python_.asked));
    return there.state != Looked::State::found || there.package.wheels.empty();
  }

  Result<void> replace(std::string& requirement, const std::string& given, const std::string& rule,
                       const std::string& why) {
    if (requirement == given) return {};
    if (settings_.strict)
      return base::fail(Error(Code::unsupported, fmt::format("{} cannot be had: {}", requirement, why))
                            .field("python.condaDependencies")
                            .hint(fmt::format("strict: true forbids {} instead; change the environment", given)));
    out_.substitutions.push_back({rule, requirement, given, why});
    requirement = given;
    return {};
  }

  Result<void> date_pins() {
    for (const auto& requirement : dated(out_.requirements)) {
      LATHE_TRY(auto looked, lookup_.find(requirement));
      if (looked.state == Looked::State::found)
        out_.pins.push_back({looked.package.name, looked.package.version, looked.package.first_upload()});
    }
    return {};
  }

  const Settings& settings_;
  const Substitutions& table_;
  const PythonChoice& python_;
  PinLookup& lookup_;
  Replaced out_;
};

}  // namespace

Result<Replaced> replace_packages(const Settings& settings, const Substitutions& table, const PythonChoice& python,
                                  const std::vector<std::string>& requirements, PinLookup& lookup) {
  return Replacer(settings, table, python, lookup).run(requirements);
}

Result<void> check_combination(const Settings& settings, const Substitutions& table,
                               const std::vector<PylockPackage>& packages) {
  std::map<std::string, std::string> versions;
  for (const auto& package : packages) versions[package.name] = package.version;
  for (const auto& [name, version] : versions) {
    const PackageRule* rule = table.for_package({name, version, settings.has_gpu, versions});
    if (rule && !rule->refuse.empty()) return base::fail(refusal(*rule, fmt::format("{} {}", name, version)));
  }
  return {};
}

}  // namespace lathe::envs
