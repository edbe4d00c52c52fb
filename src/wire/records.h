// The small records of a run in JSON: exit, usage, slices, notes. The database keeps them in its *_json columns, the
// runner in its spool and in its reports. Readers pass over fields of a newer version.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/run.h"

namespace lathe::wire {

class Fields;

boost::json::object usage_json(const model::Usage& usage);
boost::json::object exit_json(const model::ExitRecord& exit);
boost::json::object slice_json(const model::Slice& slice);
// For use inside a larger object: fields.object("exit", [&](Fields& nested) { read_exit(nested, exit); }).
void read_usage(Fields& fields, model::Usage& usage);
void read_exit(Fields& fields, model::ExitRecord& exit);
void read_slice(Fields& fields, model::Slice& slice);

std::string encode_usage(const model::Usage& usage);
base::Result<model::Usage> decode_usage(std::string_view text);
std::string encode_exit(const model::ExitRecord& exit);
base::Result<model::ExitRecord> decode_exit(std::string_view text);
std::string encode_slices(const std::vector<model::Slice>& slices);
base::Result<std::vector<model::Slice>> decode_slices(std::string_view text);
std::string encode_texts(const std::vector<std::string>& texts);
base::Result<std::vector<std::string>> decode_texts(std::string_view text);

}  // namespace lathe::wire
