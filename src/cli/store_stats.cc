#include "cli/call.h"
#include "cli/commands.h"

namespace lathe::cli {
namespace {

constexpr std::array kFields{Column{"blobs", "/blobs"}, Column{"bytes", "/bytes", Shown::bytes}};

base::Result<int> stats(Call& call) {
  LATHE_TRY(auto text, call.api().get(api_path({"store"})));
  return call.print_one(text, kFields);
}

}  // namespace

constinit const Command kStoreStats{.path = "store stats", .summary = "Say how much the store holds", .run = stats};

}  // namespace lathe::cli
