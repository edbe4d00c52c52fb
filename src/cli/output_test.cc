#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/strings.h"
#include "cli/event_stream.h"
#include "cli/folder_copy.h"
#include "cli/json.h"
#include "cli/table.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace fs = std::filesystem;
namespace {

TEST(Table, AlignsColumnsAndMakesCellsSafeForATerminal) {
  EXPECT_EQ(render_table({"RUN", "STATUS"}, {{"a", "Running"}, {"long-name", ""}, {"grün", "x\x1b[31m"}}),
            "RUN        STATUS\n"
            "a          Running\n"
            "long-name  -\n"
            "grün       x\\x1b[31m\n");
}

TEST(Table, FieldsLeaveOutWhatIsNotThere) {
  EXPECT_EQ(render_fields({{"run", "r1"}, {"error", ""}, {"status", "Queued"}}), "run:    r1\nstatus: Queued\n");
}

TEST(StatusLine, IsCutToTheTerminalAndNotInsideOfALetter) {
  using std::chrono::seconds;
  EXPECT_EQ(StatusLine::line("build 3", "Resolved 2 packages", seconds(12), 80), "build 3  12 s  Resolved 2 packages");
  EXPECT_EQ(StatusLine::line("b", "über", seconds(1), 10), "b  1 s  ") << "one column is left free";
  EXPECT_EQ(StatusLine::line("b", "x\x1b[31m", seconds(1), 80), "b  1 s  x\\x1b[31m");
}

TEST(Json, IsPrintedSoThatPeopleCanReadIt) {
  auto value = parse_json(R"({"b":[1,"x\u0001"],"a":{},"c":[],"d":0.25,"e":null})", "x").value();
  EXPECT_EQ(
      pretty_json(value),
      "{\n  \"b\": [\n    1,\n    \"x\\u0001\"\n  ],\n  \"a\": {},\n  \"c\": [],\n  \"d\": 0.25,\n  \"e\": null\n}\n");
}

TEST(Json, TextIsFoundByPointer) {
  auto value = parse_json(R"({"a":{"b":[{"c":"x"},7]},"n":null})", "x").value();
  EXPECT_EQ(text_at(value, "/a/b/0/c"), "x");
  EXPECT_EQ(text_at(value, "/a/b/1"), "7");
  EXPECT_EQ(text_at(value, "/n"), "");
  EXPECT_EQ(text_at(value, "/absent/deep"), "");
  EXPECT_EQ(parse_json("{", "the answer").error().code(), base::Code::corrupt);
}

TEST(EventStream, GivesWholeEventsHoweverTheBytesAreCut) {
  std::string_view text = ": hello\nid: 7\ndata: {\"a\":1}\n\nid:8\r\ndata:x\r\ndata:y\r\n\r\n\n";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    std::vector<std::string> got;
    EventStream stream([&](const EventStream::Event& event) { got.push_back(event.id + "=" + event.data); });
    stream.feed(text.substr(0, cut));
    stream.feed(text.substr(cut));
    EXPECT_THAT(got, ::testing::ElementsAre("7={\"a\":1}", "8=x\ny")) << cut;
  }
}

class FilesTest : public ::testing::Test {
 protected:
  fs::path root = fs::temp_directory_path() / fmt::format("lathe-files-{}", base::to_hex(base::random_bytes(6)));
  FilesTest() { fs::create_directories(root); }
  ~FilesTest() override { fs::remove_all(root); }
  fs::path write(const std::string& name, std::string_view text) {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name, std::ios::binary) << text;
    return root / name;
  }
  // As a store keeps it: a folder of two hex digits, then the rest.
  std::string blob_name(std::string_view text) {
    auto hex = base::sha256(text).hex();
    return "blobs/" + hex.substr(0, 2) + "/" + hex.substr(2);
  }
};

TEST_F(FilesTest, BlobsAreCopiedOnceAndADamagedOneIsFoundOnTheWayBack) {
  write("from/" + blob_name("one"), "one");
  write("from/" + blob_name("two"), "two");
  auto first = copy_blobs(root / "from", root / "backup");
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_EQ(first->files, 2u);
  EXPECT_EQ(first->bytes, 6u);
  EXPECT_EQ(copy_blobs(root / "from", root / "backup")->already, 2u);
  EXPECT_EQ(copy_blobs_verified(root / "backup", root / "restored")->files, 2u);

  fs::remove(root / "backup" / blob_name("two"));
  write("backup/" + blob_name("two"), "tw0");
  EXPECT_EQ(copy_blobs_verified(root / "backup", root / "again").error().code(), base::Code::corrupt);
}

TEST_F(FilesTest, AFolderThatIsNotThereCopiesAsEmpty) {
  EXPECT_EQ(copy_folder(root / "absent", root / "to")->files, 0u);
  write("live/1.1/log.0", "text");
  EXPECT_EQ(copy_folder(root / "live", root / "to")->bytes, 4u);
  EXPECT_TRUE(fs::exists(root / "to/1.1/log.0"));
}

}  // namespace
}  // namespace lathe::cli
