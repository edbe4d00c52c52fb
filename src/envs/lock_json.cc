#include "envs/lock_json.h"

#include <boost/json.hpp>
#include <map>

#include "base/strings.h"
#include "envs/engine_arguments.h"

namespace lathe::envs {
namespace {

namespace json = boost::json;
using base::Code;
using base::Result;

const std::map<PackageSource, std::string> kSources{{PackageSource::index, "index"},
                                                    {PackageSource::built, "built"},
                                                    {PackageSource::file, "file"},
                                                    {PackageSource::git, "git"},
                                                    {PackageSource::url, "url"}};

json::object package_to_json(const LockedPackage& package) {
  json::array files;
  for (const auto& file : package.files) files.push_back({{"name", file.name}, {"sha256", file.sha256.hex()}});
  json::object out{{"name", package.name},
                   {"version", package.version},
                   {"source", kSources.at(package.source)},
                   {"files", std::move(files)}};
  if (!package.url.empty()) out["url"] = package.url;
  if (!package.commit.empty()) out["commit"] = package.commit;
  return out;
}

json::object sources_to_json(const Sources& sources) {
  auto list = [](const std::vector<std::string>& items) { return json::array(items.begin(), items.end()); };
  return {{"index", sources.index},
          {"extra_indexes", list(sources.extra_indexes)},
          {"find_links", list(sources.find_links)}};
}

// Reads members and remembers the first that is missing or of the wrong kind.
class Reader {
 public:
  std::string text(const json::object& object, std::string_view key) {
    const json::value* found = object.if_contains(key);
    if (found && found->is_string()) return std::string(found->get_string());
    wrong(key);
    return {};
  }
  base::Digest digest(const json::object& object, std::string_view key) {
    auto parsed = base::Digest::parse(text(object, key));
    if (!parsed) wrong(key);
    return parsed.value_or(base::Digest{});
  }
  const json::object& object(const json::object& parent, std::string_view key) {
    const json::value* found = parent.if_contains(key);
    if (found && found->is_object()) return found->get_object();
    wrong(key);
    return empty_;
  }
  template <class Take>
  void each(const json::object& parent, std::string_view key, Take take) {
    const json::value* found = parent.if_contains(key);
    if (!found || !found->is_array()) return wrong(key);
    for (const auto& item : found->get_array()) item.is_object() ? take(item.get_object()) : wrong(key);
  }
  std::vector<std::string> texts(const json::object& parent, std::string_view key) {
    std::vector<std::string> out;
    const json::value* found = parent.if_contains(key);
    if (!found || !found->is_array()) return wrong(key), out;
    for (const auto& item : found->get_array())
      item.is_string() ? (void)out.emplace_back(item.get_string()) : wrong(key);
    return out;
  }
  void wrong(std::string_view key) {
    if (problem_.empty()) problem_ = key;
  }
  const std::string& problem() const { return problem_; }

