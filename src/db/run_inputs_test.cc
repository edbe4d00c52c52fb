#include "db/run_inputs.h"

#include "db/artifacts.h"
#include "db/test_support.h"

namespace lathe::db {
namespace {

model::ResolvedInput resolved(const std::string& tree) {
  model::ResolvedInput out;
  out.dataset_name = "mnist";
  out.dataset_version = 2;
  out.tree = base::sha256(tree);
  out.files = 3;
  return out;
}

TEST(RunInputs, AreKeptWithTheRunAndHoldTheirTreesUntilItIsOver) {
  TempFolder folder;
  Connection connection(folder / "a.db", Connection::Mode::read_write);
  migrate(connection);
  auto wish = make_run("reader");
  model::RunInput asked;
  asked.dataset = "3f2b";
  wish.spec.inputs["data"] = asked;
  auto run = add_run(connection, wish);
  EXPECT_EQ(runs::get(connection, run.id).spec.inputs, wish.spec.inputs) << "what was asked for is part of the spec";
  model::ResolvedInputs inputs{{"data", resolved("a")}, {"other", {}}};
  run_inputs::put(connection, run.sequence, inputs);
  EXPECT_EQ(run_inputs::list(connection, run.sequence), inputs);
  EXPECT_EQ(run_inputs::live_trees(connection), std::vector{base::sha256("a")});

  auto trees = [&] {
    std::vector<base::Digest> found;
    artifacts::visit_references(connection, [&](const base::Digest& digest, bool is_tree) {
      if (is_tree) found.push_back(digest);
    });
    return found;
  };
  EXPECT_EQ(std::ranges::count(trees(), base::sha256("a")), 1);
  connection.execute("UPDATE runs SET terminal = 1");
  EXPECT_TRUE(run_inputs::live_trees(connection).empty());
  EXPECT_EQ(std::ranges::count(trees(), base::sha256("a")), 0) << "the record stays, the bytes may go";
  EXPECT_EQ(run_inputs::list(connection, run.sequence).size(), 2u);
}

}  // namespace
}  // namespace lathe::db
