// The forms that model values take inside a column: words for enumerations, compact JSON with a fixed key order for the
// rest. This is the database's own format, apart from the API's (docs/formats/database.md): a field that is added later
// is left out while it has its old meaning, so that the digest of an old submit stays the same.
// Decoding ignores unknown keys and throws corrupt for what it cannot read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/run.h"

namespace lathe::db::columns {

std::string encode_spec(const model::RunSpec& spec);
model::RunSpec decode_spec(std::string_view text);
std::string encode_slices(const std::vector<model::Slice>& slices);
std::vector<model::Slice> decode_slices(std::string_view text);
std::string encode_exit(const model::ExitRecord& exit);
model::ExitRecord decode_exit(std::string_view text);
std::string encode_usage(const model::Usage& usage);
model::Usage decode_usage(std::string_view text);
std::string encode_notes(const std::vector<std::string>& notes);
std::vector<std::string> decode_notes(std::string_view text);

model::RunState decode_state(std::string_view word);
model::EndReason decode_end_reason(std::string_view word);

}  // namespace lathe::db::columns
