#include <fmt/format.h>

#include "base/error.h"
#include "main/programs.h"
#include "sys/cgroup.h"
#include "sys/fork_server.h"

namespace lathe {

int fork_server_main(int argc, char** argv, int (*run)(std::span<const char* const>)) {
  const sys::ProcessTitle title(argc, argv);
  title.set(std::vector<std::string>{argv[0], argv[1]});
  sys::remember_cgroup_place();
  auto served = sys::serve_forks(title, [&](std::span<const std::string> words) {
    std::vector<const char*> pointers;
    for (const auto& word : words.subspan(1)) pointers.push_back(word.c_str());
    return run(pointers);
  });
  sys::forget_cgroup_place();
  if (served) return 0;
  fmt::print(stderr, "lathe fork-server: {}\n", served.error().text());
  return base::exit_status(served.error().code());
}

}  // namespace lathe
