// PinLookup: what an index knows of single requirements for this interpreter, without their dependencies; remembered,
// so that each is asked once.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "envs/resolver.h"

namespace lathe::envs {

struct Looked {
  enum class State {
    found,
    excluded,  // its marker says: not for this Python
    missing,   // no file for this Python, or no such version
  };
  State state = State::missing;
  PylockPackage package;  // when found
};

class PinLookup {
 public:
  explicit PinLookup(Resolver& resolver) : resolver_(resolver) {}

  // Asks for all at once; most definitions need no other question.
  base::Result<void> prepare(const std::vector<std::string>& requirements, const std::string& python_version = {});
  base::Result<Looked> find(const std::string& requirement, const std::string& python_version = {});
  // The nearest version with a wheel for this interpreter: the next newer one, else the next older one.
  base::Result<std::optional<std::string>> nearest(const std::string& name, const std::string& version);

 private:
  base::Result<std::optional<std::string>> only_version(Question question);
  Resolver& resolver_;
  std::map<std::pair<std::string, std::string>, Looked> known_;
};

}  // namespace lathe::envs
