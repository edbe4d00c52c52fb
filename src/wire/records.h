// The small records of a run in JSON: exit, usage, slices; as the API shows them and as the runner keeps and reports
// them. Readers pass over fields of a newer version. The database has a form of its own (db/columns.h).
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

std::string encode_exit(const model::ExitRecord& exit);
base::Result<model::ExitRecord> decode_exit(std::string_view text);

}  // namespace lathe::wire
