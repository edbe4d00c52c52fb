#include "model/dataset.h"

#include <fmt/format.h>

#include "base/digest.h"

namespace lathe::model {
namespace {

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string_view extension_of(std::string_view path) {
  auto name = name_of(path);
  auto dot = name.rfind('.');
  return dot == name.npos || dot == 0 ? std::string_view() : name.substr(dot);
}

std::optional<std::string_view> text_fact(FileFilter::Fact fact, const FileFacts& file) {
  switch (fact) {
    case FileFilter::Fact::path:
      return file.path;
    case FileFilter::Fact::name:
      return name_of(file.path);
    case FileFilter::Fact::extension:
      return extension_of(file.path);
    default:
      return std::nullopt;
  }
}

std::optional<double> number_fact(FileFilter::Fact fact, const FileFacts& file) {
  if (fact == FileFilter::Fact::size && file.size) return static_cast<double>(*file.size);
  if (fact == FileFilter::Fact::modified && file.modified) return static_cast<double>(file.modified->micros) / 1e6;
  return std::nullopt;
}

template <class T>
bool compare(FileFilter::Op op, const T& a, const T& b) {
  switch (op) {
    case FileFilter::Op::equal:
      return a == b;
    case FileFilter::Op::unequal:
      return a != b;
    case FileFilter::Op::less:
      return a < b;
    case FileFilter::Op::at_most:
      return a <= b;
    case FileFilter::Op::more:
      return a > b;
    case FileFilter::Op::at_least:
      return a >= b;
    default:
      return false;
  }
}

}  // namespace

bool FileFilter::accepts(const FileFacts& file) const {
  auto accept = [&](const FileFilter& part) { return part.accepts(file); };
  if (op == Op::all) return std::ranges::all_of(parts, accept);
  if (op == Op::any) return std::ranges::any_of(parts, accept);
  if (op == Op::none) return std::ranges::none_of(parts, accept);
  if (const auto* wanted = std::get_if<std::string>(&value)) {
    auto text = text_fact(fact, file);
    if (!text) return false;
    if (op == Op::begins) return text->starts_with(*wanted);
    if (op == Op::ends) return text->ends_with(*wanted);
    if (op == Op::contains) return text->contains(*wanted);
    return compare(op, *text, std::string_view(*wanted));
  }
  auto number = number_fact(fact, file);
  const auto* whole = std::get_if<std::int64_t>(&value);
  return number && compare(op, *number, whole ? static_cast<double>(*whole) : std::get<double>(value));
}

double share_of(std::int64_t seed, std::size_t step, std::string_view path) {
  auto digest = base::sha256(fmt::format("{}\n{}\n{}", seed, step, path));
  std::uint64_t bits = 0;
  for (int i = 0; i < 8; ++i) bits = bits << 8 | digest.bytes[static_cast<std::size_t>(i)];
  return static_cast<double>(bits >> 11) / 9007199254740992.0;  // 53 bits: every one of them exact
}

FileSelection::FileSelection(const std::vector<FileStep>& steps, std::vector<std::int64_t> counts)
    : steps_(steps), counts_(std::move(counts)) {
  counts_.resize(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i)
    over_ = over_ || (steps[i].kind == FileStep::Kind::take && counts_[i] >= steps[i].count);
}

bool FileSelection::passes(std::size_t index, const FileFacts& file) {
  const FileStep& step = steps_[index];
  switch (step.kind) {
    case FileStep::Kind::take:
      if (counts_[index] >= step.count) return false;
      over_ = ++counts_[index] == step.count || over_;
      return true;
    case FileStep::Kind::skip:
      if (counts_[index] >= step.count) return true;
      ++counts_[index];
      return false;
    case FileStep::Kind::sample:
      return share_of(step.seed, index, file.path) < step.probability;
    case FileStep::Kind::split:
      return (share_of(step.seed, index, file.path) < step.probability) == (step.part == 0);
    case FileStep::Kind::filter:
      return step.filter.accepts(file);
  }
  return false;
}

bool FileSelection::admits(const FileFacts& file) {
  for (std::size_t i = 0; i < steps_.size(); ++i)
    if (!passes(i, file)) return false;
  return true;
}

}  // namespace lathe::model
