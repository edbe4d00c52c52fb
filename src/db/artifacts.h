// Rows of `artifacts`: the files that a run has left, by their path.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "db/page.h"
#include "db/sqlite.h"

namespace lathe::db::artifacts {

struct Artifact {
  std::string path;
  base::Digest digest;
  std::int64_t size = 0;
  bool executable = false;
  int attempt = 0;
  base::UtcTime updated;
  bool operator==(const Artifact&) const = default;
};

// A later content of a path replaces the earlier one.
void upsert(Connection& connection, std::int64_t run, std::span<const Artifact> files);
std::optional<Artifact> find(Connection& connection, std::int64_t run, std::string_view path);
// By path; only those that begin with `prefix`.
Page<Artifact> list(Connection& connection, std::int64_t run, std::string_view prefix, int limit,
                    std::string_view cursor = {});

// Every digest that a row names: artifacts, log segments, files of datastores and of URLs; and, as trees (what they
// hold is for the collector to follow), snapshots of runs, models and datasets. A digest may come more than once.
void visit_references(Connection& connection, const std::function<void(const base::Digest&, bool is_tree)>& visit);

}  // namespace lathe::db::artifacts
