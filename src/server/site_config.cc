#include "server/site_config.h"

#include <unistd.h>
#include <fstream>
#include <sstream>

#include "base/strings.h"
#include "server/site_yaml.h"

namespace lathe::server {
namespace {

using base::Code;
using base::Error;
model::Machine read_machine(const YAML::Node& node) {
  const std::string prefix = "providers.local.machine";
  model::Machine machine;
  read_map(prefix, node,
           {
               {"cores",
                [&](auto& n) {
                  machine.millicores = static_cast<std::int64_t>(read_number(prefix + ".cores", n, 0.1, 1e6) * 1000);
                }},
               {"memory_gb",
                [&](auto& n) {
                  machine.memory_bytes =
                      static_cast<std::int64_t>(read_number(prefix + ".memory_gb", n, 0.01, 1e7) * (1 << 30));
                }},
               {"gpus", [&](auto& n) { machine.gpus = read_strings(prefix + ".gpus", n); }},
           });
  if (machine.millicores == 0 || machine.memory_bytes == 0)
    throw Error(Code::invalid, "config.yaml: " + prefix + " needs cores and memory_gb").field(prefix);
  return machine;
}

std::chrono::milliseconds read_seconds(const std::string& name, const YAML::Node& node, double least) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(read_number(name, node, least, 86400) * 1000));
}

std::string read_run_as(const std::string& key, const YAML::Node& node) {
  const std::string text = read_text(key, node);
  const bool is_named = text.starts_with("user ") && text.size() > 5 && text.find_first_of(":/ \t", 5) == text.npos;
  if (text != "slot" && text != "server" && !is_named) refuse(key, node, "slot, server, or 'user NAME'");
  return text;
}

std::vector<std::string> read_folders(const std::string& key, const YAML::Node& node) {
  auto folders = read_strings(key, node);
  for (const auto& folder : folders)
    if (!folder.starts_with('/')) refuse(key, node, "a list of absolute folders");
  return folders;
}

void read_local(SiteConfig& config, const YAML::Node& node) {
  const std::string prefix = "providers.local";
  read_map(prefix, node,
           {
               {"gpu",
                [&](auto& n) {
                  config.rules.gpu = read_word<model::GpuRule>(
                      prefix + ".gpu", n,
                      {{"optional", model::GpuRule::optional}, {"required", model::GpuRule::required}});
                }},
               {"size",
                [&](auto& n) {
                  config.rules.size = read_word<model::SizeRule>(
                      prefix + ".size", n, {{"fit", model::SizeRule::fit}, {"exact", model::SizeRule::exact}});
                }},
               {"launcher", [&](auto& n) { config.launcher = read_strings(prefix + ".launcher", n); }},
               {"work_dir", [&](auto& n) { config.work = read_absolute(prefix + ".work_dir", n); }},
               {"machine", [&](auto& n) { config.machine = read_machine(n); }},
               {"stop_margin_seconds",
                [&](auto& n) { config.stop_margin = read_seconds(prefix + ".stop_margin_seconds", n, 0); }},
               {"delivery_patience_seconds",
                [&](auto& n) { config.delivery_patience = read_seconds(prefix + ".delivery_patience_seconds", n, 1); }},
               {"box",
                [&](auto& n) {
                  config.box = read_word<BoxRule>(
                      prefix + ".box", n, {{"auto", BoxRule::automatic}, {"on", BoxRule::on}, {"off", BoxRule::off}});
                }},
               {"run_as", [&](auto& n) { config.run_as = read_run_as(prefix + ".run_as", n); }},
               {"pass_variables",
                [&](auto& n) { config.pass_variables = read_strings(prefix + ".pass_variables", n); }},
               {"box_shows", [&](auto& n) { config.box_shows = read_folders(prefix + ".box_shows", n); }},
               {"processes",
                [&](auto& n) {
                  config.most_processes = static_cast<std::int64_t>(read_number(prefix + ".processes", n, 0, 4e6));
                }},
               {"enforce_memory", [&](auto& n) { config.enforce_memory = read_flag(prefix + ".enforce_memory", n); }},
           });
}

std::vector<std::filesystem::path> read_roots(const YAML::Node& node) {
  std::vector<std::filesystem::path> roots;
  for (const auto& text : read_strings("datastores.roots", node)) {
    std::filesystem::path root = std::filesystem::path(text).lexically_normal();
    if (!root.is_absolute()) refuse("datastores.roots", node, "a list of absolute folders");
    roots.push_back(root.has_filename() ? root : root.parent_path());
  }
  return roots;
}

std::vector<net::AddressRange> read_ranges(const YAML::Node& node) {
  std::vector<net::AddressRange> ranges;
  for (const auto& text : read_strings("fetch.private", node)) {
    auto range = net::AddressRange::parse(text);
    if (!range) refuse("fetch.private", node, "a list of addresses like 10.0.0.0/8");
    ranges.push_back(*range);
  }
  return ranges;
}

