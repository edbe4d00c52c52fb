#include "server/metrics.h"

#include <fmt/format.h>

#include <iterator>

namespace lathe::server {

void Histogram::observe(base::Duration duration) {
  double millis = std::chrono::duration<double, std::milli>(duration).count();
  std::size_t bucket = 0;
  while (bucket < kBoundsMillis.size() && millis > kBoundsMillis[bucket]) ++bucket;
  ++buckets_[bucket];
  ++count_;
  sum_seconds_ += millis / 1000;
}

void Histogram::render(std::string& out, const std::string& name, const std::string& labels) const {
  auto to = std::back_inserter(out);
  std::string comma = labels.empty() ? "" : ",";
  std::uint64_t running = 0;
  for (std::size_t i = 0; i < kBoundsMillis.size(); ++i) {
    running += buckets_[i];
    fmt::format_to(to, "{}_bucket{{{}{}le=\"{}\"}} {}\n", name, labels, comma, kBoundsMillis[i] / 1000, running);
  }
  fmt::format_to(to, "{}_bucket{{{}{}le=\"+Inf\"}} {}\n", name, labels, comma, count_);
  std::string braces = labels.empty() ? "" : "{" + labels + "}";
  fmt::format_to(to, "{0}_sum{1} {2}\n{0}_count{1} {3}\n", name, braces, sum_seconds_, count_);
}

void Metrics::count_request(const std::string& operation, int status, base::Duration took) {
  // Unknown paths share one row: a client must not be able to grow the table.
  auto& row = requests_[operation.empty() ? "none" : operation];
  ++row.by_status[status];
  row.latency.observe(took);
}

std::string Metrics::render() const {
  std::string out;
  auto to = std::back_inserter(out);
  out += "# TYPE lathe_requests_total counter\n";
  for (const auto& [operation, row] : requests_)
    for (const auto& [status, count] : row.by_status)
      fmt::format_to(to, "lathe_requests_total{{operation=\"{}\",status=\"{}\"}} {}\n", operation, status, count);
  out += "# TYPE lathe_request_seconds histogram\n";
  for (const auto& [operation, row] : requests_)
    row.latency.render(out, "lathe_request_seconds", fmt::format("operation=\"{}\"", operation));
  for (const auto& [name, value] : counters_) fmt::format_to(to, "# TYPE {0} counter\n{0} {1}\n", name, value);
  for (const auto& [name, value] : gauges_) fmt::format_to(to, "# TYPE {0} gauge\n{0} {1}\n", name, value);
  for (const auto& [name, histogram] : histograms_) {
    fmt::format_to(to, "# TYPE {} histogram\n", name);
    histogram.render(out, name, "");
  }
  return out;
}

}  // namespace lathe::server
