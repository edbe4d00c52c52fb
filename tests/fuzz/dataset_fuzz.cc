// A dataset's definition from the wire: what is accepted can be applied to any file.
#include <boost/json.hpp>

#include "wire/dataset.h"
#include "wire/json.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  auto value = lathe::wire::parse_json({reinterpret_cast<const char*>(data), size});
  if (!value) return 0;
  auto definition = lathe::wire::parse_dataset(*value);
  if (!definition) return 0;
  lathe::model::FileSelection selection(definition->steps);
  selection.admits({"/train/a.csv", 100});
  return 0;
}
