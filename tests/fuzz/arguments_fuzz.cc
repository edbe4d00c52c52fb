// Command lines: words separated by newlines, parsed over the real command table.
#include <string>
#include <vector>

#include "base/strings.h"
#include "cli/arguments.h"
#include "cli/commands.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace lathe;
  std::vector<std::string> texts;
  for (auto word : base::split({reinterpret_cast<const char*>(data), size}, '\n')) texts.emplace_back(word);
  std::vector<const char*> words;
  for (const auto& text : texts) words.push_back(text.c_str());
  auto arguments = cli::parse(words, cli::catalogue());
  if (!arguments && arguments.error().message().empty()) __builtin_trap();
  return 0;
}
