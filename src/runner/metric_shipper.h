// MetricShipper: brings the metric journals of a script to the server, each line exactly once. A journal is a file
// `<source>.jsonl` in the spool's metrics folder, which the script only appends to; the server says how much of it it
// has. ship() sends what is there; MetricThread does so live while the script runs. How much of a journal is stored is
// told to the script by the target of the link `<source>.at`, so that it can wait for it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "runner/inbox.h"
#include "runner/retry.h"
#include "runner/server_link.h"
#include "sys/fd.h"

namespace lathe::runner {

class MetricShipper {
 public:
  explicit MetricShipper(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const { return folder_; }
  bool has_journals() const { return !list().empty(); }
  // Sends all whole lines that the server does not have yet. A journal that cannot be read or that the server refuses
  // is given up, and never costs the others.
  base::Result<void> ship(ServerLink& link);
  // What did not get through, for people: journals that were given up, ends without a line break, and records that the
  // script could not write.
  std::vector<std::string> problems() const;

 private:
  struct Journal {
    bool asked = false;        // whether the server was asked where it stands
    std::uint64_t offset = 0;  // the first byte that it does not have
    std::string given_up;      // why
    std::string told;          // to the script
  };
  std::vector<std::string> list() const;
  std::string problem_of(const std::string& name, const Journal& journal) const;
  // By a link and not a file: a link is whole or not there, needs no block of a full disk, and whatever the script has
  // put in its place is replaced and never written to.
  void tell(const std::string& name, Journal& journal) const;
  base::Result<void> ship_journal(ServerLink& link, const std::string& name, Journal& journal);

  const std::filesystem::path folder_;
  std::map<std::string, Journal> journals_;  // by file name
};

// Runs a MetricShipper on a thread of its own, with a link of its own, from the first change in its folder on.
class MetricThread {
 public:
  // `notify`: an inotify descriptor that watches the folder (watch_metrics); read by this thread from now on. Without
  // one, the thread looks again every second.
  MetricThread(MetricShipper& shipper, std::unique_ptr<ServerLink> link, sys::Fd notify, Inbox& inbox,
               BackoffLimits limits);
  ~MetricThread() { stop(); }
  void stop();

 private:
  void run();

  MetricShipper& shipper_;
  std::unique_ptr<ServerLink> link_;
  sys::Fd notify_, stop_event_;
  Inbox& inbox_;
  Backoff backoff_;
  std::thread thread_;
};

// Becomes readable with every change of a file in the folder; invalid where the kernel has no watch left.
sys::Fd watch_metrics(const std::filesystem::path& folder);

}  // namespace lathe::runner