void read_limits(SiteLimits& limits, const YAML::Node& node) {
  auto number = [](const std::string& key, auto& target, double low, double high, double unit = 1) {
    return std::pair<const std::string, YamlReader>(key, [=, &target](const YAML::Node& n) {
      const double value = read_number("limits." + key, n, low, high) * unit;
      target = static_cast<std::remove_reference_t<decltype(target)>>(value);
    });
  };
  read_map("limits", node,
           {number("requests_per_second", limits.requests_per_second, 0, 1e6),
            number("burst", limits.burst, 0, 1e6),
            number("runs_queued", limits.runs_queued, 0, 1e9),
            number("failed_logins_per_second", limits.failed_logins_per_second, 0.1, 1e6),
            number("floor_bytes_per_second", limits.floor_bytes_per_second, 0, 1e9),
            number("request_memory_mb", limits.request_memory_bytes, 128, 1e6, 1 << 20),
            // A follower gives up after a minute of silence.
            {"heartbeat_seconds", [&](auto& n) {
               limits.heartbeat = std::chrono::milliseconds(
                   static_cast<std::int64_t>(read_number("limits.heartbeat_seconds", n, 0.1, 30) * 1000));
             }}});
}

YamlReader read_keep_days(const std::string& section, int& days) {
  return [section, &days](const YAML::Node& node) {
    read_map(section, node, {{"keep_days", [&](auto& n) {
                                days = static_cast<int>(read_number(section + ".keep_days", n, 0, 36500));
                              }}});
  };
}

SiteConfig read_config(const YAML::Node& root) {
  SiteConfig config;
  read_map(
      "", root,
      {
          {"providers",
           [&](auto& n) { read_map("providers", n, {{"local", [&](auto& local) { read_local(config, local); }}}); }},
          {"environments", [&](auto& n) { read_environment_rules(config.environments, n); }},
          {"limits", [&](auto& n) { read_limits(config.limits, n); }},
          {"events", read_keep_days("events", config.keep_events_days)},
          {"audit", read_keep_days("audit", config.keep_audit_days)},
          {"secrets",
           [&](auto& n) {
             read_map(
                 "secrets", n,
                 {{"key_folder", [&](auto& path) { config.key_folder = read_absolute("secrets.key_folder", path); }}});
           }},
          {"disk_budget_gb",
           [&](auto& n) {
             config.disk_budget_bytes =
                 static_cast<std::uint64_t>(read_number("disk_budget_gb", n, 0, 1e9) * (1 << 30));
           }},
          {"store",
           [&](auto& n) {
             read_map("store", n, {{"lease_hours", [&](auto& h) {
                                      config.blob_lease = std::chrono::seconds(static_cast<std::int64_t>(
                                          read_number("store.lease_hours", h, 1, 1e6) * 3600));
                                    }}});
           }},
          {"datastores",
           [&](auto& n) {
             read_map("datastores", n, {{"roots", [&](auto& r) { config.datastore_roots = read_roots(r); }}});
           }},
          {"fetch",
           [&](auto& n) {
             read_map("fetch", n, {{"private", [&](auto& p) { config.private_addresses = read_ranges(p); }}});
           }},
          {"mounts",
           [&](auto& n) {
             read_map("mounts", n,
                      {{"cache_gb",
                        [&](auto& g) {
                          config.mount_cache_bytes =
                              static_cast<std::uint64_t>(read_number("mounts.cache_gb", g, 0, 1e6) * (1 << 30));
                        }},
                       {"cache_folder",
                        [&](auto& path) { config.mount_cache_folder = read_absolute("mounts.cache_folder", path); }},
                       {"read_timeout_seconds", [&](auto& seconds) {
                          config.mount_read_timeout = std::chrono::seconds(static_cast<std::int64_t>(
                              read_number("mounts.read_timeout_seconds", seconds, 1, 86'400)));
                        }}});
           }},
          {"logs",
           [&](auto& n) {
             read_map("logs", n, {{"segment_mb", [&](auto& m) {
                                     config.log_segment_bytes = static_cast<std::uint64_t>(
                                         read_number("logs.segment_mb", m, 0.0625, 1024) * (1 << 20));
                                   }}});
           }},
      });
  return config;
}

}  // namespace

base::Result<SiteConfig> parse_site_config(const std::string& yaml) {
  if (yaml.size() > 1u << 20) return base::fail(Code::too_large, "config.yaml is larger than 1 MiB");
  try {
    return read_config(YAML::Load(yaml));
  } catch (const YAML::Exception& error) {
    return base::fail(Error(Code::invalid, fmt::format("config.yaml is not YAML: {}", base::printable(error.what())))
                          .hint("check indentation and quotes at the line it names"));
  } catch (Error& error) {
    return base::fail(std::move(error));
  }
}

base::Result<SiteConfig> load_site_config(const std::filesystem::path& file) {
  if (::access(file.c_str(), F_OK) != 0 && errno == ENOENT) return SiteConfig{};
  // One that is there but cannot be read must not look like none: its rules would be gone without a word.
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream.is_open() || stream.bad() || std::filesystem::is_directory(file))
    return base::fail(Error(Code::io, fmt::format("{} cannot be read", file.string()))
                          .hint("make it readable for the user who runs the server"));
  return parse_site_config(text.str());
}

}  // namespace lathe::server
