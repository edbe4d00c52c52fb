// Metrics: counters and histograms in Prometheus' text form. Home thread only.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "base/time.h"

namespace lathe::server {

// Latencies in powers of four from 0.25 ms to 65 s: enough to see a tail, few enough to be cheap.
class Histogram {
 public:
  void observe(base::Duration duration);
  void render(std::string& out, const std::string& name, const std::string& labels) const;

 private:
  static constexpr std::array kBoundsMillis{0.25, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0};
  std::array<std::uint64_t, kBoundsMillis.size() + 1> buckets_{};
  std::uint64_t count_ = 0;
  double sum_seconds_ = 0;
};

class Metrics {
 public:
  void count_request(const std::string& operation, int status, base::Duration took);
  void add(const std::string& counter, std::uint64_t amount = 1) { counters_[counter] += amount; }
  void set(const std::string& gauge, double value) { gauges_[gauge] = value; }
  void observe(const std::string& histogram, base::Duration took) { histograms_[histogram].observe(took); }
  std::string render() const;

 private:
  struct Requests {
    std::map<int, std::uint64_t> by_status;
    Histogram latency;
  };
  std::map<std::string, Requests> requests_;
  std::map<std::string, std::uint64_t> counters_;
  std::map<std::string, double> gauges_;
  std::map<std::string, Histogram> histograms_;
};

}  // namespace lathe::server
