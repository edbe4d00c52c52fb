#include "server/alias_wheels.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/crc.hpp>

#include "base/base64.h"
#include "base/digest.h"

namespace lathe::server {
namespace {

// Minor versions first..last of a major one, each with patches 0..patches.
struct Series {
  int major, first, last, patches;
};
// As the vendor counted: a long 1.0, then a minor version for each month.
constexpr Series kMonthly[] = {{0, 1, 1, 85}, {1, 0, 0, 90}, {1, 1, 65, 6}};
constexpr Series kDataprep[] = {{0, 1, 5, 9},  {1, 0, 1, 60}, {1, 2, 12, 9}, {2, 0, 40, 9},
                                {3, 0, 20, 9}, {4, 0, 20, 9}, {5, 0, 10, 9}};
constexpr Series kInferenceServer[] = {{0, 1, 8, 15}, {1, 0, 8, 9}};
constexpr std::string_view kSuffix = "-py3-none-any.whl";

void add_series(std::vector<std::string>& out, const Series& series) {
  for (int minor = series.first; minor <= series.last; ++minor)
    for (int patch = 0; patch <= series.patches; ++patch)
      out.push_back(fmt::format("{}.{}.{}", series.major, minor, patch));
}

std::string underscored(std::string_view project) {
  std::string out(project);
  std::ranges::replace(out, '-', '_');
  return out;
}

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
}

// A zip file of stored files, as small as the format allows, with the date at which zip begins.
class ZipWriter {
 public:
  void add(std::string_view name, std::string_view bytes) {
    boost::crc_32_type crc;
    crc.process_bytes(bytes.data(), bytes.size());
    std::string common;  // of both heads of a file: from the needed version to the length of the extra field
    put(common, 20, 2), put(common, 0, 2), put(common, 0, 2);
    put(common, 0, 2), put(common, 1 << 5 | 1, 2);  // 1980-01-01
    put(common, crc.checksum(), 4), put(common, bytes.size(), 4), put(common, bytes.size(), 4);
    put(common, name.size(), 2), put(common, 0, 2);
    put(directory_, 0x02014b50, 4), put(directory_, 3 << 8 | 20, 2);
    directory_ += common;
    put(directory_, 0, 2), put(directory_, 0, 2), put(directory_, 0, 2);
    put(directory_, std::uint64_t{0100644} << 16, 4), put(directory_, out_.size(), 4);
    directory_ += name;
    put(out_, 0x04034b50, 4);
    out_.append(common).append(name).append(bytes);
    ++files_;
  }
  std::string finish() {
    const std::size_t start = out_.size();
    out_ += directory_;
    put(out_, 0x06054b50, 4), put(out_, 0, 4), put(out_, files_, 2), put(out_, files_, 2);
    put(out_, directory_.size(), 4), put(out_, start, 4), put(out_, 0, 2);
    return std::move(out_);
  }

 private:
  std::string out_, directory_;
  std::uint64_t files_ = 0;
};

}  // namespace

std::vector<std::string> alias_versions(std::string_view project) {
  std::vector<std::string> out;
  if (project == "azureml-dataprep") {
    for (const auto& series : kDataprep) add_series(out, series);
    return out;
  }
  if (project == "azureml-inference-server-http")
    for (const auto& series : kInferenceServer) add_series(out, series);
  for (const auto& series : kMonthly) add_series(out, series);
  for (int patch = 0; patch <= 90; ++patch) out.push_back(fmt::format("1.0.{}.1", patch));
  for (int minor = 1; minor <= 65; ++minor)
    for (const char* rest : {"0.post1", "0.post2", "0rc0"}) out.push_back(fmt::format("1.{}.{}", minor, rest));
  return out;
}

std::string alias_wheel_name(std::string_view project, std::string_view version) {
  return fmt::format("{}-{}{}", underscored(project), version, kSuffix);
}

bool parse_alias_wheel_name(std::string_view file, std::string& project, std::string& version) {
  if (!file.ends_with(kSuffix)) return false;
  file.remove_suffix(kSuffix.size());
  const auto dash = file.find('-');
  if (dash == file.npos) return false;
  project = file.substr(0, dash);
  std::ranges::replace(project, '_', '-');
  version = file.substr(dash + 1);
  const auto known = alias_versions(project);
  return std::ranges::find(known, version) != known.end();
}

std::string make_alias_wheel(std::string_view project, std::string_view version, std::string_view needs) {
  const std::string info = fmt::format("{}-{}.dist-info/", underscored(project), version);
  const std::pair<std::string, std::string> files[] = {
      {info + "METADATA", fmt::format("Metadata-Version: 2.1\nName: {}\nVersion: {}\nRequires-Python: >=3.6\n"
                                      "Summary: Stands for a package that Lathe replaces\nRequires-Dist: {}\n",
                                      project, version, needs)},
      {info + "WHEEL", "Wheel-Version: 1.0\nGenerator: lathe\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}};
  ZipWriter zip;
  std::string record;
  for (const auto& [name, bytes] : files) {
    zip.add(name, bytes);
    const auto digest = base::sha256(bytes);
    record += fmt::format(
        "{},sha256={},{}\n", name,
        base::to_base64({reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()}, base::Base64::url),
        bytes.size());
  }
  zip.add(info + "RECORD", record + info + "RECORD,,\n");
  return zip.finish();
}

}  // namespace lathe::server
