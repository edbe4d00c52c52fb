#include "server/secret_keys.h"

#include <sys/stat.h>

#include <fstream>

#include "server/test_support.h"

namespace lathe::server {
namespace {

base::Code code_of(auto call) {
  try {
    call();
  } catch (const base::Error& error) {
    return error.code();
  }
  return base::Code::internal;
}

TEST(SecretKeys, OnePrivateKeyIsMadeAndKept) {
  TempFolder folder;
  SecretKeys keys(folder / "keys");
  auto key = keys.current({1'000'000});
  EXPECT_EQ(key.bytes.size(), 32u);
  EXPECT_EQ(keys.current({2'000'000}).id, key.id);
  EXPECT_EQ(keys.get(key.id).bytes, key.bytes);
  struct stat status{};
  ASSERT_EQ(::stat((folder.path() / "keys" / (key.id + ".key")).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat((folder / "keys").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

TEST(SecretKeys, ANewerKeyIsUsedForWhatIsNewAndTheOldOneForWhatItWraps) {
  TempFolder folder;
  SecretKeys keys(folder / "keys");
  auto old = seal_secret(keys, "ws", "a", "old value", {1});
  std::ofstream(folder.path() / "keys" / "99991231-next.key") << std::string(32, 'k');
  ::chmod((folder.path() / "keys" / "99991231-next.key").c_str(), 0600);
  auto fresh = seal_secret(keys, "ws", "b", "new value", {2});
  EXPECT_EQ(fresh.key_id, "99991231-next");
  EXPECT_EQ(open_secret(keys, "ws", "a", old), "old value");
  EXPECT_EQ(open_secret(keys, "ws", "b", fresh), "new value");
}

TEST(SecretKeys, ANextKeyIsLastWhateverTheClockSaysAndOpensWhatItWrapsAnew) {
  TempFolder folder;
  SecretKeys keys(folder / "keys");
  auto old = seal_secret(keys, "ws", "a", "value", {9'000'000'000'000'000});
  auto next = keys.make_next({1});
  EXPECT_GT(next.id, old.key_id);
  EXPECT_EQ(keys.current({2}).id, next.id);
  EXPECT_EQ(keys.ids(), (std::vector<std::string>{old.key_id, next.id}));
  auto wrapped = rewrap_secret(keys, next, "ws", "a", old.key_id, old.wrapped_key);
  EXPECT_EQ(open_secret(keys, "ws", "a", {next.id, wrapped, old.sealed}), "value");
  EXPECT_EQ(code_of([&] { open_secret(keys, "ws", "a", {old.key_id, wrapped, old.sealed}); }), base::Code::corrupt);
  EXPECT_EQ(code_of([&] { rewrap_secret(keys, next, "ws", "b", old.key_id, old.wrapped_key); }), base::Code::corrupt);
}

TEST(SecretKeys, ASecretOpensOnlyInItsOwnPlace) {
  TempFolder folder;
  SecretKeys keys(folder / "keys");
  auto sealed = seal_secret(keys, "ws", "a", "value", {1});
  EXPECT_EQ(code_of([&] { open_secret(keys, "ws", "b", sealed); }), base::Code::corrupt);
  EXPECT_EQ(code_of([&] { open_secret(keys, "other", "a", sealed); }), base::Code::corrupt);
}

TEST(SecretKeys, AKeyThatIsGoneOrDamagedOrOpenToOthersIsToldApart) {
  TempFolder folder;
  SecretKeys keys(folder / "keys");
  auto id = keys.current({1}).id;
  auto path = folder.path() / "keys" / (id + ".key");
  ::chmod(path.c_str(), 0644);
  EXPECT_EQ(code_of([&] { keys.get(id); }), base::Code::io);
  ::chmod(path.c_str(), 0600);
  std::filesystem::resize_file(path, 31);
  EXPECT_EQ(code_of([&] { keys.get(id); }), base::Code::corrupt);
  std::filesystem::remove(path);
  EXPECT_EQ(code_of([&] { keys.get(id); }), base::Code::not_found);
  ::chmod((folder / "keys").c_str(), 0777);
  EXPECT_EQ(code_of([&] { keys.current({1}); }), base::Code::io);
}

}  // namespace
}  // namespace lathe::server
