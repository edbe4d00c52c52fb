#include <gtest/gtest.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/strings.h"
#include "base/time.h"

namespace lathe::base {
namespace {

TEST(Error, SaysWhatWasBeingDoneInnermostFirst) {
  Error error = Error(Code::io, "disk is gone").during("writing a").during("saving b");
  EXPECT_EQ(error.text(), "disk is gone, while writing a, while saving b");
}

TEST(Error, EveryCodeHasAWordThatLeadsBackToIt) {
  for (int i = 0; i <= static_cast<int>(Code::internal); ++i) {
    auto code = static_cast<Code>(i);
    EXPECT_EQ(code_from_name(code_name(code)), code);
    EXPECT_GE(http_status(code), 400);
    EXPECT_NE(exit_status(code), 0);
  }
}

TEST(Error, AFullDiskIsToldApartFromOtherTrouble) {
  EXPECT_EQ(errno_error(ENOSPC, "write").code(), Code::no_space);
  EXPECT_EQ(errno_error(EDQUOT, "write").code(), Code::no_space);
  EXPECT_EQ(errno_error(EIO, "write").code(), Code::io);
  for (int shortage : {EMFILE, ENFILE, EAGAIN, ENOMEM})
    EXPECT_EQ(errno_error(shortage, "open").code(), Code::unavailable) << "there may be enough again later";
}

TEST(Digest, MatchesTheKnownAnswerOfTheStandard) {
  EXPECT_EQ(sha256("abc").hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("").hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Digest, ParsesOnlyItsOwnForm) {
  auto digest = sha256("abc");
  EXPECT_EQ(Digest::parse(digest.hex()).value(), digest);
  EXPECT_FALSE(Digest::parse(""));
  EXPECT_FALSE(Digest::parse(digest.hex().substr(1)));
  EXPECT_FALSE(Digest::parse(std::string(64, 'A')));
  EXPECT_FALSE(Digest::parse("../" + digest.hex().substr(3)));
}

TEST(Strings, PrintableHidesControlCharactersAndBadUtf8) {
  EXPECT_EQ(printable("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");
  EXPECT_EQ(printable("grün"), "grün");
  EXPECT_EQ(printable("abcdef", 3), "abc…");
}

TEST(Strings, Utf8RefusesOverlongAndSurrogates) {
  EXPECT_TRUE(is_valid_utf8("żółw 🐢"));
  EXPECT_FALSE(is_valid_utf8("\xc0\x80"));
  EXPECT_FALSE(is_valid_utf8("\xed\xa0\x80"));
  EXPECT_FALSE(is_valid_utf8("\xf5\x80\x80\x80"));
}

TEST(Strings, NumbersAreDigitsWithoutSignOrOverflow) {
  EXPECT_EQ(parse_u64("18446744073709551615"), 18446744073709551615u);
  EXPECT_FALSE(parse_u64("18446744073709551616"));
  EXPECT_FALSE(parse_u64("-1"));
  EXPECT_FALSE(parse_u64(""));
  EXPECT_FALSE(parse_u64("1 "));
}

TEST(Time, RoundTripsInTheFormOfTheApi) {
  UtcTime time{1550603359200602};
  EXPECT_EQ(format_utc(time), "2019-02-19T19:09:19.200602Z");
  EXPECT_EQ(parse_utc("2019-02-19T19:09:19.200602Z"), time);
  EXPECT_EQ(parse_utc("2019-02-19T19:09:19Z")->micros, 1550603359000000);
  EXPECT_FALSE(parse_utc("2019-02-30T19:09:19Z"));
  EXPECT_FALSE(parse_utc("yesterday"));
}

}  // namespace
}  // namespace lathe::base
