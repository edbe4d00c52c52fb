#include <gtest/gtest.h>

#include "envs/realiser.h"

namespace lathe::envs {
namespace {

base::Result<Realised> realise(std::string interpreter) {
  return UserManaged().realise({std::move(interpreter), {{"A", "b"}}});
}

TEST(UserManaged, TakesAnInterpreterThatIsThereAndKeepsTheVariables) {
  auto realised = realise("/bin/sh");
  ASSERT_TRUE(realised);
  EXPECT_EQ("/bin/sh", realised->interpreter);
  EXPECT_EQ("b", realised->variables.at("A"));
}

TEST(UserManaged, NeedsNoInterpreterForAPlainCommand) { EXPECT_TRUE(realise("")); }

TEST(UserManaged, SaysWhatIsWrongAndWhatToDo) {
  for (const char* path : {"python3", "/no/such/python", "/etc", "/etc/passwd"}) {
    auto realised = realise(path);
    ASSERT_FALSE(realised) << path;
    EXPECT_NE(std::string::npos, realised.error().message().find(path));
    EXPECT_FALSE(realised.error().hint().empty()) << path;
  }
}

}  // namespace
}  // namespace lathe::envs
