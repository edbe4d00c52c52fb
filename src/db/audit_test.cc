#include "db/audit.h"

#include "db/test_support.h"

namespace lathe::db {
namespace {

struct Audit : Rows {
  Audit() {
    for (int i = 1; i <= 20; ++i) {
      audit::append(connection, {.at = {i},
                                 .actor = "alice",
                                 .token_id = 1,
                                 .source = "127.0.0.1",
                                 .action = "run.submit",
                                 .object = fmt::format("run-{}", i),
                                 .detail = "{}"});
    }
  }
  base::Code verify_after(const std::string& sql) {
    connection.execute(sql);
    return code_of([&] { audit::verify(connection); });
  }
};

TEST_F(Audit, VerifiesAsItWasWritten) { EXPECT_EQ(audit::verify(connection), 20); }

TEST_F(Audit, IsEmptyInANewDatabase) {
  TempFolder other;
  Connection fresh(other / "a.db", Connection::Mode::read_write);
  migrate(fresh);
  EXPECT_EQ(audit::verify(fresh), 0);
}

TEST_F(Audit, FindsAChangedRow) {
  EXPECT_EQ(verify_after("UPDATE audit SET actor = 'bob' WHERE id = 7"), base::Code::corrupt);
}
TEST_F(Audit, FindsTextMovedFromOneFieldToTheNext) {
  EXPECT_EQ(verify_after("UPDATE audit SET action = 'run.submitr', object = substr(object, 2) WHERE id = 7"),
            base::Code::corrupt);
}
TEST_F(Audit, FindsAMissingRow) { EXPECT_EQ(verify_after("DELETE FROM audit WHERE id = 7"), base::Code::corrupt); }
TEST_F(Audit, FindsAMissingFirstRow) { EXPECT_EQ(verify_after("DELETE FROM audit WHERE id = 1"), base::Code::corrupt); }
TEST_F(Audit, FindsAMissingEnd) { EXPECT_EQ(verify_after("DELETE FROM audit WHERE id > 18"), base::Code::corrupt); }

TEST_F(Audit, CanBeTrimmedAtItsOldEndAndStillVerifies) {
  EXPECT_EQ(audit::trim(connection, {8}, 100, {21}), 7);
  EXPECT_EQ(audit::verify(connection), 13 + 1) << "the trim is in the trail";
  EXPECT_EQ(audit::trim(connection, {8}, 100, {22}), 0);
  EXPECT_EQ(audit::trim(connection, {12}, 2, {23}), 2) << "a piece at a time";
  EXPECT_EQ(audit::trim(connection, {1000}, 1000, {24}), 12) << "but never the last row";
  audit::append(connection, {.at = {30},
                             .actor = "alice",
                             .token_id = 1,
                             .source = "127.0.0.1",
                             .action = "run.submit",
                             .object = "run-21",
                             .detail = "{}"});
  EXPECT_GT(audit::verify(connection), 0);
  EXPECT_EQ(verify_after("DELETE FROM audit WHERE id = (SELECT min(id) FROM audit)"), base::Code::corrupt);
}

TEST_F(Audit, FindsATrailThatWasCutByHandWithAnAnchorToFit) {
  EXPECT_EQ(verify_after("INSERT INTO audit_anchor SELECT id, hash FROM audit WHERE id = 7;"
                         "DELETE FROM audit WHERE id <= 7"),
            base::Code::corrupt);
}

TEST_F(Audit, IsPagedNewestFirst) {
  const auto page = audit::list(connection, 15);
  ASSERT_EQ(page.items.size(), 15u);
  EXPECT_EQ(page.items.front().object, "run-20");
  const auto rest = audit::list(connection, 15, page.next.value());
  EXPECT_EQ(rest.items.size(), 5u);
  EXPECT_EQ(rest.items.back().object, "run-1");
  EXPECT_EQ(rest.next, std::nullopt);
  EXPECT_EQ(code_of([&] { audit::list(connection, 15, "ff"); }), base::Code::invalid);
}

}  // namespace
}  // namespace lathe::db
