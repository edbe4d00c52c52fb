// Inputs and outputs of a run in JSON: as they are asked for, as they are stored, and as a runner gets them.
#pragma once

#include <boost/json/fwd.hpp>
#include <span>

#include "model/run_data.h"
#include "wire/json.h"

namespace lathe::wire {

void read_run_data(Fields& fields, model::RunInputs& inputs, model::RunOutputs& outputs);
// Nothing is added for a run without any, so that digests of specs stay true.
void add_run_data(boost::json::object& out, const model::RunInputs& inputs, const model::RunOutputs& outputs);

std::string encode_resolved(const model::ResolvedInput& input);
base::Result<model::ResolvedInput> decode_resolved(std::string_view text);
// Puts what is known about each into the "inputs" that add_run_data() wrote.
void show_resolved(boost::json::object& run, const model::ResolvedInputs& resolved);

// One input as a runner delivers it.
struct InputOrder {
  std::string name;
  model::InputMode mode = model::InputMode::mount;
  std::string dataset;          // id
  std::string datastore, path;  // listed as it is read; then there is no tree
  std::optional<base::Digest> tree;
  std::string only_file;
  std::string path_on_compute;
  std::string folder;  // where this machine has it already, for a runner that can see it
};

struct OutputOrder {
  std::string name;
  model::OutputMode mode = model::OutputMode::upload;
};

boost::json::array inputs_json(std::span<const InputOrder> inputs);
boost::json::array outputs_json(std::span<const OutputOrder> outputs);
void read_inputs(Fields& fields, std::vector<InputOrder>& inputs);
void read_outputs(Fields& fields, std::vector<OutputOrder>& outputs);

}  // namespace lathe::wire
