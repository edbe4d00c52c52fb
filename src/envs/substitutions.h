// Substitutions: the site's table of what is given where what is asked for cannot be had (share/substitutions.yaml).
// Pure data with lookups; who applies it (locker) also records each replacement.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace lathe::envs {

struct PackageRule {
  enum class When { always, no_gpu, with };
  std::string asked;             // pattern with *
  std::string versions, python;  // ranges
  When when = When::always;
  std::vector<std::string> with;   // "tensorflow>=2.6": name and range
  std::vector<std::string> given;  // names, or "name==version"; {"none"}: it is left out
  std::string refuse, why;
};

struct ImageRule {
  std::string asked;  // pattern with *
  std::string given;  // reference, or "none"
  std::string why;
};

class Substitutions {
 public:
  // Empty text: the built-in table.
  static base::Result<Substitutions> parse(std::string_view yaml);

  // Minor versions to try instead of "3.6", in order, out of 3.5 to 3.20.
  std::vector<std::string> pythons_instead(std::string_view minor) const;
  bool may_take_nearest(std::string_view package) const;
  const ImageRule* for_image(std::string_view reference) const;

  // What a rule sees: the pin (empty without), whether there is a GPU, and versions of other packages by name.
  struct Question {
    std::string name, version;
    bool has_gpu = false;
    std::map<std::string, std::string> others;
    std::string python = {};  // "3.6"
  };
  const PackageRule* for_package(const Question& question) const;

 private:
  std::map<std::string, std::vector<std::string>> python_;  // without an entry: nearest, where nearest_python_
  bool nearest_python_ = false;
  std::vector<PackageRule> packages_;
  std::vector<std::string> nearest_;
  std::vector<ImageRule> images_;
};

// "a*c" against a text.
bool matches_pattern(std::string_view pattern, std::string_view text);

}  // namespace lathe::envs