 private:
  std::string problem_;
  json::object empty_;
};

PackageSource source_of(Reader& reader, const std::string& word) {
  for (const auto& [source, name] : kSources)
    if (name == word) return source;
  reader.wrong("source");
  return PackageSource::index;
}

LockedPackage read_package(Reader& reader, const json::object& object) {
  LockedPackage out{reader.text(object, "name"),
                    reader.text(object, "version"),
                    source_of(reader, reader.text(object, "source")),
                    {},
                    {},
                    {}};
  reader.each(object, "files", [&](const json::object& file) {
    out.files.push_back({reader.text(file, "name"), reader.digest(file, "sha256")});
  });
  // The names end up in requirement files: nothing but a name may stand there.
  if (distribution_name(out.name) != out.name || out.version.find_first_of(" \n;#@") != std::string::npos)
    reader.wrong("name");
  const bool git = out.source == PackageSource::git;
  if (git || out.source == PackageSource::url) {
    out.url = reader.text(object, "url");
    if (out.url.find_first_of(" \n#") != std::string::npos) reader.wrong("url");
  }
  if (git) out.commit = reader.text(object, "commit");
  if (git && !base::from_hex(out.commit)) reader.wrong("commit");
  if (!git && out.files.empty()) reader.wrong("files");
  for (const auto& file : out.files)
    if (file.name.find('/') != std::string::npos || file.name.starts_with('.')) reader.wrong("files");
  return out;
}

LockedConda read_conda(Reader& reader, const json::object& object) {
  LockedConda out{reader.text(object, "name"),     reader.text(object, "version"), reader.text(object, "build"),
                  reader.text(object, "subdir"),   reader.text(object, "channel"), reader.text(object, "file"),
                  reader.digest(object, "sha256"), reader.text(object, "noarch"),  0,
                  reader.texts(object, "depends")};
  const json::value* number = object.if_contains("build_number");
  number && number->is_int64() ? (void)(out.build_number = number->get_int64()) : reader.wrong("build_number");
  if (out.file.find('/') != std::string::npos || out.subdir.find('/') != std::string::npos) reader.wrong("file");
  return out;
}

void read_rest(Reader& reader, const json::object& object, LockContent& out) {
  const auto& sources = reader.object(object, "sources");
  out.sources = {reader.text(sources, "index"), reader.texts(sources, "extra_indexes"),
                 reader.texts(sources, "find_links")};
  const auto& image = reader.object(object, "image");
  out.image = {reader.text(image, "reference"),
               reader.text(image, "id"),
               reader.text(image, "manifest"),
               reader.text(image, "dockerfile"),
               {}};
  if (image.contains("arguments")) out.image.arguments = reader.texts(image, "arguments");
  // It becomes an argument of the container engine.
  if (!out.image.id.empty() && !base::Digest::parse(out.image.id)) reader.wrong("image");
  if (out.image.reference.starts_with('-')) reader.wrong("image");
  if (auto own = engine_arguments(out.image.arguments, ""); !own || *own != out.image.arguments) reader.wrong("image");
  for (const auto& [name, value] : reader.object(object, "variables"))
    value.is_string() ? (void)out.variables.emplace(name, value.get_string()) : reader.wrong("variables");
  const auto& sdk = reader.object(object, "sdk");
  out.sdk_version = reader.text(sdk, "version");
  out.sdk_sha256 = reader.digest(sdk, "sha256");
  const auto& era = reader.object(object, "era");
  out.era = {reader.text(era, "as_of"), reader.text(era, "rule"), reader.text(era, "because")};
  reader.each(object, "substitutions", [&](const json::object& one) {
    out.substitutions.push_back(
        {reader.text(one, "rule"), reader.text(one, "asked"), reader.text(one, "given"), reader.text(one, "why")});
  });
}

// Arguments only where there are some, as locks had none at first.
json::object image_to_json(const LockedImage& image) {
  json::object out{
      {"reference", image.reference}, {"id", image.id}, {"manifest", image.manifest}, {"dockerfile", image.dockerfile}};
  if (!image.arguments.empty()) out["arguments"] = json::array(image.arguments.begin(), image.arguments.end());
  return out;
}

}  // namespace

json::object conda_to_json(const LockedConda& one) {
  return {{"name", one.name},
          {"version", one.version},
          {"build", one.build},
          {"build_number", one.build_number},
          {"subdir", one.subdir},
          {"noarch", one.noarch},
          {"depends", json::array(one.depends.begin(), one.depends.end())},
          {"channel", one.channel},
          {"file", one.file},
          {"sha256", one.sha256.hex()}};
}

Result<std::vector<LockedConda>> conda_from_json(const json::array& list) {
  Reader reader;
  std::vector<LockedConda> out;
  for (const auto& item : list)
    item.is_object() ? out.push_back(read_conda(reader, item.get_object())) : reader.wrong("conda");
  if (!reader.problem().empty())
    return base::fail(Code::corrupt, "a conda package's '{}' is missing or wrong", reader.problem());
  return out;
}

json::object lock_to_json(const LockContent& content) {
  json::array packages, conda, substitutions;
  for (const auto& package : content.packages) packages.push_back(package_to_json(package));
  for (const auto& package : content.conda) conda.push_back(conda_to_json(package));
  for (const auto& one : content.substitutions)
    substitutions.push_back({{"rule", one.rule}, {"asked", one.asked}, {"given", one.given}, {"why", one.why}});
  json::object variables;
  for (const auto& [name, value] : content.variables) variables[name] = value;
  return {
      {"format", kLockFormat},
      {"platform", content.platform},
      {"python", {{"asked", content.python_asked}, {"given", content.python}, {"interpreter", content.interpreter}}},
      {"packages", std::move(packages)},
      {"conda", std::move(conda)},
      {"sources", sources_to_json(content.sources)},
      {"image", image_to_json(content.image)},
      {"variables", std::move(variables)},
      {"sdk", {{"version", content.sdk_version}, {"sha256", content.sdk_sha256.hex()}}},
      {"era", {{"as_of", content.era.as_of}, {"rule", content.era.rule}, {"because", content.era.because}}},
      {"substitutions", std::move(substitutions)}};
}

Result<LockContent> lock_from_json(const json::object& object) {
  const json::value* format = object.if_contains("format");
  if (!format || !format->is_int64()) return base::fail(Code::invalid, "this is not the lock of an environment");
  if (format->get_int64() != kLockFormat)
    return base::fail(base::Error(Code::unsupported,
                                  fmt::format("the lock has format {}, known is {}", format->get_int64(), kLockFormat))
                          .hint("it was written by a newer Lathe: upgrade this one, or lock the environment again"));
  Reader reader;
  LockContent out;
  out.platform = reader.text(object, "platform");
  const auto& python = reader.object(object, "python");
  out.python_asked = reader.text(python, "asked");
  out.python = reader.text(python, "given");
  out.interpreter = reader.text(python, "interpreter");
  reader.each(object, "packages", [&](const json::object& one) { out.packages.push_back(read_package(reader, one)); });
  reader.each(object, "conda", [&](const json::object& one) { out.conda.push_back(read_conda(reader, one)); });
  read_rest(reader, object, out);
  if (!reader.problem().empty())
    return base::fail(base::Error(Code::invalid, fmt::format("the lock's '{}' is missing or wrong", reader.problem()))
                          .field(reader.problem()));
  return out;
}

}  // namespace lathe::envs
